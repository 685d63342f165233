"""SQL text: quoting, types, JSON, values as text, and the names of all ``_cdc_`` columns."""
