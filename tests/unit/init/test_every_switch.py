"""`init` finds out of the files alone what the task was told, for every switch of the endpoint and its mapping rules."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from dms_emulator.files import BeforeImages, CsvShape, DateDelimiter, DatePartition, DateSequence, FileFormat, FileShape
from dms_emulator.from_config import file_shape
from dms_iceberg.config.model import Change
from dms_iceberg.config.orders import weaker_order
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml
from dms_iceberg.discover.proposal import Entry
from dms_iceberg.errors import ConfigError
from dms_iceberg.init.document import json_document, yaml_document
from dms_iceberg.init.finding import Found
from dms_iceberg.init.report import report
from dms_iceberg.init.role import Sure
from dms_iceberg.init.run import examine
from unit.init.emulated import LINES, ORDERS, Task

CSV = FileShape(format=FileFormat.CSV, csv=CsvShape(header=True))
JSON = FileShape(format=FileFormat.JSON)
WORDS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
NEITHER = {"timestamp_column": None, "sequence_column": None, "stream_position_column": None, "before_image_prefix": None}
SHAPES = {
    "parquet": FileShape(),
    "csv": CSV,
    "json": JSON,
    "json-without-nulls": attrs.evolve(JSON, json_nulls=False),
    "csv-gz": attrs.evolve(CSV, gzip=True),
    "json-gz": attrs.evolve(JSON, gzip=True),
    "parquet-gz": FileShape(gzip=True),
    "semicolons": attrs.evolve(CSV, csv=CsvShape(header=True, delimiter=";")),
    "pipes-unquoted": attrs.evolve(CSV, csv=CsvShape(header=True, delimiter="|", rfc4180=False)),
    "null-text": attrs.evolve(CSV, csv=CsvShape(header=True, null="NULL")),
    "words": attrs.evolve(CSV, op_words=WORDS, op_column="action"),
    "words-parquet": FileShape(op_words=WORDS),
    "other-names": FileShape(
        op_column="what", timestamp_column="ts", sequence_column="zz_seq", stream_position_column="lsn", before_image_prefix="old_"
    ),
    "timestamp-only": FileShape(sequence_column=None, stream_position_column=None, before_image_prefix=None),
    "timestamp-only-csv": attrs.evolve(CSV, sequence_column=None, stream_position_column=None, before_image_prefix=None),
    "sequence-only": FileShape(timestamp_column=None),
    "sequence-only-csv": attrs.evolve(CSV, timestamp_column=None),
    "neither": FileShape(**NEITHER),
    "neither-csv": attrs.evolve(CSV, **NEITHER),
    "neither-json": attrs.evolve(JSON, **NEITHER),
    "load-without-op": FileShape(op_on_full_load=False),
    "load-without-op-csv": attrs.evolve(CSV, op_on_full_load=False),
    "load-without-op-neither": attrs.evolve(CSV, op_on_full_load=False, **NEITHER),
    "all-images": FileShape(before_images=BeforeImages.ALL),
    "no-images": FileShape(before_image_prefix=None),
}
PARTITIONS = [None] + [DatePartition(sequence, delimiter) for sequence in DateSequence for delimiter in DateDelimiter]


def every(names: Any) -> Any:
    return names


def found_in(folder: Path) -> Found:
    return examine(str(folder), None, every)


def document_of(found: Found) -> dict[str, Any]:
    document = load_yaml(yaml_document(found, "silver"), "init.yaml")
    assert isinstance(document, dict)
    return document


def written(folder: Path, shape: FileShape, partition: DatePartition | None = None, *, key_only: bool = True) -> None:
    task = Task(folder, shape, partition, key_only)
    for layout in (ORDERS, LINES):
        task.load(layout)
    for minute in (1, 2, 4, 8):
        for layout in (ORDERS, LINES):
            task.changes(minute, layout, moved=minute == 4)


def without_what_documents_lack(shape: FileShape) -> FileShape:
    """Readers need not be told of the rest: it is in names and files."""
    csv = shape.csv if shape.format is FileFormat.CSV else CsvShape(header=True)
    return attrs.evolve(shape, before_images=BeforeImages.PK_ONLY, gzip=False, json_nulls=True, csv=csv)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("key_only", [True, False], ids=["postgres", "mysql"])
def test_the_shape_is_found(name: str, key_only: bool, tmp_path: Path) -> None:
    shape = SHAPES[name]
    written(tmp_path, shape, key_only=key_only)
    found = found_in(tmp_path)
    entries = {one.table: one for one in found.proposals if isinstance(one, Entry)}
    assert set(entries) == {"shop.orders", "shop.order_lines"}, found.proposals
    # The emulator's settings for the section are those with which the files were written.
    again = file_shape(found.bronze, op_on_full_load=not found.bronze.change.load_without_op)
    assert again == without_what_documents_lack(shape)
    assert entries["shop.orders"].key == ("order_id",)
    # Whole-row deletes and no before-images leave the names only.
    assert entries["shop.order_lines"].key == ("order_id", "line_no")


@pytest.mark.parametrize("name", SHAPES)
def test_the_document_is_valid_once_the_key_is_confirmed(name: str, tmp_path: Path) -> None:
    written(tmp_path, SHAPES[name])
    found = found_in(tmp_path)
    document = document_of(found)
    with pytest.raises(ConfigError) as refused:
        parse_config(document)
    assert [one.partition(": ")[0] for one in refused.value.problems if "key_confirmed" in one] == [
        'tables."shop.order_lines".key_confirmed',
        'tables."shop.orders".key_confirmed',
    ]
    for entry in document["tables"].values():
        del entry["key_confirmed"]
    assert ("modes 'history' and 'append', run --truncate" in report(found)) == parse_config(document).bronze.change.orders_by_file
    assert parse_config(document).bronze == attrs.evolve(found.bronze, csv=parse_config(document).bronze.csv)
    assert json.loads(json_document(found, "silver"))["bronze"] == document["bronze"]


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda one: "none" if one is None else f"{one.sequence}-{one.delimiter}")
def test_date_partitions(partition: DatePartition | None, tmp_path: Path) -> None:
    written(tmp_path, FileShape(), partition)
    found = found_in(tmp_path)
    assert [one.files.full_name for one in found.tables] == ["shop.order_lines", "shop.orders"]
    assert {len(one.files.changes) for one in found.tables} == {4}
    assert found.bronze.uri == str(tmp_path)


def test_all_is_certain_where_values_show_it(tmp_path: Path) -> None:
    written(tmp_path, FileShape())
    for one in found_in(tmp_path).tables:
        roles = one.roles  # type: ignore[union-attr]
        assert {roles.op.sure, roles.timestamp.sure, roles.sequence.sure, roles.stream.sure, one.images.sure} == {Sure.CERTAIN}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("parquet", "order: changes are ordered by the sequence. All promises hold"),
        ("timestamp-only", f"order: {weaker_order(Change(sequence_column=None))}"),
        ("neither", f"order: {weaker_order(Change(timestamp_column=None, sequence_column=None))}"),
        ("no-images", "no before-images: an update that changes a key leaves the old row"),
    ],
)
def test_promises_are_said(name: str, says: str, tmp_path: Path) -> None:
    written(tmp_path, SHAPES[name])
    assert says in report(found_in(tmp_path))
