"""`init` on folders with the rarer switches of a task, and with the habits of DMS: the document is valid and says the same."""

from pathlib import Path

import attrs
import pytest

from dms_emulator.files import BeforeImages, CsvShape, DateDelimiter, DatePartition, DateSequence, FileFormat, FileShape, cdc_key, encode
from dms_emulator.from_config import file_shape
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.finding import Found
from dms_iceberg.init.run import examine
from unit.init.emulated import CATALOG, LINES, ORDERS, Task, micros
from unit.init.test_every_switch import NEITHER, document_of, without_what_documents_lack

CSV = FileShape(format=FileFormat.CSV, csv=CsvShape(header=True))
JSON = FileShape(format=FileFormat.JSON)
HEADERLESS = FileShape(format=FileFormat.CSV, csv=CsvShape(header=False))


def look(folder: Path, catalog: Catalog | None = None) -> Found:
    return examine(str(folder), catalog, lambda names: names)


def confirmed(found: Found) -> Config:
    """The document, as it is once the keys are confirmed."""
    document = document_of(found)
    for entry in document["tables"].values():
        entry.pop("key_confirmed", None)
    return parse_config(document)


def fill(task: Task, minutes: tuple[float, ...] = (1, 2, 4, 8)) -> None:
    task.load(ORDERS)
    for minute in minutes:
        task.changes(minute, moved=minute == 4)


def check(found: Found, shape: FileShape) -> None:
    """The settings are those with which the files were written, and the document is valid."""
    (entry,) = (one for one in found.proposals if one.table == "shop.orders")
    assert isinstance(entry, Entry), entry
    assert entry.key == ("order_id",)
    config = confirmed(found)
    again = file_shape(config.bronze, op_on_full_load=not config.bronze.change.load_without_op)
    wanted = attrs.evolve(without_what_documents_lack(shape), timestamp_millis=False, json_numbers=False)
    assert attrs.evolve(again, csv=wanted.csv) == wanted
    if shape.format is FileFormat.CSV:
        assert again.csv == shape.csv


SHAPES = {
    "timestamps-in-millis": FileShape(timestamp_millis=True),
    "json-numbers": attrs.evolve(JSON, json_numbers=True),
    "json-numbers-without-nulls": attrs.evolve(JSON, json_numbers=True, json_nulls=False, gzip=True),
    "all-images-csv": attrs.evolve(CSV, before_images=BeforeImages.ALL),
    "all-images-json": attrs.evolve(JSON, before_images=BeforeImages.ALL),
    "tabs-and-backslash-n": attrs.evolve(CSV, csv=CsvShape(header=True, delimiter="\t", null="\\N"), gzip=True),
    "control-character": attrs.evolve(CSV, csv=CsvShape(header=True, delimiter="\x01", rfc4180=False)),
    "json-load-without-op": attrs.evolve(JSON, op_on_full_load=False, **NEITHER),
    "images-without-order": FileShape(timestamp_column=None, sequence_column=None, stream_position_column=None),
    "timestamp-and-images": attrs.evolve(CSV, sequence_column=None, stream_position_column=None),
    "no-stream-position": attrs.evolve(JSON, stream_position_column=None),
}
NAMELESS = {
    "plain": HEADERLESS,
    "gzip-semicolons": attrs.evolve(HEADERLESS, gzip=True, csv=CsvShape(header=False, delimiter=";", null="NULL")),
    "load-without-op": attrs.evolve(HEADERLESS, op_on_full_load=False),
    "load-without-op-neither": attrs.evolve(HEADERLESS, op_on_full_load=False, **NEITHER),
    "timestamp-only": attrs.evolve(HEADERLESS, sequence_column=None, stream_position_column=None, before_image_prefix=None),
    "words-without-quotes": attrs.evolve(
        HEADERLESS, op_words={"I": "INSERT", "U": "UPDATE", "D": "DELETE"}, csv=CsvShape(header=False, delimiter="|", rfc4180=False)
    ),
}
HABITS = ("resets", "repeats", "late", "empty", "control")


@pytest.mark.parametrize("name", SHAPES)
def test_rarer_shapes(name: str, tmp_path: Path) -> None:
    fill(Task(tmp_path, SHAPES[name], DatePartition(DateSequence.YYYYMM, DateDelimiter.DASH)))
    check(look(tmp_path), SHAPES[name])


@pytest.mark.parametrize("name", NAMELESS)
def test_files_without_names(name: str, tmp_path: Path) -> None:
    shape = NAMELESS[name]
    fill(Task(tmp_path, shape, DatePartition()))
    found = look(tmp_path, CATALOG)
    (entry,) = found.proposals
    assert isinstance(entry, Entry), entry
    assert entry.source_columns == tuple(column.name for column in ORDERS.columns)
    change = confirmed(found).bronze.change
    assert (change.timestamp_column is None, change.sequence_column is None) == (
        shape.timestamp_column is None,
        shape.sequence_column is None,
    )
    assert (change.before_image_prefix is None, change.stream_position_column is None) == (
        shape.before_image_prefix is None,
        shape.stream_position_column is None,
    )
    assert change.load_without_op is not shape.op_on_full_load
    csv = confirmed(found).bronze.csv
    assert CsvShape(header=csv.header, delimiter=csv.delimiter, rfc4180=csv.rfc4180, null=csv.null) == shape.csv


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("name", ["parquet", "csv", "json"])
def test_habits(habit: str, name: str, tmp_path: Path) -> None:
    shape = {"parquet": FileShape(), "csv": CSV, "json": JSON}[name]
    task = Task(tmp_path, shape, DatePartition())
    fill(task, (1, 2))
    match habit:
        case "resets":
            # A task that was created again counts from the beginning.
            task.sequence = type(task.sequence)()
            task.changes(4, moved=True)
        case "repeats":
            # After a restart the last changes come again, in a file with a later name.
            twice = sorted(tmp_path.rglob("20260301-*"))[-1]
            twice.with_name(f"20260301-103000000.{shape.extension}").write_bytes(twice.read_bytes())
        case "late":
            # Of hours ago, in a file that is closed now.
            late = sorted(tmp_path.rglob("20260301-*"))[0]
            late.rename(late.with_name(f"20260301-200000000.{shape.extension}"))
        case "empty":
            for key in ("LOAD00000000", "LOAD00000002", "20260301-095900000", "20260301-230000000"):
                folder = sorted(tmp_path.rglob("20260301-*"))[0].parent if key.startswith("2026") else tmp_path / "shop" / "orders"
                (folder / f"{key}.{shape.extension}").write_bytes(encode(ORDERS, [], shape, load=key.startswith("LOAD")))
        case "control":
            # They come before most schemas, and there is soon more than a page of a listing.
            data = encode(attrs.evolve(LINES, schema="", name="awsdms_status"), [], shape)
            for minute in range(1_100):
                path = tmp_path / cdc_key("", "awsdms_status", micros(5 * minute) // 1000, shape.extension)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    found = look(tmp_path)
    assert [one.files.full_name for one in found.tables] == ["shop.orders"]
    check(found, shape)


def test_transactions_beside_loaded_tables_are_refused(tmp_path: Path) -> None:
    """PreserveTransactions: LOAD files in the tables' folders, and no change of them ever comes there."""
    task = Task(tmp_path, CSV)
    task.load()
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "CDC_TXN-20260301100000000.csv").write_text("INSERT,orders,shop,1\n")
    with pytest.raises(BronzeError, match="PreserveTransactions"):
        look(tmp_path)
