"""Reads and makes Java collections in few calls.

Py4J reads each entry with separate calls, and ends every iteration by an exception that PySpark then examines for ten
milliseconds. Jackson, which Spark brings, returns the whole collection in one call.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def to_dict(jvm: Any, java_map: Any) -> dict[str, str]:
    """Return a Java map of strings."""
    return dict(json.loads(_mapper(jvm).writeValueAsString(java_map)))


def names(jvm: Any, java_map: Any) -> list[str]:
    """Return the keys of a Java map whose keys are strings."""
    return list(json.loads(_mapper(jvm).writeValueAsString(java_map.keySet())))


def to_java_map(jvm: Any, values: Mapping[str, str]) -> Any:
    """Return a Java map of strings; for a few entries, each of which is a call."""
    result = jvm.java.util.HashMap()
    for key, value in values.items():
        result.put(key, value)
    return result


def to_long_map(jvm: Any, values: Mapping[int, int]) -> Any:
    """Return a Java map of Integers to Longs: Py4J itself would make Integers of all small numbers."""
    mapper = _mapper(jvm)
    integers, longs = jvm.java.lang.Class.forName("java.lang.Integer"), jvm.java.lang.Class.forName("java.lang.Long")
    type_ = mapper.getTypeFactory().constructMapType(jvm.java.lang.Class.forName("java.util.HashMap"), integers, longs)
    return mapper.readValue(json.dumps(values), type_)


# Cached: Py4J looks up a class part by part of its name, with a call for each.
@lru_cache(maxsize=1)
def _mapper(jvm: Any) -> Any:
    return jvm.com.fasterxml.jackson.databind.ObjectMapper()
