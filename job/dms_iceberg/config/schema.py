"""A JSON Schema (draft 2020-12) of the document, built from the model; ``python -m dms_iceberg.config.schema`` prints it.

Editors and Terraform use it. It lacks what only ``config.parse`` can check (SQL, contradictions).
"""

import inspect
import json
import sys
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import attrs

from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.parse import TABLE_ONLY, VERSION
from dms_iceberg.config.structure import document_fields

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the schema as plain data, in the model's order."""
    definitions: dict[str, Any] = {}
    document = _object(Config, definitions)
    properties = {
        "$schema": {"type": "string", "description": "Address of this schema, for editors."},
        **_version(),
        **document["properties"],
    }
    properties["defaults"] = {"$ref": "#/$defs/Defaults"}
    definitions["Defaults"] = _defaults(definitions)
    return {
        "$schema": _DRAFT,
        "title": "dms-iceberg configuration",
        **document,
        "properties": properties,
        "required": ["version", *document["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


def _version() -> dict[str, Any]:
    return {"version": {"const": VERSION, "description": "Version of the document's form."}}


def _defaults(definitions: dict[str, Any]) -> dict[str, Any]:
    table = _object(Table, definitions)
    properties = {key: value for key, value in table["properties"].items() if key not in TABLE_ONLY}
    description = "Values for every table that does not give its own; table_properties are merged key by key."
    return {"type": "object", "description": description, "properties": properties, "additionalProperties": False}


def _object(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    fields = document_fields(cls)
    schema: dict[str, Any] = {
        "type": "object",
        "description": _summary(cls),
        "properties": {key: _field(field, definitions) for key, field in fields.items()},
        "additionalProperties": False,
    }
    required = [key for key, field in fields.items() if field.default is attrs.NOTHING]
    return {**schema, "required": required} if required else schema


def _summary(cls: type) -> str:
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())


def _field(field: "attrs.Attribute[Any]", definitions: dict[str, Any]) -> dict[str, Any]:
    required = field.default is attrs.NOTHING
    schema = {**_type(field.type, definitions), "description": field.metadata["doc"], **field.metadata["limits"]}
    if required and schema.get("type") in ("string", "array", "object"):
        schema[{"string": "minLength", "array": "minItems", "object": "minProperties"}[schema["type"]]] = 1
    if not required and "$ref" not in schema:
        schema["default"] = _plain(field.default)
    return schema


def _plain(default: Any) -> Any:
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time, a function in the stubs
        return _plain(default.factory())
    if isinstance(default, Enum):
        return default.value
    return list(default) if isinstance(default, tuple) else default


def _type(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(cls), get_args(cls)
    if origin in (Union, UnionType):
        return _union(arguments, definitions)
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(arguments[1], definitions)}
    if issubclass(cls, Enum):
        return {"enum": [member.value for member in cls]}
    if attrs.has(cls):
        if cls.__name__ not in definitions:
            definitions[cls.__name__] = _object(cls, definitions)
        return {"$ref": f"#/$defs/{cls.__name__}"}
    return {"type": _TYPES[cls]}


def _union(members: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    schemas = [_type(member, definitions) if member is not NoneType else {"type": "null"} for member in members]
    if all(set(schema) == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    words = [word for schema in schemas for word in schema.get("enum", [None])]
    return {"enum": words}


def main() -> None:
    """Print the schema."""
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")


if __name__ == "__main__":
    main()
