"""From files to commits: what a table needs next, doing it, and telling of it; many tables in one session."""
