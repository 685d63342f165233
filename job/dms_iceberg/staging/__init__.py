"""Bronze: the keys DMS writes, listing them, and planning which of them make the next batch."""
