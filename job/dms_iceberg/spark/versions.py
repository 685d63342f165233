"""What differs between the versions of Spark and Iceberg that the job runs on. Nothing else in this package depends on a version.

``docs/architecture.md`` lists the workarounds, and the versions that need them.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


@attrs.frozen(eq=False)
class Version:
    """A version of Spark, with the Iceberg that Glue has beside it.

    Attributes:
        spark: the line of Spark, such as ``3.5``.
        glue: the version of Glue that has it.
        settings: session settings that only this version has or needs.
        s3a_credentials: S3A's class that looks for credentials where every AWS client does; for a local session.
        target: returns Spark's form of an Iceberg table that statements change, given the JVM and the table.
        rewriting: returns Spark's form of an Iceberg table as Iceberg's procedure rewrite_data_files uses it, and options for reads and
            writes, given the JVM, the table and a name. Reads have the tasks that `ScanTaskSetManager` has under the name; writes make
            data files that belong to no snapshot, and `FileRewriteCoordinator` gets them under the name.
        relation: returns the node of a logical plan that is a table, given the JVM, Spark's form of it, a catalog with functions and
            the options of reads.
        rows: returns the Java data frame of a logical plan, given the JVM, Java's session and the plan; a command is executed.
        arrow: returns all rows of a data frame as a table of Arrow.
        sessions: returns Java's class of sessions, which knows the active one, given the JVM.
        silence: keeps PySpark from writing what an exception says, which may be a value of a row, to standard error.
        jars: Maven coordinate and SHA-256 of the jars that a local session needs.
        aws_jars: those that it needs for S3 and Glue.
    """

    spark: str
    glue: str
    settings: Mapping[str, str]
    s3a_credentials: str
    target: Callable[[Any, "JavaObject"], "JavaObject"]
    rewriting: Callable[[Any, "JavaObject", str], tuple["JavaObject", dict[str, str]]]
    relation: Callable[[Any, "JavaObject", "JavaObject", Mapping[str, str]], "JavaObject"]
    rows: Callable[[Any, "JavaObject", "JavaObject"], "JavaObject"]
    arrow: Callable[[Any], Any]
    sessions: Callable[[Any], Any]
    silence: Callable[[], None]
    jars: Mapping[str, str]
    aws_jars: Mapping[str, str]

    @property
    def iceberg(self) -> str:
        """The line of Iceberg that Glue has beside this Spark, such as ``1.10``: that of the jar of a local session."""
        return next(iter(self.jars)).rpartition(":")[2].rpartition(".")[0]


def _target_of_3_5(jvm: Any, table: "JavaObject") -> "JavaObject":
    # False: the table is as its operations have it, and is not refreshed before it is read.
    return jvm.org.apache.iceberg.spark.source.SparkTable(table, False)


def _target_of_4_1(jvm: Any, table: "JavaObject") -> "JavaObject":
    return jvm.org.apache.iceberg.spark.source.SparkTable(table)


def _rewriting_of_3_5(jvm: Any, table: "JavaObject", name: str) -> tuple["JavaObject", dict[str, str]]:
    return _target_of_3_5(jvm, table), {"scan-task-set-id": name, "rewritten-file-scan-task-set-id": name}


def _rewriting_of_4_1(jvm: Any, table: "JavaObject", name: str) -> tuple["JavaObject", dict[str, str]]:
    return jvm.org.apache.iceberg.spark.source.SparkRewriteTable(table, name), {}


def _relation_of_3_5(
    jvm: Any, table: "JavaObject", catalog: "JavaObject", options: Mapping[str, str], *further: "JavaObject"
) -> "JavaObject":
    some, nothing = jvm.scala.Option.apply(catalog), jvm.scala.Option.empty()
    of_java = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(dict(options))
    return jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation.create(table, some, nothing, of_java, *further)


def _relation_of_4_1(jvm: Any, table: "JavaObject", catalog: "JavaObject", options: Mapping[str, str]) -> "JavaObject":
    no_time_travel = jvm.scala.Option.empty()
    return _relation_of_3_5(jvm, table, catalog, options, no_time_travel)


def _rows_of_3_5(jvm: Any, session: "JavaObject", plan: "JavaObject") -> "JavaObject":
    return jvm.org.apache.spark.sql.Dataset.ofRows(session, plan)


def _rows_of_4_1(jvm: Any, session: "JavaObject", plan: "JavaObject") -> "JavaObject":
    return jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)


def _arrow_of_3_5(frame: Any) -> Any:
    import pyarrow as pa

    # As toPandas does it.
    return pa.Table.from_batches(frame._collect_as_arrow())


def _arrow_of_4_1(frame: Any) -> Any:
    return frame.toArrow()


def _sessions_of_3_5(jvm: Any) -> Any:
    return jvm.org.apache.spark.sql.SparkSession


def _sessions_of_4_1(jvm: Any) -> Any:
    return jvm.org.apache.spark.sql.classic.SparkSession


def _silence_of_3_5() -> None:
    """It writes nothing."""


def _silence_of_4_1() -> None:
    from pyspark.logger import PySparkLogger

    # PySpark writes each exception of a statement or data frame, with all of Java's stack, when it makes it (``PySparkException``).
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


SPARK_3_5 = Version(
    spark="3.5",
    glue="5.1",
    settings={},
    s3a_credentials="com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
    target=_target_of_3_5,
    rewriting=_rewriting_of_3_5,
    relation=_relation_of_3_5,
    rows=_rows_of_3_5,
    arrow=_arrow_of_3_5,
    sessions=_sessions_of_3_5,
    silence=_silence_of_3_5,
    jars={
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0": "70f9471870b2d456167d703c829f098a446b86bb1379eee338c0efa03a341026",
    },
    aws_jars={
        "org.apache.iceberg:iceberg-aws-bundle:1.10.0": "172370cfc32a5f1ae5399b210e86fc04a366dc29a112d97ac8ffc74df7525596",
        # Of the AWS SDK three jars, not the 281 MB bundle that S3A's POM names: static and environment credentials work with these
        # (``dynamodb`` because S3AFileSystem loads one of its exception classes).
        "org.apache.hadoop:hadoop-aws:3.3.4": "53f9ae03c681a30a50aa17524bd9790ab596b28481858e54efd989a826ed3a4a",
        "com.amazonaws:aws-java-sdk-core:1.12.262": "06fed99f929c389e168278c1b111aaf1afb270d07202fbbce92e73d1e4279678",
        "com.amazonaws:aws-java-sdk-s3:1.12.262": "a0cb7580178bc0d4d3558295a5bb890008478da8a6b3241989c71238b0ed3be5",
        "com.amazonaws:aws-java-sdk-dynamodb:1.12.262": "7af4ba06d0d9b3c2ab435089caecd0567810d203aa285f7aa72861f1964d442e",
    },
)

SPARK_4_1 = Version(
    spark="4.1",
    glue="6.0",
    settings={
        # Decoding of what is not UTF-8 would fail; the reader of CSV wants a replacement there, and looks for it.
        "spark.sql.legacy.codingErrorAction": "true",
        # A nested value of JSON would keep the blanks that it was written with.
        "spark.sql.json.enableExactStringParsing": "false",
        # A union of parts with as many partitions as planned, but not as run, fails: "Can't zip RDDs with unequal numbers of partitions".
        "spark.sql.unionOutputPartitioning": "false",
        # A comparison of decimals that together need more than 38 digits would round both, and so call 1.5 and 2 equal.
        "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
        # Expressions, filters, rules and models of a configuration mean what they meant: 'O''Brien' is two texts for Spark 3.5.
        "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
        "spark.sql.legacy.truncateForEmptyRegexSplit": "true",
        "spark.sql.legacy.javaCharsets": "true",
        "spark.sql.legacy.bangEqualsNot": "true",
        "spark.sql.legacy.disableMapKeyNormalization": "true",
        # Letters change their case by Java's rules, not by those of ICU.
        "spark.sql.icu.caseMappings.enabled": "false",
    },
    s3a_credentials="software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    target=_target_of_4_1,
    rewriting=_rewriting_of_4_1,
    relation=_relation_of_4_1,
    rows=_rows_of_4_1,
    arrow=_arrow_of_4_1,
    sessions=_sessions_of_4_1,
    silence=_silence_of_4_1,
    jars={
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0": "d6ea6c5d099288daeb7d5a92061bd3d7d8f296492632b42378e5f2f0e3066242",
    },
    aws_jars={
        "org.apache.iceberg:iceberg-aws-bundle:1.11.0": "38f01da7e96850cdd05e6616d758b77b43314b712a8808e3f9a824d56976162f",
        "org.apache.hadoop:hadoop-aws:3.4.2": "d2d24e6b715b5656b9d238bf13b6682a07e2004dd36aad74a73aeb854319f4d9",
        # Of the SDK that Iceberg's bundle brings, the one part that S3A wants and the bundle lacks.
        "software.amazon.awssdk:s3-transfer-manager:2.44.4": "dbcad736b19f6eb8471f9edf027d9fffe994228f25f415894efd01fd80cb6c02",
    },
)

TESTED = (SPARK_3_5, SPARK_4_1)
"""The versions that the job's tests run on."""


@lru_cache(maxsize=1)
def present() -> Version:
    """Return the version that is there. For a Spark that the job is not tested on, which `doctor` refuses, it is the nearest."""
    from pyspark import __version__

    return of(__version__)


def of(spark: str) -> Version:
    """Return the version to use with a Spark."""
    return SPARK_3_5 if int(spark.split(".")[0]) < 4 else SPARK_4_1


def is_tested(spark: str) -> bool:
    """Whether the job is tested on a Spark."""
    return spark.startswith(tuple(f"{version.spark}." for version in TESTED))
