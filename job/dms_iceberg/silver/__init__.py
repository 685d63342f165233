"""The silver tables: their columns and schema, and what they remember of key, cleaning and masks."""
