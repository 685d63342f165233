"""Keys that two rows have at once within one commit: finding them, playing their changes, and what stays ambiguous."""
