"""Keep tables fast and small: decide what is needed (pure), read the facts for that, and call Iceberg's own procedures."""
