"""Gold models: queries over silver tables, refreshed after these have changed."""
