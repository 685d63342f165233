"""Plans of queries that read little: what adapts, compiles or describes such a plan costs more than the query.

A batch of 1,000 changes takes three tenths less processor time so (benchmarks/README.md). Results do not depend on any of it.
"""

from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.spark.versions import present

BRIEF_PLANS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of a session that only runs such queries."""
_DESCRIBED_BRIEFLY = {"spark.sql.ui.explainMode": "simple", "spark.sql.debug.maxToStringFields": "1"}
"""Spark describes each plan for its UI."""
_SESSIONS: "WeakKeyDictionary[SparkSession, SparkSession]" = WeakKeyDictionary()


def briefly_planned(frame: DataFrame) -> DataFrame:
    """Return a frame with the same rows, for at most some thousands of rows: it is analysed already, and runs with brief plans."""
    session = _SESSIONS.get(frame.sparkSession) or _SESSIONS.setdefault(frame.sparkSession, _brief_session(frame.sparkSession))
    jvm: Any = session._jvm
    return DataFrame(present().rows(jvm, session._jsparkSession, frame._jdf.queryExecution().analyzed()), session)


def _brief_session(spark: SparkSession) -> SparkSession:
    """Return a session of its own, as settings of one that other threads use must stay; whatever else ``spark`` has, it has as well."""
    session = spark.newSession()
    settings = spark._jsparkSession.conf().getAll().iterator()
    while settings.hasNext():
        setting = settings.next()
        if session.conf.isModifiable(setting._1()):
            session.conf.set(setting._1(), setting._2())
    for key, value in (BRIEF_PLANS | _DESCRIBED_BRIEFLY).items():
        session.conf.set(key, value)
    return session
