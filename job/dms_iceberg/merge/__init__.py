"""Turns a batch into changes of a table's rows, by mode, and writes them."""
