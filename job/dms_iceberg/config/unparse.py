"""Turn a `Config` back into a document: the emulator and the demo write it, and the round-trip test reads it again."""

from enum import Enum
from typing import Any

import attrs

from dms_iceberg.config.model import Config, Maintenance
from dms_iceberg.config.parse import VERSION
from dms_iceberg.config.structure import document_fields


def to_document(config: Config) -> dict[str, Any]:
    """Return the plain document of a configuration; values equal to the model's defaults are left out."""
    document = {"version": VERSION, **_plain(config)}
    for name, table in config.tables.items():
        # The document has the keys that differ for a table, one by one.
        document["tables"][name].pop("maintenance", None)
        if other := _differences(table.maintenance, config.maintenance):
            document["tables"][name]["maintenance"] = other
    return document


def _differences(own: Maintenance, common: Maintenance) -> dict[str, Any]:
    fields = document_fields(Maintenance).items()
    return {key: _plain(getattr(own, field.name)) for key, field in fields if getattr(own, field.name) != getattr(common, field.name)}


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        fields = document_fields(type(value)).items()
        return {key: _plain(getattr(value, field.name)) for key, field in fields if getattr(value, field.name) != _default(field)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return {key: _plain(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def _default(field: "attrs.Attribute[Any]") -> Any:
    factory = getattr(field.default, "factory", None)
    return field.default if factory is None else factory()
