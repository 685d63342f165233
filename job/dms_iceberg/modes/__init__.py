"""What tables of each mode are: their own columns, which rows are present, their statements, and what other steps make of them. Pure."""
