"""Tries the catalog: the namespaces of silver, quarantine and gold, the tables in them, and writing where they lie."""

from collections.abc import Iterable
from urllib.parse import urlparse

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.model import CatalogType, Config
from dms_iceberg.doctor.finding import Examination, Finding, Verdict, tried
from dms_iceberg.doctor.stores import examine_writing
from dms_iceberg.iceberg.table import IcebergTable
from dms_iceberg.silver.quarantine import quarantine_name
from dms_iceberg.sql.quoting import quote_path
from dms_iceberg.storage.open_store import open_store

_ADVICE = (
    "The job needs glue:GetDatabase and glue:GetTable (or the same of another catalog), and with Lake Formation the right to the database; "
    "catalog.properties name the catalog."
)
_SCHEMES = ("s3", "s3a", "s3n", "file", "")
_NO_NAMESPACE = {
    True: "The job's role of the Terraform modules must not create databases: add it to the module lake, or create it.",
    False: "The first run creates it.",
}


def examine_catalog(spark: SparkSession, config: Config) -> Examination:
    """Yield what each namespace of the configuration finds."""
    namespaces: dict[str, list[str]] = {}
    for name in _tables(config):
        namespaces.setdefault(name.rpartition(".")[0], []).append(name)
    for namespace, names in namespaces.items():
        yield from _examine_namespace(spark, config, namespace, names)


def _tables(config: Config) -> Iterable[str]:
    for table in config.tables.values():
        yield from (table.target, quarantine_name(config, table))
    yield from config.gold


def _examine_namespace(spark: SparkSession, config: Config, namespace: str, names: list[str]) -> Examination:
    subject, locations = f"namespace {namespace}", list[str]()

    def attempt() -> str | Finding:
        quoted = quote_path([config.catalog.name, *namespace.split(".")])
        if not spark.catalog.databaseExists(quoted):
            return Finding(subject, Verdict.NOTE, "does not exist yet", _NO_NAMESPACE[config.catalog.type is CatalogType.GLUE])
        rows = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {quoted}").collect()
        locations.extend(row.info_value for row in rows if row.info_name == "Location" and row.info_value)
        there = sum(IcebergTable(spark, config.catalog.name, name).exists() for name in names)
        return f"{config.catalog.type} catalog: {there:,} of {len(names):,} tables exist"

    yield tried(subject, attempt, _ADVICE)
    for location in locations:
        yield from _examine_files(config, f"files of {namespace}", location)


def _examine_files(config: Config, subject: str, location: str) -> Examination:
    """Try to write where tables lie. The catalog's own credentials, and stores that only Iceberg knows, are not tried."""
    if urlparse(location).scheme not in _SCHEMES:
        yield Finding(subject, Verdict.NOTE, f"{location}: not tried, as it is neither S3 nor a local folder")
        return
    for finding in examine_writing(subject, open_store(location), ""):
        if finding.verdict is Verdict.WRONG and config.catalog.type is CatalogType.REST:
            advice = f"If the catalog gives credentials of its own, or catalog.properties do, runs may work all the same. {finding.advice}"
            finding = attrs.evolve(finding, verdict=Verdict.NOTE, advice=advice)
        yield finding
