"""Cleans changes: normalises them, maps them to typed silver columns, applies filter and rules, masks."""
