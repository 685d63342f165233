"""Arrow schemas of a table's data files, with Iceberg's field ids."""

import json
from typing import Any

import pyarrow as pa

FIELD_ID = b"PARQUET:field_id"
_SCHEMA = b"iceberg.schema"
DELETE_PATH, DELETE_POSITION = 2147483546, 2147483545
"""Reserved field ids of position deletes: https://iceberg.apache.org/spec/#reserved-field-ids"""
ROW_ID, LAST_UPDATED = "_row_id", "_last_updated_sequence_number"
_LINEAGE = {ROW_ID: 2147483540, LAST_UPDATED: 2147483539}
"""Columns of data files of format 3, with their reserved field ids: https://iceberg.apache.org/spec/#row-lineage"""
ROW_ID_FIELD = _LINEAGE[ROW_ID]
_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}


def _field(name: str, type_: pa.DataType, id_: int, *, nullable: bool) -> pa.Field:
    return pa.field(name, type_, nullable=nullable, metadata={FIELD_ID: str(id_)})


POSITION_DELETES = pa.schema(
    [
        _field("file_path", pa.string(), DELETE_PATH, nullable=False),
        _field("pos", pa.int64(), DELETE_POSITION, nullable=False),
    ],
    metadata={"delete-type": "position"},
)


def arrow_schema(text: str) -> pa.Schema | None:
    """Return the schema of a data file.

    Args:
        text: an Iceberg schema as JSON (``SchemaParser``).

    Returns:
        Columns with their field ids; None if a column has a type that Iceberg and Arrow do not write as the same Parquet values (nested
        types, times, UUIDs, times of nanoseconds), or in format 3 a default, which stands for what older files lack.
    """
    fields = []
    for field in json.loads(text)["fields"]:
        type_ = _arrow_type(field["type"])
        if type_ is None or field.get("initial-default") is not None:
            return None
        fields.append(_field(field["name"], type_, field["id"], nullable=not field["required"]))
    return pa.schema(fields, metadata={_SCHEMA: text})


def with_lineage(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a data file with the columns of row lineage, from that of `arrow_schema`."""
    document = json.loads(schema.metadata[_SCHEMA])
    document["fields"] += [{"id": id_, "name": name, "required": False, "type": "long"} for name, id_ in _LINEAGE.items()]
    fields = [_field(name, pa.int64(), id_, nullable=True) for name, id_ in _LINEAGE.items()]
    return pa.schema([*schema, *fields], metadata={_SCHEMA: json.dumps(document, separators=(",", ":"))})


def _arrow_type(type_: Any) -> pa.DataType | None:
    if not isinstance(type_, str):
        return None
    if type_.startswith("decimal("):
        precision, scale = map(int, type_[len("decimal(") : -1].split(","))
        return pa.decimal128(precision, scale)
    return _TYPES.get(type_)


def field_ids(schema: pa.Schema) -> dict[int, int]:
    """Return the number of each top-level column by its field id; columns without one are left out."""
    found = ((number, (field.metadata or {}).get(FIELD_ID)) for number, field in enumerate(schema))
    return {int(id_): number for number, id_ in found if id_ is not None}
