"""Documents the configuration tests start from."""

import copy
from typing import Any

import attrs
import cattrs
from cattrs.gen import make_dict_unstructure_fn, override

from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import VERSION
from dms_iceberg.config.structure import document_key

SAMPLE: dict[str, Any] = {
    "version": 1,
    "pipeline": "shop",
    "bronze": {"uri": "s3://acme-bronze/dms/shop/", "format": "parquet"},
    "catalog": {"name": "lake", "type": "glue", "warehouse": "s3://acme-silver/", "properties": {}},
    "defaults": {"mode": "mirror", "schema_changes": "evolve"},
    "tables": {
        "public.orders": {
            "target": "silver.orders",
            "key": ["order_id"],
            "mode": "mirror",
            "partition_by": ["bucket(16, order_id)"],
            "columns": [
                {"name": "order_id", "type": "bigint"},
                {"name": "ordered_at", "type": "timestamp"},
                {"name": "city", "expr": "trim(split(location, ',')[0])", "type": "string"},
                {"name": "email", "mask": "sha256"},
            ],
            "drop": ["location"],
            "other_columns": "keep",
            "filter": "deleted_by_app is null",
            "rules": [{"name": "amount_not_negative", "expr": "amount >= 0", "on_fail": "quarantine"}],
        }
    },
}
"""The sample of the design: every kind of key, and valid."""

FULL: dict[str, Any] = {
    "version": 1,
    "pipeline": "shop",
    "bronze": {
        "uri": "bronze",
        "format": "csv",
        "csv": {"header": True, "delimiter": ";", "null": "NULL", "no_supplement": "~"},
        "change": {
            "op_column": "action",
            "op_words": {"INSERT": "I", "UPDATE": "U", "DELETE": "D"},
            "timestamp_column": "changed_at",
            "sequence_column": None,
            "stream_position_column": None,
            "before_image_prefix": None,
            "load_without_op": True,
        },
    },
    "catalog": {"name": "lake", "type": "rest", "warehouse": "wh", "properties": {"uri": "http://localhost:8181"}},
    "defaults": {"target_file_size_mb": 64, "table_properties": {"write.parquet.compression-codec": "zstd"}},
    "tables": {
        "public.customers": {
            "target": "silver.customers",
            "key": ["id", "tenant"],
            "schema_changes": "strict",
            "partition_by": ["months(joined)", "`home town`"],
            "columns": [
                {"name": "id", "type": "BIGINT"},
                {"name": "joined", "from": "joined_text", "type": "timestamp", "format": "dd.MM.yyyy HH:mm"},
                {"name": "home town", "from": "town", "trim": True, "null_in_update": "keep"},
                {"name": "mail", "mask": "sha256", "mask_salt": "env:SALT"},
                {"name": "phone", "mask": "partial"},
                {"name": "score", "type": "decimal(10, 2)", "backfill": "0.50"},
                {"name": "active", "type": "boolean", "backfill": True},
            ],
            "drop": ["joined_text", "location"],
            "source_columns": ["id"],
            "table_properties": {"write.spark.fanout.enabled": "true"},
            "format_version": 3,
            "write_mode": "copy-on-write",
            "rules": [{"name": "positive", "expr": "score >= 0", "on_fail": "drop"}],
        }
    },
    "quarantine": {"namespace": "rejected"},
    "batch": {"max_bytes": 1000, "max_files": 10, "look_back_hours": 1.5},
    "parallelism": 2,
    "timestamps": "ntz",
    "state_uri": "state",
}
"""Every key of the document."""


def sample() -> dict[str, Any]:
    """Return a fresh copy of `SAMPLE`."""
    return copy.deepcopy(SAMPLE)


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the sample with the value at ``path`` (keys and indexes separated by ``/``) set."""
    document = sample()
    *parents, last = path.split("/")
    node: Any = document
    for key in parents:
        node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
    node[int(last) if isinstance(node, list) else last] = value
    return document


def to_document(config: Config) -> dict[str, Any]:
    """Return the plain document of a configuration; values equal to the model's defaults are left out."""
    document = {"version": VERSION, **_converter(omit_defaults=True).unstructure(config)}
    whole = _converter(omit_defaults=False)
    common = whole.unstructure(config.maintenance)
    for name, table in config.tables.items():
        # The document has the keys that differ for a table, one by one.
        document["tables"][name].pop("maintenance", None)
        own = whole.unstructure(table.maintenance)
        if other := {key: value for key, value in own.items() if value != common[key]}:
            document["tables"][name]["maintenance"] = other
    return document


def _converter(*, omit_defaults: bool) -> cattrs.Converter:
    converter = cattrs.Converter(unstruct_collection_overrides={tuple: list})

    def hook(cls: type) -> Any:
        keys = {field.name: override(rename=document_key(field), omit=document_key(field) is None) for field in attrs.fields(cls)}
        return make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=omit_defaults, **keys)

    converter.register_unstructure_hook_factory(attrs.has, hook)
    return converter
