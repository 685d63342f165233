"""The configuration document: its model, how it is parsed, and where it is loaded from."""
