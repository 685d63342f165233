"""From files to commits: plan what a table needs next, do it, and report it; many tables in one session."""
