"""Looking at quarantined rows, and trying them again in their right order."""
