"""Keeping tables fast and small: what is needed (pure), the facts it is judged by, and Iceberg's own procedures that do it."""
