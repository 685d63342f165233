"""The examination: what is cheap comes first, and nothing that fails stops the rest."""

import platform
import sys
from typing import Any

from dms_iceberg.config.model import Config
from dms_iceberg.config.salts import resolve_salt, salts_of
from dms_iceberg.doctor.catalog import examine_catalog
from dms_iceberg.doctor.finding import Examination, Finding, Verdict, tried
from dms_iceberg.doctor.packages import examine_packages
from dms_iceberg.doctor.stores import examine_stores
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.spark.session import open_session, runs_managed
from dms_iceberg.spark.versions import TESTED, is_tested, present
from dms_iceberg.watch.queue import NotificationQueue


def examine(config: Config, queue: str | None = None) -> Examination:
    """Yield what is found of everything that a run of ``config`` needs; ``queue`` is the URL of a watch's queue."""
    yield examine_packages(sys.path, sys.modules)
    yield from examine_stores(config)
    for reference in dict.fromkeys(salt for table in config.tables.values() for salt in salts_of(table)):
        yield _salt(reference)
    if queue is not None:
        advice = "A watch needs sqs:ReceiveMessage and sqs:DeleteMessage on its queue."
        yield tried("queue", lambda: NotificationQueue(queue, config).peek(), advice)
    try:
        spark = open_session(config)
    except FAILURES as error:
        yield Finding(
            "Spark",
            Verdict.WRONG,
            describe(error),
            "No session starts. It needs Java 17 (see JAVA_HOME), the jars, and memory and a port for the driver.",
        )
        return
    yield examine_runtime(spark)
    yield from examine_catalog(spark, config)


def _salt(reference: str) -> Finding:
    def attempt() -> str:
        resolve_salt(reference)
        return "can be read"

    advice = "A secret needs secretsmanager:GetSecretValue, and kms:Decrypt on its key."
    return tried(f"salt {reference}", attempt, advice if reference.startswith("secret:") else "")


def examine_runtime(spark: Any) -> Finding:
    """Return the versions of a session, and whether the job is tested on them."""
    jvm = spark._jvm
    iceberg = str(jvm.org.apache.iceberg.IcebergBuild.version())
    starter = "Glue or spark-submit" if runs_managed() else "this command"
    found = (
        f"Spark {spark.version}, Iceberg {iceberg}, Java {jvm.System.getProperty('java.version')}, Python {platform.python_version()}; "
        f"started by {starter} on {spark.sparkContext.master}"
    )
    if not is_tested(spark.version):
        spark_lines, glue = (" and ".join(names) for names in zip(*((one.spark, one.glue) for one in TESTED), strict=True))
        return Finding("runtime", Verdict.WRONG, found, f"The job is tested on Spark {spark_lines}: use Glue {glue}.")
    if not iceberg.startswith(f"{present().iceberg}."):
        tested = f"On Spark {present().spark} the job is tested with Iceberg {present().iceberg}"
        return Finding("runtime", Verdict.NOTE, found, f"{tested}: leave out the jar that you have added, unless you mean it.")
    return Finding("runtime", Verdict.OK, found)
