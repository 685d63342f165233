"""Changes: from files to one cleaned winner per key."""
