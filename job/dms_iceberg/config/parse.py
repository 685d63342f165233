"""Turn a plain document (nested dicts, lists and scalars) into a `Config`, or into one error with every problem."""

from typing import Any

import attrs

from dms_iceberg.config.canonical_values import normalised
from dms_iceberg.config.checks import check_config
from dms_iceberg.config.model import CatalogType, Change, Config, Maintenance, Table
from dms_iceberg.config.paths import absolute, escaped
from dms_iceberg.config.problems import Problems, below, item, shown, suggestion
from dms_iceberg.config.structure import Structurer, document_fields
from dms_iceberg.errors import ConfigError

VERSION = 1
"""The document version this package reads."""

TABLE_ONLY = ("target", "key", "key_confirmed", "columns", "source_columns", "publish", "maintenance")
"""Keys of a table that are refused in ``defaults``."""


def parse_config(document: object, *, source: str = "configuration", base: str = ".") -> Config:
    """Return the configuration that a document describes.

    Args:
        document: what a JSON or YAML parser returned.
        source: name of the document in errors.
        base: folder that relative paths are relative to: a path, ``file://`` or ``s3://``.

    Raises:
        ConfigError: with every problem found, each with its key path.
    """
    problems = Problems()
    try:
        config = _parse(document, base, problems)
    except RecursionError as error:
        raise ConfigError(["nested too deeply, or refers to itself"], source) from error
    if problems.lines or config is None:
        raise ConfigError(problems.lines, source)
    return config


def _parse(document: object, base: str, problems: Problems) -> Config | None:
    if not isinstance(document, dict):
        problems.add("", f"the document must be an object, found {shown(document)}")
        return None
    _check_texts(document, "", problems)
    if problems.lines or not _version_fits(document, problems):
        return None
    structurer = Structurer(problems)
    values = structurer.fields(document, Config, "", extra=("version", "defaults", "tables", "$schema"))
    tables, inherited = _tables(document, structurer, values.get("maintenance", Maintenance()))
    config = structurer.complete(Config, {**values, "tables": tables})
    config = _with_absolute_paths(_with_assumed(config, document), base, problems)
    check_config(config, inherited, problems)
    return normalised(config) if not problems.lines else None


def _with_assumed(config: Config, document: dict[str, Any]) -> Config:
    """Note which keys of ``bronze.change`` the document leaves out: their values are defaults, which nobody has said."""
    bronze = document.get("bronze")
    change = bronze.get("change") if isinstance(bronze, dict) else None
    assumed = frozenset(key for key in document_fields(Change) if not isinstance(change, dict) or key not in change)
    return attrs.evolve(config, bronze=attrs.evolve(config.bronze, change=attrs.evolve(config.bronze.change, assumed=assumed)))


def _check_texts(value: object, path: str, problems: Problems) -> None:
    """Record keys that are not text, and texts that are none.

    YAML and Python allow other keys, JSON does not, and key paths need text. JSON can write half of a character, and neither Java nor a
    file can have it.
    """
    if isinstance(value, dict):
        for key, entry in value.items():
            if isinstance(key, str):
                _check_texts(entry, below(path, escaped(key)), problems)
                _check_halves(key, below(path, escaped(key)), problems)
            else:
                problems.add(path, f"keys must be text, found {shown(key)}; put it in quotes")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            _check_texts(entry, item(path, index), problems)
    elif isinstance(value, str):
        _check_halves(value, path, problems)


def _check_halves(text: str, path: str, problems: Problems) -> None:
    if half := next((one for one in text if "\ud800" <= one <= "\udfff"), ""):
        problems.add(path, f"has {escaped(half)}, half of a character of two (a lone surrogate), which is no text; write the whole one")


def _version_fits(document: dict[str, Any], problems: Problems) -> bool:
    """Whether the document has this version; the keys of another version may mean something else, so they are not checked."""
    version = document.get("version", VERSION)
    if "version" not in document:
        near = suggestion("version", [key for key in document if key not in ("tables", "bronze")])
        hint = f"; {near}" if near == "did you mean 'version'?" else ""
        problems.add("version", f"missing; write {VERSION}{hint}")
    elif isinstance(version, bool) or not isinstance(version, int):
        problems.add("version", f"expected the number {VERSION}, found {shown(version)}")
    elif version > VERSION:
        problems.add(
            "version",
            f"{version} is newer than this program reads ({VERSION}); update dms-iceberg where it runs, "
            f"or write the document for version {VERSION}",
        )
        return False
    elif version != VERSION:
        problems.add("version", f"expected {VERSION}, found {version}")
    return True


def _tables(
    document: dict[str, Any], structurer: Structurer, maintenance: Maintenance
) -> tuple[dict[str, Table], dict[str, frozenset[str]]]:
    """Return tables with ``defaults`` and ``maintenance`` merged in, and the document keys that each took from ``defaults``."""
    defaults = structurer.fields(
        document.get("defaults", {}),
        Table,
        "defaults",
        refused=dict.fromkeys(TABLE_ONLY, "belongs to each table, not to defaults")
        | {"maintenance": "has its defaults at the top of the document; write them there"},
        optional=True,
    )
    raw = document.get("tables")
    if not isinstance(raw, dict) or not raw:
        found = "missing" if "tables" not in document else f"expected at least one table, found {shown(raw)}"
        hint = 'write {"schema.table": {"target": "namespace.table", "key": ["column"]}}'
        structurer.problems.add("tables", f"{found}; {hint}")
        return {}, {}
    tables, inherited = {}, {}
    for name, entry in raw.items():
        own = structurer.fields(entry, Table, below("tables", name))
        values = {**defaults, **own, "source": name, "maintenance": maintenance}
        if "maintenance" in own:
            given = Structurer(Problems()).fields(entry["maintenance"], Maintenance, "")
            values["maintenance"] = attrs.evolve(maintenance, **given)
        if "table_properties" in defaults:
            values["table_properties"] = {**defaults["table_properties"], **own.get("table_properties", {})}
        tables[name] = structurer.complete(Table, values)
        inherited[name] = frozenset(key for key, field in document_fields(Table).items() if field.name in set(defaults) - set(own))
    return tables, inherited


def _with_absolute_paths(config: Config, base: str, problems: Problems) -> Config:
    def resolved(path: str, uri: str) -> str:
        try:
            return absolute(uri, base) if uri else uri
        except ValueError as error:
            problems.add(path, str(error))
            return uri

    catalog = config.catalog
    if catalog.type is not CatalogType.REST:
        # A REST catalog's warehouse is a name or ARN that only the catalog understands.
        catalog = attrs.evolve(catalog, warehouse=resolved("catalog.warehouse", catalog.warehouse))
    return attrs.evolve(
        config,
        bronze=attrs.evolve(config.bronze, uri=resolved("bronze.uri", config.bronze.uri)),
        catalog=catalog,
        state_uri=resolved("state_uri", config.state_uri),
    )
