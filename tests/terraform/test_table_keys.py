"""The Terraform modules and the job agree about table keys: the module reads the job's own schema, and understands all that is in it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "terraform" / "modules" / "_table-config"
PUBLISHED = ROOT / "docs" / "configuration.schema.json"
SCHEMA: dict[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]
SOURCES = "\n".join(path.read_text("utf-8") for path in sorted(MODULE.glob("*.tf")))

# What `_table-config` makes of a key's schema: whatever else appears there would be accepted unchecked.
KEYWORDS = {"type", "enum", "minimum", "maximum", "minLength", "minItems", "items", "additionalProperties", "exclusiveMinimum"}
IGNORED = {"description", "default"}
TYPES = {"string", "integer", "number", "boolean", "array", "object", "null"}
CHECKED = {
    "Table": "table",
    "Defaults": "defaults",
    "Column": "column",
    "Rule": "rule",
    "Csv": "csv",
    "Change": "change",
    "Batch": "batch",
    "Maintenance": "maintenance",
    "Model": "model",
}
OTHERWISE = {"Config", "Bronze", "Catalog", "Quarantine"}
"""Definitions whose values the root module makes itself, or whose parts are checked above."""


def keys() -> list[Any]:
    return [
        pytest.param(key, schema, id=f"{definition}.{key}")
        for definition in CHECKED
        for key, schema in DEFINITIONS[definition]["properties"].items()
    ]


def test_module_reads_the_published_schema() -> None:
    named = re.search(r'file\("\$\{path\.module\}/(?P<path>[^"]+)"\)', SOURCES)
    assert named
    assert (MODULE / named["path"]).resolve() == PUBLISHED


@pytest.mark.parametrize("definition", CHECKED)
def test_every_object_of_a_table_is_checked(definition: str) -> None:
    assert f"local.schema.{definition}.properties" in SOURCES
    assert (
        f'kind = "{CHECKED[definition]}"' in SOURCES
        or f'for key in ["{CHECKED[definition]}"' in SOURCES
        or f'"{CHECKED[definition]}"]' in SOURCES
    )


def test_no_other_object_can_be_written() -> None:
    assert set(DEFINITIONS) - OTHERWISE == set(CHECKED)
    assert set(SCHEMA["properties"]) == {
        *("$schema", "version", "pipeline", "bronze", "catalog", "tables", "quarantine", "batch", "parallelism", "timestamps"),
        *("state_uri", "defaults", "gold", "maintenance"),
    }, "let the modules _table-config and pipeline pass the new section on"


def test_objects_in_objects_are_the_ones_that_are_checked() -> None:
    inner = {schema["items"]["$ref"] for schema in DEFINITIONS["Table"]["properties"].values() if "$ref" in schema.get("items", {})}
    assert inner == {"#/$defs/Column", "#/$defs/Rule"}
    assert not [key for key in ("Column", "Rule") if any("$ref" in json.dumps(s) for s in DEFINITIONS[key]["properties"].values())]


@pytest.mark.parametrize(("key", "schema"), keys())
def test_every_key_has_a_schema_that_the_module_understands(key: str, schema: dict[str, Any]) -> None:
    assert set(schema) <= KEYWORDS | IGNORED | {"$ref"}, "teach terraform/modules/_table-config what this keyword means"
    types = schema.get("type", [])
    assert ({types} if isinstance(types, str) else set(types)) <= TYPES
    assert "type" in schema or "enum" in schema or schema.get("$ref") == "#/$defs/Maintenance"
    if "items" in schema:
        assert schema["items"] == {"type": "string"} or set(schema["items"]) == {"$ref"}
    if "additionalProperties" in schema:
        assert schema["additionalProperties"] == {"type": "string"}


def test_the_key_for_dms_is_none_of_the_jobs() -> None:
    assert "load" not in DEFINITIONS["Table"]["properties"]


def test_a_key_that_the_job_needs_is_demanded() -> None:
    """`target` has a default in Terraform; whatever else the job comes to need is demanded by the module as well."""
    assert DEFINITIONS["Table"]["required"] == ["target", "key"]
    assert 'if key != "target"' in SOURCES
