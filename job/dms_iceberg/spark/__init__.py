"""The Spark session: how it is created, what its failures mean, and workarounds for its known issues."""
