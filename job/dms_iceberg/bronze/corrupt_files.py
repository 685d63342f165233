"""Which file of a batch is behind an error of Spark's that names none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dms_iceberg.bronze.gzipped import blame_gzip
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore, join

_FOOTER_WORDS = ("TProtocolException", "can not read class org.apache.parquet.format")


@contextmanager
def blame_corrupt_file(spark: SparkSession, store: ObjectStore, files: Sequence[BronzeFile]) -> Iterator[None]:
    """Find the file behind a failure of what is done inside: one of gzip that is cut off, or of Parquet whose footer Spark cannot read.

    Raises:
        BronzeError: it is found.
    """
    try:
        yield
    except (PySparkException, Py4JError) as failure:
        blame(spark, store, files, failure)
        raise


def blame(spark: SparkSession, store: ObjectStore, files: Sequence[BronzeFile], failure: BaseException) -> None:
    """Find the file behind a failure, see `blame_corrupt_file`.

    Raises:
        BronzeError: it is found.
    """
    blame_gzip(store, files, failure)
    if any(word in str(failure) for word in _FOOTER_WORDS):
        for file in files:
            if file.extension == "parquet":
                _read_footer(spark, join(store.root, file.key))


def _read_footer(spark: SparkSession, path: str) -> None:
    jvm: Any = spark._jvm
    hadoop: Any = spark._jsc.hadoopConfiguration()
    try:
        source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(path), hadoop)
        jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source).close()
    except Py4JJavaError as error:
        name = error.java_exception.getClass().getSimpleName()
        raise BronzeError(
            f"{path}: its Parquet footer cannot be read ({name}): it is damaged. Restore the file from the source task (or from a bucket "
            "version). Nothing of its batch was written."
        ) from error
