"""Reads Java collections in few calls.

Py4J reads each entry with separate calls, and ends every iteration by an exception that PySpark then examines for ten
milliseconds. Jackson, which Spark brings, returns the whole collection in one call.
"""

import json
from functools import lru_cache
from typing import Any


def to_dict(jvm: Any, java_map: Any) -> dict[str, str]:
    """Return a Java map of strings."""
    return dict(json.loads(_mapper(jvm).writeValueAsString(java_map)))


def names(jvm: Any, java_map: Any) -> list[str]:
    """Return the keys of a Java map whose keys are strings."""
    return list(json.loads(_mapper(jvm).writeValueAsString(java_map.keySet())))


# Cached: Py4J looks up a class part by part of its name, with a call for each.
@lru_cache(maxsize=1)
def _mapper(jvm: Any) -> Any:
    return jvm.com.fasterxml.jackson.databind.ObjectMapper()
