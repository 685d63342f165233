"""Loads and changes with and without header and operations, and documents that say so or the contrary: right rows, or a named setting."""

import itertools
import re

import pytest

from support.lake import Lake

NAMES = ("id", "name", "amount")
LOADED = [("1", "aa", "10"), ("2", "bb", "20"), ("3", "cc", "30")]
CHANGED = ["U,1,xx,11", "D,2,,", "I,4,dd,40"]
RIGHT = [("1", "xx", "11"), ("3", "cc", "30"), ("4", "dd", "40")]
NEITHER = {"timestamp_column": None, "sequence_column": None, "stream_position_column": None, "before_image_prefix": None}
SETTINGS = re.compile(r"bronze\.csv\.header|bronze\.change\.load_without_op|source_columns")
# Of each table: whether its loads and its changes have a header, and whether its loads have operations.
TABLES = {f"t{number}": flags for number, flags in enumerate(itertools.product([True, False], repeat=3))}


def write(lake: Lake, table: str, load_header: bool, change_header: bool, load_op: bool) -> None:
    load = ["I," + ",".join(row) if load_op else ",".join(row) for row in LOADED]
    names = ",".join(NAMES)
    header = "Op," + names
    load_lines = [header if load_op else names, *load] if load_header else load
    change_lines = [header, *CHANGED] if change_header else CHANGED
    lake.path(f"public.{table}", "LOAD00000001.csv").write_text("\n".join(load_lines) + "\n")
    lake.path(f"public.{table}", "20260301-100000000.csv").write_text("\n".join(change_lines) + "\n")


@pytest.mark.long
@pytest.mark.parametrize("load_without_op", [True, False], ids=["without", "with"])
@pytest.mark.parametrize("header", [True, False], ids=["header", "headerless"])
def test_rows_are_right_or_a_setting_is_named(lake: Lake, header: bool, load_without_op: bool) -> None:
    for table, flags in TABLES.items():
        write(lake, table, *flags)
    entry = {} if header else {"source_columns": list(NAMES)}
    bronze = {"format": "csv", "csv": {"header": header}, "change": {**NEITHER, "load_without_op": load_without_op}}
    report = lake.run(lake.config({f"public.{table}": entry for table in TABLES}, bronze=bronze))
    right = 0
    for table, flags in TABLES.items():
        found = report.tables[f"public.{table}"]
        if found.error is not None:
            assert SETTINGS.search(found.error), (flags, found.error)
            continue
        assert lake.rows(table, ", ".join(NAMES)) == RIGHT, flags
        # A header of changes, or of loads with operations, is a row whose operation is no word.
        surplus = 0 if header else flags[0] + flags[1]
        assert found.quarantined == surplus, flags
        right += 1
    # With a header both files have one; without, the operations of loads decide.
    assert right == (2 if header and load_without_op else 1 if header else 2 if load_without_op else 4)
