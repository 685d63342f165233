"""The silver tables: their columns and schema, what they remember of key, cleaning and masks, and their quarantine."""
