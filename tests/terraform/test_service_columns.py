"""The module replication and the job agree about the columns that DMS adds: what the one makes it write, the other looks for."""

from pathlib import Path
from typing import Any

import hcl2
import pytest
from hcl2 import SerializationOptions

from dms_iceberg.bronze.keys import Kind, parse_key
from dms_iceberg.config.model import Change

MODULE = Path(__file__).parents[2] / "terraform" / "modules" / "replication"
_AS_TEXT = SerializationOptions(with_comments=False, explicit_blocks=False, strip_string_quotes=True)


def local_values() -> dict[str, Any]:
    """Return the local values of the module by name; expressions stay the text they are."""
    documents = [hcl2.loads(path.read_text("utf-8"), serialization_options=_AS_TEXT) for path in sorted(MODULE.glob("*.tf"))]
    return {name: value for document in documents for block in document.get("locals", []) for name, value in block.items()}


@pytest.fixture(scope="module")
def service_columns() -> dict[str, str]:
    found: dict[str, str] = local_values()["service_columns"]
    return found


@pytest.mark.parametrize("key", ["op_column", "timestamp_column", "sequence_column", "stream_position_column", "before_image_prefix"])
def test_name_is_the_default_of_the_job(service_columns: dict[str, str], key: str) -> None:
    assert service_columns[key] == getattr(Change(), key)


def test_every_name_is_compared(service_columns: dict[str, str]) -> None:
    assert set(service_columns) == {name for name in Change.__annotations__ if name.endswith(("_column", "_prefix"))}


def test_operation_words_are_those_of_dms() -> None:
    """DMS's own words, which no setting changes."""
    assert Change().op_words == {"I": "I", "U": "U", "D": "D"}


def test_a_load_without_operations_is_not_expected() -> None:
    target = hcl2.loads((MODULE / "target.tf").read_text("utf-8"), serialization_options=_AS_TEXT)
    endpoint = target["resource"][0]["aws_dms_s3_endpoint"]["target"]
    assert endpoint["include_op_for_full_load"] is True
    assert Change().load_without_op is False


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("public/orders/LOAD00000001.parquet", Kind.LOAD),
        ("public/orders/segment-01/LOAD00000001.parquet", Kind.LOAD),
        ("public/orders/2026/04/02/13/20260402-130412123.parquet", Kind.CDC),
    ],
)
def test_the_job_knows_the_layout_that_the_module_sets(key: str, kind: Kind) -> None:
    """Full load, segments of a parallel load, hour folders: target.tf and mappings.tf."""
    found = parse_key("public/orders/", key, 1, "etag")
    assert found is not None
    assert found.kind is kind


def test_the_job_passes_suspended_tables_over() -> None:
    assert parse_key("", "awsdms_suspended_tables/LOAD00000001.parquet", 1, "etag") is None
