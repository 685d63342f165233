"""Which columns a CSV file without a header has: those that the document names, or it is refused with what was found."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.csv_shapes import expected_columns, further_rows
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.config.model import BeforeImage, Bronze, BronzeFormat, Change, Column, Csv, Table
from dms_iceberg.errors import BronzeError
from unit.bronze.stored_file import CDC, LOAD, TABLE, stored

SEQUENCE = "20260301100100000000000000000000061"
TIME = "2026-03-01 10:00:00.000000"
HEADERLESS = Bronze(uri="x", format=BronzeFormat.CSV, csv=Csv(header=False))
ALL = ["Op", "dms_commit_ts", "id", "v", "dms_change_seq", "dms_stream_position", "BI_id"]
LOADED, CHANGED = f"I,{TIME},1,a,,,", f"U,{TIME},1,a,{SEQUENCE},0/16B3748,"


def names_of(folder: Path, lines: Sequence[str], bronze: Bronze = HEADERLESS, table: Table = TABLE, name: str = CDC) -> list[str]:
    store, file = stored(folder, "".join(f"{line}\n" for line in lines).encode(), name)
    (group,) = inspect(store, [file], bronze, table)
    return list(group.names)


def test_columns_of_a_file_without_header(tmp_path: Path) -> None:
    assert names_of(tmp_path, [CHANGED]) == ALL
    assert names_of(tmp_path, [LOADED], name=LOAD) == ALL
    bare = attrs.evolve(HEADERLESS, change=Change(load_without_op=True, sequence_column=None, stream_position_column=None))
    assert names_of(tmp_path, [f"{TIME},1,a,"], bare, name=LOAD) == ["dms_commit_ts", "id", "v", "BI_id"]
    assert names_of(tmp_path, [f"U,{TIME},1,a,2"], bare) == ["Op", "dms_commit_ts", "id", "v", "BI_id"]


@pytest.mark.parametrize("header", ["id,v", "V,ID"])
def test_a_header_is_no_row_of_a_load_without_operations(tmp_path: Path, header: str) -> None:
    """Every row of such a file is an insert, so the header would be one."""
    neither = Change(
        load_without_op=True, timestamp_column=None, sequence_column=None, stream_position_column=None, before_image_prefix=None
    )
    bare = attrs.evolve(HEADERLESS, change=neither)
    with pytest.raises(BronzeError, match=r"its first row has the names of the source columns.*bronze\.csv\.header to true"):
        names_of(tmp_path, [header, "1,a", "2,b"], bare, name=LOAD)
    assert names_of(tmp_path, ["id,a", "2,b"], bare, name=LOAD) == ["id", "v"]


def test_before_images_stand_in_the_order_of_the_source_columns(tmp_path: Path) -> None:
    table = attrs.evolve(TABLE, key=("b", "A"), source_columns=("a", "v", "b"))
    assert names_of(tmp_path, [f"U,{TIME},1,v,2,{SEQUENCE},0/16,1,3"], table=table)[-2:] == ["BI_A", "BI_b"]


def test_before_images_may_be_of_all_columns_where_a_sequence_shows_that_no_column_is_new(tmp_path: Path) -> None:
    images = [*ALL, "BI_v"]
    assert names_of(tmp_path, [f"{CHANGED},b", f"U,{TIME},1,a,{SEQUENCE},0/16,2,b"]) == images
    assert names_of(tmp_path, [f"{LOADED},"], name=LOAD) == images
    for new in (f"U,{TIME},1,a,new,{SEQUENCE},0/16,2", f"I,{TIME},1,a,{SEQUENCE},0/16,,b"):
        with pytest.raises(BronzeError, match="cannot be what stands there"):
            names_of(tmp_path, [new])
    bare = attrs.evolve(HEADERLESS, change=Change(sequence_column=None, stream_position_column=None))
    with pytest.raises(BronzeError, match="6 columns, but the document names 5"):
        names_of(tmp_path, [f"U,{TIME},1,a,new,2"], bare)


OPTIONAL = attrs.evolve(HEADERLESS, change=Change(before_image=BeforeImage.OPTIONAL))
BARE = f"U,{TIME},1,a,{SEQUENCE},0/16B3748"


def test_before_images_that_may_be_absent_are_there_or_not_by_whole_files(tmp_path: Path) -> None:
    for lines, name, expected in (
        ([BARE], CDC, ALL[:-1]),
        ([LOADED[:-1]], LOAD, ALL[:-1]),
        ([CHANGED], CDC, ALL),
        ([LOADED], LOAD, ALL),
        ([f"{CHANGED},b"], CDC, [*ALL, "BI_v"]),
        # One odd row is judged by itself, later.
        ([BARE, BARE, CHANGED], CDC, ALL[:-1]),
        ([CHANGED, CHANGED, BARE], CDC, ALL),
    ):
        assert names_of(tmp_path, lines, OPTIONAL, name=name) == expected


@pytest.mark.parametrize(
    ("lines", "name", "says"),
    [
        pytest.param([f"U,{TIME},1,{SEQUENCE},0/16,1"], CDC, "dms_change_seq of public.t cannot be", id="a column dropped, and images"),
        pytest.param([f"U,{TIME},1,a,new,{SEQUENCE},0/16"], CDC, "dms_change_seq, dms_stream_position of public.t", id="a column added"),
        pytest.param(
            [f"U,{TIME},1,a,new,{SEQUENCE},0/16,2"], CDC, "dms_change_seq, dms_stream_position of", id="a column added, and images"
        ),
        pytest.param([f"I,{TIME},1,{SEQUENCE},0/16"], CDC, "5 columns, but the document names 7", id="a column dropped"),
        pytest.param([f"I,{TIME},1,a,b,c,,,"], LOAD, "9 columns, but the document names 7", id="two columns added"),
        pytest.param([f"I,{TIME},1,a,new,,"], LOAD, "dms_change_seq of public.t cannot be", id="a column added to a load"),
    ],
)
def test_what_fits_neither_with_nor_without_before_images_is_refused(tmp_path: Path, lines: list[str], name: str, says: str) -> None:
    with pytest.raises(BronzeError, match=says) as caught:
        names_of(tmp_path, lines, OPTIONAL, name=name)
    if "columns, but" in says:
        assert "or 6 without before-images, as bronze.change.before_image is 'optional'" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "lines", "name", "says"),
    [
        (Change(), [BARE], CDC, "none in others, set bronze.change.before_image to 'optional'. "),
        (Change(), [LOADED[:-1]], LOAD, "none in others, set bronze.change.before_image to 'optional'. "),
        (Change(before_image_prefix=None), [CHANGED], CDC, "none in others, set bronze.change.before_image_prefix to 'BI_' (or to the one"),
        (Change(before_image_prefix=None), [f"{CHANGED},b"], CDC, "mapping rule) and bronze.change.before_image to 'optional'. "),
    ],
)
def test_a_file_from_the_other_side_of_the_switch_names_the_way_out(
    tmp_path: Path, change: Change, lines: list[str], name: str, says: str
) -> None:
    with pytest.raises(BronzeError) as caught:
        names_of(tmp_path, lines, attrs.evolve(HEADERLESS, change=change), name=name)
    assert says in str(caught.value)
    allowed = attrs.evolve(change, before_image_prefix="BI_", before_image=BeforeImage.OPTIONAL)
    assert names_of(tmp_path, lines, attrs.evolve(HEADERLESS, change=allowed), name=name)[:6] == ALL[:6]


def test_without_a_sequence_nothing_is_said_of_before_images_that_are_absent(tmp_path: Path) -> None:
    """A dropped column would look like them."""
    with pytest.raises(BronzeError) as caught:
        names_of(tmp_path, [f"U,{TIME},1,a"], attrs.evolve(HEADERLESS, change=Change(sequence_column=None, stream_position_column=None)))
    assert "before_image to" not in str(caught.value)


@pytest.mark.parametrize(
    "position", ["0/16B3748", "mysql-bin-changelog.000024:373", "1837465", "00000a3c:00000e10:0003", "checkpoint:V1#27#x:1#*#0", ""]
)
def test_positions_in_a_log_are_known_in_many_forms(tmp_path: Path, position: str) -> None:
    assert names_of(tmp_path, [f"U,{TIME},1,a,{SEQUENCE},{position},"]) == ALL


@pytest.mark.parametrize("position", ["ada2@example.org", "Lima", "2026-03-01", TIME, SEQUENCE, '"a""1"'])
def test_what_is_no_position_in_a_log_refuses_the_file(tmp_path: Path, position: str) -> None:
    with pytest.raises(BronzeError, match=r"dms_stream_position of public\.t cannot be what stands there") as caught:
        names_of(tmp_path, [f"U,{TIME},1,a,{SEQUENCE},{position},"])
    assert "example.org" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        pytest.param([f"x,{TIME},1,a,{SEQUENCE},0/16,"], "Op of public.t", id="no operation"),
        pytest.param([f"U,soon,1,a,{SEQUENCE},0/16,"], "dms_commit_ts of public.t", id="no time"),
        pytest.param([f"U,{TIME},1,a,,0/16,"], "dms_change_seq of public.t", id="no sequence"),
        pytest.param([f"I,{TIME},1,a,{SEQUENCE},0/16,2"], "BI_id of public.t", id="something before an insert"),
    ],
)
def test_a_service_column_without_its_values_refuses_the_file(tmp_path: Path, lines: list[str], says: str) -> None:
    table = attrs.evolve(TABLE, columns=(Column(name="id", type="bigint"),))
    with pytest.raises(BronzeError, match=says):
        names_of(tmp_path, lines, table=table)
    # One such row among others is judged by itself.
    assert names_of(tmp_path, [*lines, f"U,{TIME},1,a,{SEQUENCE},0/16,1"], table=table) == ALL


def test_in_loads_a_service_column_with_values_refuses_the_file(tmp_path: Path) -> None:
    for line in (f"I,{TIME},1,a,new,,", f"I,{TIME},1,a,,,2"):
        with pytest.raises(BronzeError, match="cannot be what stands there"):
            names_of(tmp_path, [LOADED, line], name=LOAD)


@pytest.mark.parametrize(
    ("lines", "name", "says"),
    [
        pytest.param([f"I,{TIME},1,a,,"], "LOAD00000001.csv", "with bronze.change.before_image_prefix to null, or with", id="load"),
        pytest.param([f"U,{TIME},1,a,{SEQUENCE},0/16"], "", "with bronze.change.before_image_prefix to null: set", id="before-images"),
        pytest.param([f"U,{TIME},1,a,{SEQUENCE},2"], "", "with bronze.change.stream_position_column to null", id="a before-image"),
        pytest.param([f"U,{TIME},1,a,0/16,2"], "", "with bronze.change.sequence_column to null: set", id="no sequence"),
        pytest.param([f"U,1,a,{SEQUENCE},0/16,2"], "", "with bronze.change.timestamp_column to null: set", id="no time"),
        pytest.param([LOADED[2:]], "LOAD00000001.csv", "with bronze.change.load_without_op to true", id="no operation"),
    ],
)
def test_settings_that_would_fit_are_named(tmp_path: Path, lines: list[str], name: str, says: str) -> None:
    with pytest.raises(BronzeError, match="6 columns, but the document names 7") as caught:
        names_of(tmp_path, lines, name=name or CDC)
    assert says in str(caught.value)


def test_a_dropped_column_is_not_explained_by_service_columns(tmp_path: Path) -> None:
    with pytest.raises(BronzeError, match=r"4: sequence 1; 5: log position 1; 6: empty 1\. If a source column was added or dropped"):
        names_of(tmp_path, [f"U,{TIME},1,{SEQUENCE},0/16B3748,"])


def test_many_columns_make_no_long_message(tmp_path: Path) -> None:
    table = attrs.evolve(TABLE, source_columns=("id", *(f"c{number}" for number in range(500))))
    with pytest.raises(BronzeError) as caught:
        names_of(tmp_path, [f"U,{TIME},1," + ",".join("x" * (number % 2) for number in range(499)) + f",{SEQUENCE},0/16,"], table=table)
    assert len(str(caught.value)) < 1500


WIDE = [CHANGED] * 3
SHORT, LONG = f"U,{TIME},1", f"{CHANGED},,,"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([SHORT, *WIDE], id="one short row first"),
        pytest.param([LONG, CHANGED, SHORT, CHANGED], id="odd rows in between"),
        pytest.param([SHORT, CHANGED], id="as many short as whole ones"),
        pytest.param([SHORT] + [CHANGED] * 2_000, id="the last row of the sample is cut off"),
    ],
)
def test_one_odd_row_does_not_say_what_columns_a_file_without_header_has(tmp_path: Path, lines: list[str]) -> None:
    assert names_of(tmp_path, lines) == ALL


@pytest.mark.parametrize("lines", [[SHORT, SHORT, CHANGED], [LONG, LONG, LONG, CHANGED]])
def test_most_rows_with_another_width_refuse_a_file_without_header(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(BronzeError, match=f"{lines[0].count(',') + 1} columns, but the document names 7 for public.t"):
        names_of(tmp_path, lines)


@pytest.mark.parametrize(
    ("change", "rows", "is_cdc", "found"),
    [
        ({}, f"a\nU,{TIME},2,b", True, True),
        ({"op_words": {"+.": "I"}}, f"a\n+.,{TIME},2,b", False, True),
        ({"timestamp_column": None}, f"a,{SEQUENCE},0/16,\nU,2,b", True, True),
        ({"timestamp_column": None}, "a,,,\nI,2,b,", False, True),
        ({"timestamp_column": None}, "one\nI, for one\n", False, False),
        ({"load_without_op": True}, f"a,,\n{TIME},2,b", False, True),
        ({}, f"I wrote\nU, {TIME}", True, False),
    ],
)
def test_further_rows_in_a_value_are_known(change: dict[str, Any], rows: str, is_cdc: bool, found: bool) -> None:
    bronze = attrs.evolve(HEADERLESS, change=Change(**change))
    names = [column.name for column in expected_columns(bronze, TABLE, is_cdc=is_cdc)]
    assert bool(re.search(further_rows(names, bronze, is_cdc=is_cdc) or "$^", rows)) is found


NO_SERVICE = Change(timestamp_column=None, sequence_column=None, stream_position_column=None, before_image_prefix=None)


@pytest.mark.parametrize("is_cdc", [False, True], ids=["load", "cdc"])
@pytest.mark.parametrize(
    ("width", "value", "found"),
    [
        # A quote opened in a value and closed in the same column of a later row.
        (1, "a\nI,b", True),
        (1, "a\nI,b\nI,c", True),
        (2, "abc\nI,2,x\nI,3,def", True),
        (2, "abc\nI,3,def", True),
        (2, "a,x\nI,b", True),
        (3, "a,x\nI,2,b", True),
        (3, "a,x,y\nI,b", True),
        (3, "abc\nI,2,x,def", True),
        (5, "a,w,x,y,z\nI,b", True),
        (5, "a,x,y,z\nI,2,b", True),
        # The value itself has a line end before or behind.
        (2, "a\nb\nI,2,x\nc", True),
        (2, "a\nb,x\nI,c\nd", True),
        # Lines that begin with an operation, and are no row of this width.
        (2, "one\nI, for one\n", False),
        (2, "one, two\nI wrote", False),
        (3, "one\nI, for one, do", False),
        (5, "one, two\nI, for one, do", False),
        (1, "one\nI wrote, and", False),
    ],
)
def test_whole_rows_in_a_value_are_known_in_files_of_any_width(width: int, value: str, is_cdc: bool, found: bool) -> None:
    bronze = attrs.evolve(HEADERLESS, change=NO_SERVICE)
    names = ["Op", *(f"c{number}" for number in range(width))]
    assert bool(re.search(further_rows(names, bronze, is_cdc=is_cdc) or "$^", value)) is found
