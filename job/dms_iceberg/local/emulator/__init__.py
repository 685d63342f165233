"""A local DMS: a real PostgreSQL in, the files DMS would write out, with its habits and its ugly sides."""
