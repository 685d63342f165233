"""The published JSON Schema is the model's, and agrees with the parser on structure."""

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from dms_iceberg.config import model
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.schema import json_schema, main
from dms_iceberg.config.structure import document_fields
from unit.config.config_documents import FULL, SAMPLE, changed

DOCS = Path(__file__).parents[3] / "docs"
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_the_committed_schema_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    committed = (DOCS / "configuration.schema.json").read_text()
    assert committed == capsys.readouterr().out, "run: python -m dms_iceberg.config.schema > docs/configuration.schema.json"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("document", [SAMPLE, FULL], ids=["sample", "full"])
def test_it_accepts_good_documents(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("pipline", "x"),
        ("parallelism", 65),
        ("batch", {"look_back_hours": 0}),
        ("defaults/key", ["id"]),
        ("tables", {}),
        ("tables/public.orders/key", []),
        ("tables/public.orders/columns/0/source", "x"),
        ("tables/public.orders/columns/3/mask", "sha"),
        ("tables/public.orders/format_version", 4),
        ("tables/public.orders/mode", "scd2"),
    ],
)
def test_it_refuses_wrong_documents(path: str, value: object) -> None:
    assert not VALIDATOR.is_valid(changed(path, value))


def classes() -> list[type]:
    return [cls for name in model.__all__ if attrs.has(cls := getattr(model, name))]


def test_the_committed_documentation_names_every_key() -> None:
    text = (DOCS / "configuration.md").read_text()
    missing = [f"{cls.__name__}.{key}" for cls in classes() for key in document_fields(cls) if f"| `{key}` |" not in text]
    assert missing == []


def as_document(example: Any) -> dict[str, Any]:
    """Put a fragment of the documentation where it belongs in a small document."""
    document: dict[str, Any] = {
        "version": 1,
        "pipeline": "docs",
        "bronze": {"uri": "bronze"},
        "catalog": {"warehouse": "lake"},
        "tables": {"public.t": {"target": "silver.t", "key": ["order_id"]}},
    }
    if isinstance(example, list):
        example = {"columns": example}
    if "name" in example:
        example = {"columns": [example]}
    if set(example) <= set(document_fields(model.Table)):
        example = {"tables": {"public.t": {**document["tables"]["public.t"], **example}}}
    return {**document, **example}


def test_examples_of_the_documentation_are_valid() -> None:
    blocks = (DOCS / "configuration.md").read_text().split("```json\n")[1:]
    assert len(blocks) >= 10
    for block in blocks:
        parse_config(as_document(json.loads(block.partition("```")[0])))
