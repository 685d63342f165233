"""The Spark session: how it is made, what its failures mean, and workarounds for its known issues."""
