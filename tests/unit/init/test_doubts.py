"""What contradicts, is doubtful or has changed half way is said with its reason, and never guessed."""

import datetime as dt
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_emulator.files import BeforeImages, CsvShape, FileFormat, FileShape
from dms_iceberg.config.model import BeforeImage
from dms_iceberg.discover.catalog import Catalog, Column, Identity, Index, Table
from dms_iceberg.discover.proposal import Entry, LeftOut
from dms_iceberg.dms.types import DmsType
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.document import forms, terraform_tables, yaml_document
from dms_iceberg.init.finding import Found
from dms_iceberg.init.report import report
from dms_iceberg.init.run import examine
from dms_iceberg.source.address import Engine
from unit.init.emulated import CATALOG, LINES, ORDERS, Task

NEITHER = {"timestamp_column": None, "sequence_column": None, "stream_position_column": None, "before_image_prefix": None}
CSV = FileShape(format=FileFormat.CSV, csv=CsvShape(header=True))
HEADERLESS = attrs.evolve(CSV, csv=CsvShape(header=False))


def look(folder: Path, catalog: Catalog | None = None) -> Found:
    return examine(str(folder), catalog, lambda names: names)


def only_entry(found: Found) -> Entry:
    (entry,) = found.proposals
    assert isinstance(entry, Entry), entry
    return entry


def only_reasons(found: Found) -> str:
    (left_out,) = found.proposals
    assert isinstance(left_out, LeftOut)
    return "\n".join(left_out.reasons)


def half_way(folder: Path, before: FileShape, after: FileShape, *, load: FileShape | None = None) -> None:
    """A task whose settings were changed after three change files."""
    task = Task(folder, load or before)
    task.load()
    for minute in range(1, 7):
        task.shape = before if minute < 4 else after
        task.changes(minute, moved=minute in (2, 5))


def test_a_sequence_that_was_added_half_way(tmp_path: Path) -> None:
    half_way(tmp_path, FileShape(sequence_column=None, stream_position_column=None), FileShape())
    found = look(tmp_path)
    assert found.bronze.change.sequence_column == "dms_change_seq"
    notes = "\n".join(only_entry(found).notes)
    assert "change files up to at least shop/orders/20260301-100400000.parquet (not shop/orders/20260301-100500000.parquet) have" in notes
    assert "no dms_change_seq: the order of their changes is the commit time" in notes
    assert "no dms_stream_position" in notes


def test_order_that_was_added_half_way_needs_a_new_epoch(tmp_path: Path) -> None:
    half_way(tmp_path, FileShape(**NEITHER), FileShape())
    reasons = only_reasons(look(tmp_path))
    assert "neither a sequence nor a commit time, and others have dms_change_seq and dms_commit_ts" in reasons
    assert "epoch-N" in reasons


def test_images_that_were_added_half_way(tmp_path: Path) -> None:
    half_way(tmp_path, FileShape(before_image_prefix=None), FileShape())
    found = look(tmp_path)
    assert found.bronze.change.before_image_prefix == "BI_"
    assert "no before-images: an update of a key there leaves the old row" in "\n".join(only_entry(found).notes)


def test_another_format_half_way(tmp_path: Path) -> None:
    half_way(tmp_path, CSV, FileShape(), load=CSV)
    assert "its files are csv and parquet: shop/orders/20260301-100500000.parquet is the first" in only_reasons(look(tmp_path))


def test_a_header_in_the_load_only(tmp_path: Path) -> None:
    half_way(tmp_path, HEADERLESS, HEADERLESS, load=CSV)
    reasons = only_reasons(look(tmp_path))
    assert "shop/orders/LOAD00000001.csv begins with a header and shop/orders/20260301-100200000.csv does not" in reasons
    assert "bronze.csv.header" in reasons


def test_changes_without_operation(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    task.load()
    path = tmp_path / task.changes(1)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["Op"]), path)
    assert "a delete cannot be told from an insert" in only_reasons(look(tmp_path))


def test_a_column_is_not_the_operation_because_of_its_name(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    path = tmp_path / task.changes(1)
    table = pq.read_table(path)
    names = ["action" if name == "Op" else "Op" if name == "customer" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), path)
    assert look(tmp_path).bronze.change.op_column == "action"


def test_a_time_of_the_source_is_no_commit_time(tmp_path: Path) -> None:
    """It stands where the commit time would: the task writes none."""
    layout = attrs.evolve(ORDERS, columns=(ORDERS.columns[3], *ORDERS.columns[:3], *ORDERS.columns[4:]))
    folder = tmp_path / "shop" / "orders"
    folder.mkdir(parents=True)
    days = [dt.datetime(2024, 1, 1) + dt.timedelta(days=number) for number in range(40)]
    header = "Op,placed,order_id,dms_change_seq\n"
    (folder / "LOAD00000001.csv").write_text(header + "".join(f"I,{day},{number},\n" for number, day in enumerate(days)))
    sequence = "2026030110000000" + "0" * 18
    (folder / "20260301-100100000.csv").write_text(header + f"U,2024-01-01 00:00:00,0,{sequence}1\nI,2026-03-01 09:00:00,99,{sequence}2\n")
    found = look(tmp_path)
    assert layout
    assert found.bronze.change.timestamp_column is None
    assert found.bronze.change.sequence_column == "dms_change_seq"
    notes = "\n".join(only_entry(found).notes)
    assert "placed stands where DMS writes the commit time, but its values in loaded rows are days apart" in notes


@pytest.mark.parametrize("others", [0, 2])
def test_a_fresh_time_of_the_source_beside_the_operation(others: int, tmp_path: Path) -> None:
    """Nothing in an append-only table's own files contradicts it; other tables do, as an endpoint gives the column to all or none."""
    folder = tmp_path / "shop" / "events"
    folder.mkdir(parents=True)
    header = "Op,created,event_id\n"
    (folder / "LOAD00000001.csv").write_text(header + "".join(f"I,2026-03-01 09:{n:02d}:00.000000,{n}\n" for n in range(30)))
    (folder / "20260301-101000000.csv").write_text(header + "".join(f"I,2026-03-01 10:0{n}:00.000000,{40 + n}\n" for n in range(9)))
    for number in range(others):
        task = Task(tmp_path, attrs.evolve(CSV, **NEITHER))
        layout = attrs.evolve(ORDERS, name=f"orders_{number}")
        task.load(layout)
        task.changes(1, layout)
    found = look(tmp_path)
    assert found.bronze.change.timestamp_column == (None if others else "created")
    assert all(isinstance(one, Entry) for one in found.proposals)
    if others:
        assert "created stands where DMS writes the commit time, and most other tables have no such column" in "".join(
            found.proposals[0].notes
        )  # type: ignore[union-attr]
    else:
        assert "created (likely): a time in every row" in report(found)
        assert "A time of the source could look like this" in report(found)


def test_a_time_that_is_not_that_of_the_sequence(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    for key in (task.load(), task.changes(1)):
        table = pq.read_table(tmp_path / key)
        pq.write_table(table.set_column(1, "dms_commit_ts", pa.array(["2026-02-27 08:00:00.000000"] * len(table))), tmp_path / key)
    found = look(tmp_path)
    assert found.bronze.change.timestamp_column is None
    assert "it is not the time in the sequence" in "\n".join(only_entry(found).notes)


@pytest.mark.parametrize(("sequence", "found"), [("dms_change_seq", "scn"), (None, None)])
def test_a_stream_position_that_is_only_a_number(sequence: str | None, found: str | None, tmp_path: Path) -> None:
    """As of Oracle. Behind the sequence only rules add columns; elsewhere it may be one of the source that came later."""
    task = Task(tmp_path, FileShape(sequence_column=sequence, stream_position_column="scn", before_image_prefix=None))
    task.load()
    path = tmp_path / task.changes(1)
    table = pq.read_table(path)
    numbers = pa.array([str(5_000_000 + number) for number in range(len(table))])
    pq.write_table(table.set_column(table.column_names.index("scn"), "scn", numbers), path)
    looked = look(tmp_path)
    assert looked.bronze.change.stream_position_column == found
    assert ("name it in bronze.change.stream_position_column" in report(looked)) is (found is None)


def test_a_column_that_is_named_like_an_image_and_is_none(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape(before_image_prefix=None))
    for key in (task.load(), task.changes(1)):
        table = pq.read_table(tmp_path / key)
        pq.write_table(table.append_column("BI_customer", table["customer"]), tmp_path / key)
    found = look(tmp_path)
    assert found.bronze.change.before_image_prefix is None
    entry = only_entry(found)
    assert "BI_customer has values in inserts, where nothing stood before" in "\n".join(entry.notes)
    assert [one.name for one in entry.declared] == ["BI_customer"]


def test_a_load_alone(tmp_path: Path) -> None:
    Task(tmp_path, FileShape()).load()
    found = look(tmp_path)
    assert only_entry(found).key == ("order_id",)
    assert "there are no change files with rows yet" in report(found)
    # Columns of which only changes show what they are.
    assert found.bronze.change.sequence_column is None
    assert found.bronze.change.timestamp_column == "dms_commit_ts"
    assert "order: not known yet, as there are no change files. The LOAD files have a commit time, dms_commit_ts" in report(found)


def test_a_load_alone_without_commit_time(tmp_path: Path) -> None:
    """Nothing may say that DMS writes no order: only changes show it, and a load keeps the one it has."""
    Task(tmp_path, FileShape(**NEITHER)).load()
    found = look(tmp_path)
    assert (found.bronze.change.timestamp_column, found.bronze.change.sequence_column) == (None, None)
    text = report(found)
    assert "DMS writes neither" not in text
    assert "order: not known yet, as there are no change files. The LOAD files have no commit time" in text
    assert "WARNING: there are no change files yet" in yaml_document(found, "silver")


def test_no_key_to_propose(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape(**NEITHER), key_only_deletes=False)
    for key in (task.load(), task.changes(1)):
        table = pq.read_table(tmp_path / key)
        pq.write_table(table.set_column(1, "order_id", pa.array([7] * len(table))), tmp_path / key)
    assert "no key can be proposed: no column that is named like a key is unique" in only_reasons(look(tmp_path))


def test_tables_that_one_document_cannot_have(tmp_path: Path) -> None:
    for layout, shape in ((ORDERS, FileShape()), (LINES, FileShape(**NEITHER))):
        task = Task(tmp_path, shape)
        task.load(layout)
        task.changes(1, layout)
        if layout is ORDERS:
            task.changes(2, attrs.evolve(ORDERS, name="more_orders"))
    more, lines, orders = look(tmp_path).proposals
    assert isinstance(lines, LeftOut)
    assert "init --table" in lines.reasons[0]
    assert isinstance(more, Entry)
    assert isinstance(orders, Entry)


def test_damaged_files_leave_their_table_out(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    (tmp_path / task.load()).write_bytes(b"PAR1 and nothing more")
    assert "it cannot be read as Parquet" in only_reasons(look(tmp_path))


def test_types_are_suggested_as_comments(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    key = task.load()
    table = pq.read_table(tmp_path / key)
    count = len(table)
    table = table.append_column("opens", pa.array([dt.time(8)] * count, pa.time32("ms")))
    table = table.append_column("amount", pa.array([1] * count, pa.uint64()))
    table = table.append_column("story", pa.array(["x" * 32768] * count))
    pq.write_table(table, tmp_path / key)
    found = look(tmp_path)
    entry = only_entry(found)
    text = yaml_document(found, "silver")
    assert {one.name: one.type for one in entry.suggested} == {"placed": "timestamp_ntz", "paid": "boolean"}
    assert '    #   - {name: "paid", type: "boolean"}' in text
    assert [name for name, _ in entry.dropped] == ["opens"]
    assert any("DMS has probably cut them (LobMaxSize)" in note for note in entry.notes)
    assert "unsigned: decimal(20,0) in silver" in text
    # A comment without its sign is a part of the document.
    import yaml

    lines = [line.replace("# ", "", 1) if line.startswith(("    # columns", "    #   -")) else line for line in text.split("\n")]
    declared = yaml.safe_load("\n".join(lines))["tables"]["shop.orders"]["columns"]
    assert {one["name"] for one in declared} == {"placed", "paid"}


TYPES = {"order_id": "bigint", "total": "decimal(12,2)", "placed": "timestamp_ntz", "paid": "boolean"}


@pytest.mark.parametrize("changes", [True, False], ids=["with-changes", "load-only"])
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("stamp", [True, False])
@pytest.mark.parametrize("sequence", [True, False])
@pytest.mark.parametrize("op", [True, False])
def test_headerless_files_get_the_names_of_the_catalog(
    changes: bool, images: bool, stamp: bool, sequence: bool, op: bool, tmp_path: Path
) -> None:
    absent = {"timestamp_column": stamp, "sequence_column": sequence, "stream_position_column": sequence, "before_image_prefix": images}
    task = Task(tmp_path, attrs.evolve(HEADERLESS, op_on_full_load=op, **{name: None for name, there in absent.items() if not there}))
    task.load()
    if changes:
        task.changes(1)
        task.changes(2, moved=True)
    found = look(tmp_path, CATALOG)
    if not changes and (images or sequence):
        # The empty columns at the end may be several things.
        assert "no combination of operation" in only_reasons(found) or "Run init again" in only_reasons(found)
        return
    entry = only_entry(found)
    assert entry.source_columns == tuple(column.name for column in CATALOG.tables[0].columns)
    assert (entry.key, entry.key_confirmed) == (("order_id",), True)
    assert {one.name: one.type for one in entry.declared} == TYPES
    change = found.bronze.change
    assert found.bronze.csv.header is False
    assert (change.timestamp_column is not None, change.sequence_column is not None, change.before_image_prefix is not None) == (
        stamp,
        sequence,
        images,
    )
    assert change.load_without_op is not op
    assert "tables of the source without files, as of empty or excluded ones: shop.empty" in report(found)


def test_a_time_that_the_catalog_has_is_no_commit_time(tmp_path: Path) -> None:
    """It stands beside the operation and rises: without the catalog nothing would contradict it."""
    columns = (
        Column(name="created", type="timestamptz", shown="timestamp with time zone", nullable=False, dms=DmsType.parse("datetime")),
        Column(name="id", type="int8", shown="bigint", nullable=False, dms=DmsType.parse("int8")),
    )
    key = (Index(name="events_pkey", columns=("id",), primary=True),)
    table = Table(schema="shop", name="events", identity=Identity.PRIMARY_KEY, columns=columns, unique=key)
    folder = tmp_path / "shop" / "events"
    folder.mkdir(parents=True)
    (folder / "LOAD00000001.csv").write_text("".join(f"2026-03-01 09:{n:02d}:00.000000,{n}\n" for n in range(30)))
    (folder / "20260301-101000000.csv").write_text("".join(f"I,2026-03-01 10:0{n}:00.000000,{40 + n}\n" for n in range(9)))
    found = look(tmp_path, Catalog(engine=Engine.POSTGRESQL, database="shop", tables=(table,)))
    assert found.bronze.change.timestamp_column is None
    assert only_entry(found).source_columns == ("created", "id")


def test_names_in_another_case_are_those_of_the_catalog(tmp_path: Path) -> None:
    """As by a mapping rule that converts them."""
    task = Task(tmp_path, FileShape())
    path = tmp_path / task.load()
    table = pq.read_table(path)
    pq.write_table(table.rename_columns([name.upper() if name == "order_id" else name for name in table.column_names]), path)
    assert only_entry(look(tmp_path, CATALOG)).key == ("order_id",)


def test_a_text_of_their_own_for_null(tmp_path: Path) -> None:
    task = Task(tmp_path, attrs.evolve(CSV, csv=CsvShape(header=True, null="~nothing~")))
    task.load()
    task.changes(1)
    task.changes(2)
    found = look(tmp_path)
    assert found.bronze.csv.null == "~nothing~"
    assert found.bronze.change.before_image_prefix == "BI_"
    assert only_entry(found).key == ("order_id",)


def test_transactions_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "CDC_TXN-20260301100000000.csv").write_text("INSERT,orders,shop,1\n")
    with pytest.raises(BronzeError, match="PreserveTransactions"):
        look(tmp_path)


def test_decimal_commas_are_no_delimiters(tmp_path: Path) -> None:
    folder = tmp_path / "shop" / "orders"
    folder.mkdir(parents=True)
    (folder / "LOAD00000001.csv").write_text("Op;id;a,b,c\n" + "".join(f"I;{n};1,5,{n},9\n" for n in range(9)))
    (folder / "20260301-101000000.csv").write_text("Op;id;a,b,c\nU;1;1,5,1,9\n")
    assert look(tmp_path).bronze.csv.delimiter == ";"


def test_headerless_files_of_two_widths(tmp_path: Path) -> None:
    half_way(tmp_path, HEADERLESS, attrs.evolve(HEADERLESS, sequence_column=None))
    assert "rows of 9, 10 columns" in only_reasons(look(tmp_path, CATALOG))


@pytest.mark.parametrize("back", [False, True], ids=["switched on", "switched off"])
@pytest.mark.parametrize("images", BeforeImages)
@pytest.mark.parametrize("op", [True, False])
def test_headerless_files_of_a_task_whose_before_images_were_switched_half_way(
    tmp_path: Path, op: bool, images: BeforeImages, back: bool
) -> None:
    bare = attrs.evolve(HEADERLESS, before_image_prefix=None, op_on_full_load=op)
    later = attrs.evolve(HEADERLESS, before_images=images, op_on_full_load=op)
    half_way(tmp_path, *((later, bare) if back else (bare, later)))
    found = look(tmp_path, CATALOG)
    entry = only_entry(found)
    assert entry.source_columns == tuple(column.name for column in CATALOG.tables[0].columns)
    assert (found.bronze.change.before_image_prefix, found.bronze.change.before_image) == ("BI_", BeforeImage.OPTIONAL)
    assert any("no before-images: an update of a key there leaves the old row" in note for note in entry.notes)
    assert forms(found.bronze)["change"]["before_image"] == "optional"


def test_one_headerless_table_whose_files_all_lack_before_images(tmp_path: Path) -> None:
    bare = attrs.evolve(HEADERLESS, before_image_prefix=None)
    task = Task(tmp_path, bare)
    task.load()
    task.load(LINES)
    task.changes(1, LINES)
    task.shape = HEADERLESS
    task.changes(2, moved=True)
    columns = tuple(Column(name=one.name, type="text", shown="text", nullable=False, dms=one.type) for one in LINES.columns)
    key = (Index(name="lines_pkey", columns=("order_id", "line_no"), primary=True),)
    lines = Table(schema="shop", name="order_lines", identity=Identity.PRIMARY_KEY, columns=columns, unique=key)
    found = look(tmp_path, attrs.evolve(CATALOG, tables=(CATALOG.tables[0], lines)))
    assert [type(one) for one in found.proposals] == [Entry, Entry]
    assert found.bronze.change.before_image is BeforeImage.OPTIONAL


def test_headerless_files_whose_before_images_were_switched_without_a_sequence(tmp_path: Path) -> None:
    bare = attrs.evolve(HEADERLESS, before_image_prefix=None, sequence_column=None, stream_position_column=None)
    half_way(tmp_path, bare, attrs.evolve(bare, before_image_prefix="BI_"))
    assert "rows of 7, 8 columns" in only_reasons(look(tmp_path, CATALOG))


def test_headerless_files_without_a_catalog(tmp_path: Path) -> None:
    half_way(tmp_path, HEADERLESS, HEADERLESS)
    assert "do not say what their columns are called. Give --source" in only_reasons(look(tmp_path))


def test_parquet_with_a_catalog(tmp_path: Path) -> None:
    half_way(tmp_path, FileShape(), FileShape())
    entry = only_entry(look(tmp_path, CATALOG))
    # Parquet has types, but for the boolean that this task writes as text.
    assert {one.name: one.type for one in entry.declared} == {"placed": "timestamp_ntz", "paid": "boolean"}
    assert entry.key_confirmed


def test_a_catalog_that_the_files_contradict(tmp_path: Path) -> None:
    task = Task(tmp_path, FileShape())
    path = tmp_path / task.load()
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "order_id", pa.array([7] * len(table))), path)
    assert "order_id has a value twice in shop/orders/LOAD00000001.parquet" in "\n".join(only_entry(look(tmp_path, CATALOG)).notes)
    pq.write_table(table.rename_columns(["number" if name == "order_id" else name for name in table.column_names]), path)
    assert "these are not files of that table" in only_reasons(look(tmp_path, CATALOG))


def test_terraform(tmp_path: Path) -> None:
    half_way(tmp_path, FileShape(), FileShape())
    text = terraform_tables(look(tmp_path), None)
    assert '    key           = ["order_id"]\n    key_confirmed = false\n' in text
    assert '"timestamp_column": "dms_commit_ts"' in text


def test_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(BronzeError, match="no file with a name that DMS gives"):
        look(tmp_path)
    (tmp_path / "shop" / "orders").mkdir(parents=True)
    (tmp_path / "shop" / "orders" / "notes.txt").write_text("no")
    with pytest.raises(BronzeError, match="no file with a name that DMS gives"):
        look(tmp_path)
