"""Finds the file of a batch that caused an error of Spark that names no file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dms_iceberg.bronze.gzip_checks import find_corrupt_gzip
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore, join

_FOOTER_WORDS = ("TProtocolException", "can not read class org.apache.parquet.format")


@contextmanager
def naming_corrupt_file(spark: SparkSession, store: ObjectStore, files: Sequence[BronzeFile]) -> Iterator[None]:
    """When Spark fails inside, find the file that caused it: a truncated gzip file, or a Parquet file whose footer Spark cannot read.

    Raises:
        BronzeError: such a file is found; otherwise the original error is raised.
    """
    try:
        yield
    except (PySparkException, Py4JError) as failure:
        find_corrupt_file(spark, store, files, failure)
        raise


def find_corrupt_file(spark: SparkSession, store: ObjectStore, files: Sequence[BronzeFile], failure: BaseException) -> None:
    """Find the file that caused a failure, as `naming_corrupt_file` does.

    Raises:
        BronzeError: such a file is found.
    """
    find_corrupt_gzip(store, files, failure)
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
