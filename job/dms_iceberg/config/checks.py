"""Checks of the sections of a document, alone and together. Tables are checked in ``table_checks``."""

import re
from collections.abc import Mapping

from dms_iceberg.config.check_context import SERVICE_FIELDS, Place
from dms_iceberg.config.gold_checks import check_models
from dms_iceberg.config.identifier import check_identifier, check_table_name, quarantine_names
from dms_iceberg.config.model import BeforeImage, Bronze, BronzeFormat, Catalog, CatalogType, Change, Config, Csv, Table
from dms_iceberg.config.paths import S3_SCHEMES, scheme
from dms_iceberg.config.problems import Problems, below, listed, shown
from dms_iceberg.config.table_checks import check_table

_PIPELINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_OPERATIONS = ("I", "U", "D")
_CONTROL_TABLE_PREFIX = "awsdms_"
OWNED_CATALOG_PROPERTIES = {
    "type": "write catalog.type instead",
    "warehouse": "write catalog.warehouse instead",
    "cache-enabled": "is set by the job, which must see commits of other writers at once; remove it",
    "cache.expiration-interval-ms": "is set by the job, which must see commits of other writers at once; remove it",
}
"""Catalog properties that the job sets itself, and what to do instead."""


def check_config(config: Config, inherited: Mapping[str, frozenset[str]], problems: Problems) -> None:
    """Record every contradiction in a document.

    Args:
        config: the structured document; empty values stand for values that are already recorded as missing or wrong.
        inherited: by table, the document keys that it has from ``defaults``.
        problems: receives the problems.
    """
    if config.pipeline and not _PIPELINE.fullmatch(config.pipeline):
        problems.add("pipeline", "use letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 128")
    _check_bronze(config.bronze, problems)
    _check_catalog(config.catalog, problems)
    check_identifier(config.quarantine.namespace, "quarantine.namespace", config.catalog.type, problems)
    _check_targets(config, problems)
    _check_maintenance(config, problems)
    check_models(config, problems)
    for name, table in config.tables.items():
        place = Place(config, table, below("tables", name), inherited[name], problems)
        _check_source_name(table, place)
        check_table(place)


def _check_bronze(bronze: Bronze, problems: Problems) -> None:
    kind = scheme(bronze.uri)
    if kind not in ("", *S3_SCHEMES):
        problems.add("bronze.uri", f"'{kind}:' is not supported; use s3://, file:// or a path")
    if bronze.format is BronzeFormat.CSV:
        _check_csv(bronze.csv, problems)
        if bronze.csv.null and bronze.csv.null in bronze.change.op_words:
            word = below("bronze.change.op_words", bronze.csv.null)
            problems.add(word, "is the text of bronze.csv.null, so no row has it as its operation")
    _check_change(bronze.change, problems)
    for field in ("before_image_prefix", "before_image_suffix"):
        if getattr(bronze.change, field) == "":
            problems.add(f"bronze.change.{field}", "must not be empty: every column would be a before-image; use null for none")
    if bronze.change.before_image is BeforeImage.OPTIONAL and bronze.format is BronzeFormat.CSV and not bronze.csv.header:
        _check_optional_images(bronze.change, problems)


def _check_optional_images(change: Change, problems: Problems) -> None:
    path = "bronze.change.before_image"
    if change.before_image_prefix is None and change.before_image_suffix is None:
        problems.add(path, "'optional' needs bronze.change.before_image_prefix or before_image_suffix: the document names no before-images")
    if change.sequence_column is None:
        problems.add(
            path,
            "'optional' needs bronze.change.sequence_column: without a header only the place of the sequence shows whether a file lacks "
            "before-images or source columns. Load the table into a new epoch instead, with a header (AddColumnName) or as Parquet",
        )


def _check_csv(csv: Csv, problems: Problems) -> None:
    if len(csv.delimiter) != 1 or csv.delimiter in '"\r\n':
        problems.add("bronze.csv.delimiter", f"must be one character, neither a quote nor a line break; found {shown(csv.delimiter)}")
    elif csv.delimiter == "\\":
        problems.add(
            "bronze.csv.delimiter",
            "a backslash cannot be read: Spark takes it for the beginning of an escape sequence such as \\t, and refuses it alone; let the "
            "task write another CsvDelimiter, such as ';' or '|'",
        )
    if csv.no_supplement == "":
        problems.add("bronze.csv.no_supplement", "must not be empty: an empty field is a value; use null when DMS does not write a marker")
    elif csv.no_supplement is not None and csv.no_supplement == csv.null:
        problems.add("bronze.csv.no_supplement", "is the same text as bronze.csv.null; a value that was not supplied is no NULL")


def _check_change(change: Change, problems: Problems) -> None:
    path = "bronze.change"
    names: dict[str, str] = {}
    for field in SERVICE_FIELDS:
        name = getattr(change, field)
        if name is None:
            continue
        if not name:
            problems.add(
                below(path, field), "must not be empty" + ("" if field == "op_column" else "; use null when files have no such column")
            )
        elif (other := names.setdefault(name.casefold(), field)) != field:
            problems.add(below(path, field), f"'{name}' is also {other}; each service column has its own name")
    if not change.op_words:
        problems.add(below(path, "op_words"), 'must not be empty; write words such as {"INSERT": "I", "UPDATE": "U", "DELETE": "D"}')
    if "" in change.op_words:
        problems.add(
            below(path, "op_words"),
            'an empty text is no word, and no row has it; loaded rows without an operation are inserts with "load_without_op": true',
        )
    for word, operation in change.op_words.items():
        if operation not in _OPERATIONS:
            problems.add(below(below(path, "op_words"), word), f"found {shown(operation)}; allowed: {listed(_OPERATIONS)}")


def _check_catalog(catalog: Catalog, problems: Problems) -> None:
    check_identifier(catalog.name, "catalog.name", CatalogType.HADOOP, problems)
    if catalog.name.lower() == "spark_catalog":
        problems.add("catalog.name", "'spark_catalog' is Spark's own catalog; choose another name, such as lake")
    if catalog.type is CatalogType.REST and not catalog.properties.get("uri"):
        problems.add("catalog.properties.uri", "missing; a rest catalog needs its address")
    if catalog.type is CatalogType.HADOOP and scheme(catalog.warehouse) in S3_SCHEMES and not catalog.properties.get("lock-impl"):
        problems.add(
            "catalog.type",
            "a hadoop catalog commits by renaming a file, which S3 cannot do in one step, so two writers could lose each other's rows; use "
            "glue or rest, or set catalog.properties.lock-impl",
        )
    for key in catalog.properties:
        if key in OWNED_CATALOG_PROPERTIES:
            problems.add(below("catalog.properties", key), OWNED_CATALOG_PROPERTIES[key])


def _check_targets(config: Config, problems: Problems) -> None:
    """Refuse two tables with one target: they would overwrite each other. Catalogs and Spark fold case, so this check does too."""
    first, owners = dict[str, str](), dict[str, str]()
    for name, table in config.tables.items():
        path = below(below("tables", name), "target")
        if not table.target or not check_table_name(table.target, path, config, problems):
            continue
        other = first.setdefault(table.target.lower(), name)
        if other != name:
            problems.add(path, f"'{table.target}' is also the target of {below('tables', other)}; each table needs its own")
            continue
        wanted = quarantine_names(table.target.lower())
        if taken := [owners[one] for one in wanted if one in owners]:
            problems.add(
                path, f"the quarantine of '{table.target}' would have a table of {below('tables', taken[0])}'s; rename one of both"
            )
        owners |= dict.fromkeys(wanted, name)


def _check_maintenance(config: Config, problems: Problems) -> None:
    places = {"": config.maintenance, **{below("tables", name): table.maintenance for name, table in config.tables.items()}}
    for path, found in places.items():
        if found.snapshots_kept > found.snapshots_max and (not path or found != config.maintenance):
            problems.add(
                below(below(path, "maintenance"), "snapshots_kept"),
                f"{found.snapshots_kept} is more than snapshots_max ({found.snapshots_max}); lower it, or raise the other",
            )


def _check_source_name(table: Table, place: Place) -> None:
    schema, _, name = table.source.partition(".")
    if not schema or not name:
        place.problems.add(place.path, f"expected schema.table (as the folders below bronze.uri), found '{table.source}'")
    elif "/" in table.source or not table.source.isprintable():
        place.problems.add(place.path, "must not hold '/' or control characters: the name is two folders")
    elif name.lower().startswith(_CONTROL_TABLE_PREFIX):
        place.problems.add(place.path, f"{_CONTROL_TABLE_PREFIX}* are control tables of DMS itself, which are never merged; remove it")
