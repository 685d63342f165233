"""A column of the source that looks like one of DMS stays a column of the source, unless the values prove the other."""

import io
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_iceberg.discover.proposal import Entry, LeftOut
from dms_iceberg.init.finding import Found
from dms_iceberg.init.report import report
from dms_iceberg.init.run import examine

AT = "2026-03-01 10:00:00.000000"


def sequence(number: int) -> str:
    return f"2026030110000000{number:019d}"


def write(root: Path, files: Mapping[str, str | bytes], folder: str = "shop/orders") -> None:
    """Files of a table; a text has one line per word, as none has a blank in it but times, whose blank is ``_``."""
    for name, text in files.items():
        path = root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else "".join(f"{line.replace('~', ' ')}\n" for line in text.split()).encode())


def parquet(types: Mapping[str, pa.DataType], *rows: tuple[object, ...]) -> bytes:
    schema = pa.schema(list(types.items()))
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(types)}, schema=schema)
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


def look(folder: Path) -> Found:
    return examine(str(folder), None, lambda names: names)


def notes(found: Found) -> str:
    return "\n".join(note for one in found.proposals if isinstance(one, Entry) for note in one.notes)


def images(found: Found) -> tuple[str | None, str | None]:
    return found.bronze.change.before_image_prefix, found.bronze.change.before_image_suffix


LOADED = "2026-03-01 09:00:00.000000"


@pytest.mark.parametrize("name", ["replaced_by_id", "duplicate_of_id", "paid", "id_2", "BI_id"])
@pytest.mark.parametrize("ordered", ["in-front-of-the-sequence", "without-sequence", "behind-the-sequence"])
def test_a_reference_to_another_row_is_no_before_image(name: str, ordered: str, tmp_path: Path) -> None:
    number, text = pa.int64(), pa.string()
    own = {"id": number, "title": text}
    types = {"Op": text, "ts": text, **own, name: number, "seq": text}
    if ordered == "behind-the-sequence":
        types = {"Op": text, "ts": text, **own, "seq": text, name: number}
    rows = [("I", LOADED, 1, "pen", None), ("I", LOADED, 2, "ink", None), ("I", LOADED, 3, "cap", None)]
    changes = [("I", AT, 4, "pen2", None, 1), ("U", AT, 1, "pen", 4, 2), ("D", AT, 3, None, None, 3)]

    def row(op: str, at: str, key: int, title: str | None, other: int | None, seq: int = 0) -> tuple[object, ...]:
        values = {"Op": op, "ts": at, "id": key, "title": title, name: other, "seq": sequence(seq) if seq else None}
        return tuple(values[one] for one in types if one in values)

    if ordered == "without-sequence":
        types = {one: type_ for one, type_ in types.items() if one != "seq"}
    load = parquet(types, *[row(*one) for one in rows])  # type: ignore[arg-type]
    write(tmp_path, {"LOAD00000001.parquet": load, "20260301-100001000.parquet": parquet(types, *[row(*one) for one in changes])})  # type: ignore[arg-type]
    found = look(tmp_path)
    if name == "BI_id" and ordered != "in-front-of-the-sequence":
        # A swap of keys would look the same, so it is asked about.
        assert images(found) == ("BI_", None)
        assert found.tables[0].images.sure == "doubtful"  # type: ignore[union-attr]
        assert "to decide: BI_id is taken for a before-image" in notes(found)
        assert "updates have earlier values" not in report(found)
        return
    assert images(found) == (None, None)
    (table,) = found.tables
    assert name in table.columns  # type: ignore[union-attr]
    assert f"{name} is named like a before-image" in notes(found) or ordered == "in-front-of-the-sequence"


@pytest.mark.parametrize("last", ["street_2", "nickname"])
def test_a_second_column_of_the_same_kind_is_no_before_image(last: str, tmp_path: Path) -> None:
    first = {"street_2": "street", "nickname": "name"}[last]
    head = f"Op,ts,id,{first},{last},seq"
    load = f"{head} I,2026-03-01~09:00:00.000000,1,Ann,, I,2026-03-01~09:00:00.000000,2,Bob,,"
    at = AT.replace(" ", "~")
    write(
        tmp_path, {"LOAD00000001.csv": load, "20260301-100001000.csv": f"{head} U,{at},1,Ann,Annie,{sequence(1)} D,{at},2,,,{sequence(2)}"}
    )
    found = look(tmp_path)
    assert images(found) == (None, None)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("column", "affix"), [("prior_id", ("prior_", None)), ("id_before", (None, "_before"))])
def test_an_affix_of_ones_own_is_found_by_moved_keys(ordered: bool, column: str, affix: tuple[str, str], tmp_path: Path) -> None:
    seq = ",seq" if ordered else ""
    head = f"Op,ts,id,title{seq},{column}"

    def at(number: int) -> str:
        return f",{sequence(number)}" if ordered else ""

    load = f"{head} I,{LOADED.replace(' ', '~')},1,pen{seq and ','}, I,{LOADED.replace(' ', '~')},2,ink{seq and ','},"
    time = AT.replace(" ", "~")
    change = f"{head} I,{time},3,cap{at(1)}, U,{time},7,pen{at(2)},1 U,{time},2,inks{at(3)}, D,{time},7,{at(4)},"
    write(tmp_path, {"LOAD00000001.csv": load, "20260301-100001000.csv": change})
    assert images(look(tmp_path)) == affix


@pytest.mark.parametrize("stays", [True, False])
def test_images_of_all_columns_are_what_the_row_was(stays: bool, tmp_path: Path) -> None:
    """Unlike copies of another row's columns (``parent_id``, ``parent_title``)."""
    head = "Op,ts,id,title,seq,was_id,was_title"
    load = f"{head} I,{LOADED.replace(' ', '~')},1,pen,,, I,{LOADED.replace(' ', '~')},2,ink,,,"
    old = "1,pen" if stays else "2,ink"
    change = f"{head} U,{AT.replace(' ', '~')},1,pens,{sequence(1)},{old}"
    write(tmp_path, {"LOAD00000001.csv": load, "20260301-100001000.csv": change})
    assert images(look(tmp_path)) == (("was_", None) if stays else (None, None))


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_season_is_no_position_in_a_log(load: bool, ordered: bool, tmp_path: Path) -> None:
    """It looks like one of PostgreSQL; as a column that came later it has nothing in loaded rows."""
    first, second, third = (f",{sequence(number)}" if ordered else "" for number in (1, 2, 3))
    head = f"Op,id,home,season{',seq' if ordered else ''}"
    if load:
        write(tmp_path, {"LOAD00000001.csv": f"{head} I,7,A,{first and ','} I,8,B,{first and ','}"})
    write(tmp_path, {"20260301-100001000.csv": f"{head} I,1,A,2025/2026{first} I,2,B,2025/2026{second}"})
    write(tmp_path, {"20260301-110001000.csv": f"{head} U,1,C,2026/2027{third}"})
    found = look(tmp_path)
    assert found.bronze.change.stream_position_column is None
    assert "season" in found.tables[0].columns  # type: ignore[union-attr]
    assert "season has a value in every change and in no loaded row" in notes(found)


USERS = "Op,id,name,blocked,vip,seq I,1,Ann,N,N, I,2,Bob,N,Y, I,3,Cid,Y,N,"


@pytest.mark.parametrize("deletes", [1, 3])
def test_a_usual_value_of_deletes_is_not_null(deletes: int, tmp_path: Path) -> None:
    """A delete of MySQL has the whole row."""
    rows = " ".join(f"D,{number},{name},N,N,{sequence(number)}" for number, name in ((3, "Cid"), (4, "Dan"), (5, "Eve"))[:deletes])
    write(tmp_path, {"LOAD00000001.csv": USERS, "20260301-100001000.csv": f"Op,id,name,blocked,vip,seq U,1,Anna,N,N,{sequence(1)} {rows}"})
    found = look(tmp_path)
    assert found.bronze.csv.null == ""
    # The whole row of a single delete may be anybody's.
    shown = "'N'" if deletes > 1 else "one text"
    assert f"all sampled deletes of shop/orders have {shown} in the same columns" in "\n".join(found.about)


@pytest.mark.parametrize(
    ("other", "null"), [("", "nil"), ("Op,id,answer,seq I,1,yes, I,2,nil,", ""), ("Op,id,answer,seq I,1,5, I,2,nil,", "nil")]
)
def test_a_text_of_ones_own_is_null_where_no_value_can_be(other: str, null: str, tmp_path: Path) -> None:
    head = "Op,id,name,amount,seq"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,1,pen,5, I,2,ink,6,"})
    write(tmp_path, {"20260301-100001000.csv": f"{head} D,1,nil,nil,{sequence(1)} D,2,nil,nil,{sequence(2)}"})
    if other:
        write(tmp_path, {"LOAD00000001.csv": other}, "shop/answers")
    assert look(tmp_path).bronze.csv.null == null


@pytest.mark.parametrize(("amounts", "null"), [(",5", ""), ("NULL,5", "NULL")])
def test_a_usual_text_among_numbers_is_a_value_where_empty_fields_are_null(amounts: str, null: str, tmp_path: Path) -> None:
    first, second = amounts.split(",")
    head = "Op,id,house,amount,note,seq"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,1,12,{first},, I,2,14b,{second},x, I,3,NULL,7,x,"})
    write(tmp_path, {"20260301-100001000.csv": f"{head} U,1,12,{second},,{sequence(1)} I,4,7,,,{sequence(2)}"})
    found = look(tmp_path)
    assert found.bronze.csv.null == null
    assert "write it into bronze.csv.null before the first run" in "\n".join(found.about) or null
    assert "only NULL explains it" not in "\n".join(found.about) or null


@pytest.mark.parametrize("changes", ["D,1,NULL,NULL,NULL D,2,NULL,NULL,NULL D,3,NULL,NULL,NULL", "U,1,,12345,NULL U,2,5550100,,7.5"])
def test_null_that_changes_show_outweighs_empty_telephones(changes: str, tmp_path: Path) -> None:
    head = "Op,id,phone,zip,amount"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,1,,12345,5.5 I,2,5550100,,7.25 I,3,5550101,12346,9.1"})
    write(tmp_path, {"20260301-100001000.csv": f"{head} {changes}"})
    assert look(tmp_path).bronze.csv.null == "NULL"


def test_empty_codes_are_texts_where_a_usual_text_is_null(tmp_path: Path) -> None:
    head = "Op,id,zip,phone,amount,seq"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,1,01234,,NULL, I,2,,0123,5, I,3,,,7,"})
    write(tmp_path, {"20260301-100001000.csv": f"{head} U,1,,,NULL,{sequence(1)}"})
    assert look(tmp_path).bronze.csv.null == "NULL"


def day(time: str) -> str:
    return f"2026-03-01~{time}:00"


OWN_TIMES = {
    "a-step-back": ["U,{0930},2,oops U,{0900},2,right I,{0950},3,c D,{0950},3,c"],
    "whole-deletes": ["I,{1000},3,c", "U,{0810},2,bb", "D,{0800},1,a"],
    "key-only-deletes-of-a-key-with-time": ["I,{1000},3,c", "D,{0800},1,"],
}


@pytest.mark.parametrize("name", OWN_TIMES)
def test_a_time_of_the_source_that_its_changes_contradict(name: str, tmp_path: Path) -> None:
    head = "Op,valid_from,id,v"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,{day('08:00')},1,a I,{day('08:10')},2,b"})
    times = {text.replace(":", ""): day(text) for text in ("09:30", "09:00", "09:50", "10:00", "08:10", "08:00")}
    for number, changes in enumerate(OWN_TIMES[name]):
        for digits, time in times.items():
            changes = changes.replace(f"{{{digits}}}", time)
        write(tmp_path, {f"20260301-1{number}0001000.csv": f"{head} {changes}"})
    found = look(tmp_path)
    assert found.bronze.change.timestamp_column is None
    assert "valid_from" in found.tables[0].columns  # type: ignore[union-attr]
    assert "valid_from stands where DMS writes the commit time, but" in notes(found)
    assert "name it in bronze.change.timestamp_column before the first run" in notes(found)


@pytest.mark.parametrize(("deletes", "sure"), [("D,{},1,a", "likely"), ("D,{},1,", "certain"), ("", "likely")])
@pytest.mark.parametrize("ordered", [True, False])
def test_what_shows_a_commit_time(deletes: str, sure: str, ordered: bool, tmp_path: Path) -> None:
    """A time of the source is in a whole delete as it was in the row; only where rows were not sampled it may be another."""
    seq = ",seq" if ordered else ""
    head = f"Op,ts,id,v{seq}"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,{day('08:00')},1,a{seq and ','} I,{day('08:10')},2,b{seq and ','}"})
    delete = f" {deletes.format(day('10:00'))}{f',{sequence(2)}' if ordered else ''}" if deletes else ""
    write(tmp_path, {"20260301-100001000.csv": f"{head} U,{day('10:00')},2,c{f',{sequence(1)}' if ordered else ''}{delete}"})
    found = look(tmp_path)
    time = found.tables[0].roles.timestamp  # type: ignore[union-attr]
    assert (time.name, time.sure) == ("ts", "certain" if ordered and deletes else sure)
    assert ("to decide: ts is taken for the commit time" in notes(found)) is (time.sure == "likely")


def test_a_column_with_other_words_in_loaded_rows_is_no_operation(tmp_path: Path) -> None:
    """As with CdcInsertsOnly, where no file has the operation."""
    write(tmp_path, {"LOAD00000001.csv": "kind,id,v I,1,a U,2,b D,3,c", "20260301-100001000.csv": "kind,id,v I,4,c D,5,x"})
    (left_out,) = look(tmp_path).proposals
    assert isinstance(left_out, LeftOut)
    assert "a delete cannot be told from an insert" in left_out.reasons[0]


@pytest.mark.parametrize("seen", [True, False])
def test_a_key_with_what_may_be_the_commit_time_is_doubtful(seen: bool, tmp_path: Path) -> None:
    """Deletes that have the commit time beside the key look like those of a key with a time. As a key, every change would be a row.

    Changes of rows that were seen before, at another time, show it.
    """
    head = "Op,code,changed_at,flag"
    changed, deleted = ("007", "07") if seen else ("8", "08")
    write(
        tmp_path,
        {
            "LOAD00000001.csv": f"{head}\nI,007,2026-03-01~09:00:00,a\nI,07,2026-03-01~09:00:00,b\nI,7,2026-03-01~09:00:00,c",
            "20260301-100000000.csv": f"{head}\nU,{changed},2026-03-01~09:59:59,d\nD,{deleted},2026-03-01~09:59:59,",
        },
    )
    found = look(tmp_path)
    (entry,) = [one for one in found.proposals if isinstance(one, Entry)]
    said = report(found)
    if seen:
        assert entry.key == ("code",)
        assert "key code (doubtful)" in said
        assert "without changed_at, which changes while a row stays" in said
        return
    assert entry.key == ("code", "changed_at")
    assert "key code, changed_at (doubtful)" in said
    assert "changed_at has a time in every row: a commit time would not be part of the key" in said


@pytest.mark.parametrize("changes", [True, False])
def test_a_column_of_the_source_named_like_the_commit_time_of_others(changes: bool, tmp_path: Path) -> None:
    """Without TimestampColumnName the first column of events may look like it. That of other tables would be lost."""
    for table in ("clicks", "views"):
        head = "Op,created_at,id,seq"
        change = f"{head} I,2026-03-01~10:00:00,3,{sequence(1)}"
        load = f"{head} I,{day('08:00')},1, I,{day('08:10')},2,"
        write(tmp_path, {"LOAD00000001.csv": load, "20260301-100001000.csv": change}, f"shop/{table}")
    head = "Op,id,name,created_at,seq"
    write(tmp_path, {"LOAD00000001.csv": f"{head} I,1,pen,2021-03-01~09:00:00, I,2,ink,2021-03-02~09:00:00,"})
    if changes:
        write(tmp_path, {"20260301-100001000.csv": f"{head} U,1,pens,2021-03-01~09:00:00,{sequence(2)}"})
    found = look(tmp_path)
    assert found.bronze.change.timestamp_column == "created_at"
    (left_out,) = (one for one in found.proposals if one.table == "shop.orders")
    assert isinstance(left_out, LeftOut)
    assert "its column created_at is one of the source, and most tables have their timestamp_column there" in left_out.reasons[0]
