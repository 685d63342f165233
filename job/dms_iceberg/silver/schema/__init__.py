"""A silver table's columns: their types, their DDL, and each change of them."""
