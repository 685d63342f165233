"""How far a table has come: which files are merged, what is pending, and which position was reached."""
