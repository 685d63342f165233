"""List quarantined rows, and replay them in their place in the order of changes."""
