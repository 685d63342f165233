"""The source database: its address, connections to it, and the errors of both."""
