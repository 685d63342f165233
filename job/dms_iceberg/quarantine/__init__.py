"""Rejected rows: their tables, writing, counting, listing and resolving them."""
