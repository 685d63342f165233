"""Late changes: judging them, the older files that they need, and truncates among them."""
