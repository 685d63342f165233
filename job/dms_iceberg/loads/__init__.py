"""What replaces a table's content: load epochs, reloads, rebuilds, truncates."""
