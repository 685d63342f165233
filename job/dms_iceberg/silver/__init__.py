"""The tables: their columns and schema, what they remember of how they were made, and their quarantine."""
