"""Tries the catalog: the namespaces of silver, quarantine and gold, the tables in them, and writing where they lie."""

from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import urlparse

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.model import CatalogType, Config
from dms_iceberg.doctor.finding import Examination, Finding, Verdict, tried
from dms_iceberg.doctor.stores import examine_writing
from dms_iceberg.quarantine.tables import quarantine_name, replays_name
from dms_iceberg.silver.owner import Owner, owner_of, owner_of_model, owner_of_quarantine
from dms_iceberg.silver.table import TargetTable
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
    namespaces: dict[str, dict[str, Owner]] = {}
    for name, owner in _tables(config):
        namespaces.setdefault(name.rpartition(".")[0], {})[name] = owner
    for namespace, owners in namespaces.items():
        yield from _examine_namespace(spark, config, namespace, owners)


def _tables(config: Config) -> Iterable[tuple[str, Owner]]:
    """Yield the names of all tables that runs write, and whose they must be."""
    for table in config.tables.values():
        yield table.target, owner_of(config, table)
        yield from ((name(config, table), owner_of_quarantine(config, table)) for name in (quarantine_name, replays_name))
    yield from ((name, owner_of_model(config, name)) for name in config.gold)


def _examine_namespace(spark: SparkSession, config: Config, namespace: str, owners: Mapping[str, Owner]) -> Examination:
    subject, locations, there = f"namespace {namespace}", list[str](), list[TargetTable]()
    tables = [TargetTable(spark, config.catalog.name, name, owner) for name, owner in owners.items()]

    def attempt() -> str | Finding:
        quoted = quote_path([config.catalog.name, *namespace.split(".")])
        if not spark.catalog.databaseExists(quoted):
            return Finding(subject, Verdict.NOTE, "does not exist yet", _NO_NAMESPACE[config.catalog.type is CatalogType.GLUE])
        rows = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {quoted}").collect()
        locations.extend(row.info_value for row in rows if row.info_name == "Location" and row.info_value)
        there.extend(one for one in tables if one.exists())
        return f"{config.catalog.type} catalog: {len(there):,} of {len(tables):,} tables exist"

    yield tried(subject, attempt, _ADVICE)
    for one in there:
        found = tried(f"owner of {one.name}", partial(_owner, one), _ADVICE)
        if found.verdict is not Verdict.OK:
            yield found
    for location in locations:
        yield from _examine_files(config, f"files of {namespace}", location)


def _owner(table: TargetTable) -> str | Finding:
    conflict = table.conflict()
    return "this document" if conflict is None else Finding(f"owner of {table.name}", Verdict.WRONG, conflict.text)


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
