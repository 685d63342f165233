"""One warm session that merges new files continuously."""
