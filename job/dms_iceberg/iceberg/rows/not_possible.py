"""Why a table's files are not read, or written, without a Spark job."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException


class NotPossibleError(Exception):
    """The rows cannot be looked up, or written, as Iceberg's own writer would; the message says why, in a few words."""


@contextmanager
def reading_files() -> Iterator[None]:
    """Read a table's files without Spark.

    Raises:
        NotPossibleError: a file has something that cannot be read here. Spark reads it, or reports it as ever.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, Py4JJavaError, CapturedException) as error:
        raise NotPossibleError(f"{type(error).__name__} while files were read") from error
