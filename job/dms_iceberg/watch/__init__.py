"""One warm session that merges what there is, for ever."""
