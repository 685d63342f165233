"""A source's catalog, and the tables of a configuration that follow from it: keys, declarations, reasons. Read only."""
