"""Reading Java collections in few calls."""

import json
from typing import Any


def to_dict(jvm: Any, java_map: Any) -> dict[str, str]:
    """Return a Java map of strings.

    Py4J asks for each entry with calls of its own, and ends every iteration by an exception that PySpark then looks through for ten
    milliseconds. Jackson, which Spark brings, hands over the whole map in one call.
    """
    return dict(json.loads(jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(java_map)))
