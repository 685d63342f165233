"""SQL text: quoting, types, JSON, the text of values, and the names of all ``_cdc_`` columns."""
