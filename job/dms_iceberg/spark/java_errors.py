"""The Java exceptions behind what PySpark and Py4J raise."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_NOT_FOUND = "org.apache.iceberg.exceptions.NotFoundException"


def missing_metadata(error: BaseException) -> str | None:
    """Return the metadata file that ``error`` reports as missing, None for any other error."""
    texts = [str(java.getMessage()) for java in causes(error) if class_of(java) == _NOT_FOUND]
    return next((found[0] for text in texts if (found := re.search(r"\S+\.metadata\.json", text))), None)


def class_of(java: "JavaObject") -> str:
    """Return the name of a Java object's class."""
    return str(java.getClass().getName())


def causes(error: BaseException | None) -> Iterator["JavaObject"]:
    """Yield the Java exception behind ``error`` and its causes; nothing for other errors."""
    java: Any = None
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
    elif isinstance(error, CapturedException):
        java = error._origin
    while java is not None:
        yield java
        java = java.getCause()
