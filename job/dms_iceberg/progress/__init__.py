"""A table's progress: which files are merged, which are pending, and which position was reached."""
