"""Every object below a table's folder is read, known to be something else, or told of; and what is read has exactly a name of DMS."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, Truncate, Unread, is_foreign, parse_key
from dms_iceberg.bronze.listing import list_bronze
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.progress.pending import pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.store import LocalStore

PREFIX = "public/t/"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EXTENSIONS = ("parquet", "csv", "csv.gz", "json", "json.gz", "jsonl", "jsonl.gz")
# Of a copy, by another case, with digits too few or too many, by other tools, and as older pages of the DMS guide print them.
NEAR_MISSES = [
    "20260301-100130000-1.parquet",
    "20260301-100130000 (1).parquet",
    "20260301-100130000.PARQUET",
    "20260301-100130000.Parquet",
    "20260301-100130000.parquet.gz",
    "20260301-100130000.snappy.parquet",
    "20260301-100130000.parquet.tmp",
    "20260301-100130000.txt",
    "20260301-100130000",
    "20260301-10013000.parquet",
    "20260301-1001300000.csv",
    "20260301100130000.parquet",
    "2026030\N{ARABIC-INDIC DIGIT ONE}-100130000.parquet",
    "2026/03/01/20260301-100130000.parquet\n",
    "LOAD0000000a.parquet",
    "load00000001.parquet",
    "LOAD00001.csv",
    "LOAD00000001.parquet.tmp",
    "SEGMENT_LOAD00000001.parquet",
    "part-00000-c000.snappy.parquet",
    "orders.csv",
    "_repair/TRUNCATE-20260301.json",
    "_repair/20260301-10013.parquet",
    "notes.md",
]
FOREIGN = [
    "_SUCCESS",
    "_temporary/0/part-00000.parquet",
    ".20260301-100130000.parquet.crc",
    "20260301-100130000.parquet.crc",
    "2026_$folder$",
    "awsdms_apply_exceptions/20260301-100130000.parquet",
    "a/awsdms_x/LOAD00000001.parquet",
    "_repair/_SUCCESS",
]


def written_name(file: BronzeFile) -> str:
    """The name that DMS gives the file that a key was taken for."""
    if file.is_cdc:
        return f"{file.order[:8]}-{file.order[8:]}.{file.extension}"
    number = f"LOAD{int(file.order[9:], 16):08X}.{file.extension}"
    name = file.relative.rpartition("/")[2]
    segment = name.partition("_")[0].removeprefix("SEGMENT")
    return f"SEGMENT{int(segment):0{len(segment)}d}_{number}" if name.startswith("SEGMENT") else number


times = st.datetimes(datetime(1970, 1, 1), datetime(2099, 1, 1)).map(lambda t: f"{t:%Y%m%d-%H%M%S}{t.microsecond // 1000:03d}")
numbers = st.integers(0, 2**32 - 1).map(lambda n: f"LOAD{n:08X}")
segments = st.tuples(st.integers(0, 99), numbers).map(lambda pair: f"SEGMENT{pair[0]}_{pair[1]}")
folders = st.sampled_from(["", "2026/03/01/", "20260301/", "p1/", "_repair/", "awsdms_status/", "_temporary/", "a b/"])
names = st.tuples(folders, st.one_of(times, numbers, segments), st.sampled_from(EXTENSIONS)).map(lambda of: f"{of[0]}{of[1]}.{of[2]}")
marks = st.text("0123456789aAfFgG._-$ ()/LOADloadSEGMNTjsonparquetPARQUETcsvgz٣é\n", max_size=3)


@st.composite
def mistaken(draw: st.DrawFn) -> str:
    """A name of DMS of which a few characters are left out, in another case, twice, or others."""
    name = draw(names)
    for _ in range(draw(st.integers(0, 3))):
        at, end = sorted((draw(st.integers(0, len(name))), draw(st.integers(0, len(name)))))
        piece = draw(st.one_of(marks, st.just(name[at:end].swapcase()), st.just(2 * name[at:end])))
        name = name[:at] + piece + name[end:]
    return name


@example("20260301-100130000.parquet")
@given(st.one_of(mistaken(), st.text(max_size=30)))
def test_name_is_read_only_as_dms_writes_it(relative: str) -> None:
    file = parse_key(PREFIX, PREFIX + relative, 1, "e")
    if file is not None:
        name = relative.rpartition("/")[2]
        assert written_name(file) == name
        assert file.extension in EXTENSIONS
        assert name.isascii()
        assert not any(part.startswith("awsdms_") for part in relative.split("/")[:-1])
    else:
        assert isinstance(is_foreign(relative), bool)


@given(names)
def test_every_name_of_dms_is_read_but_in_its_own_folders(relative: str) -> None:
    file = parse_key(PREFIX, PREFIX + relative, 1, "e")
    assert (file is None) == relative.startswith("awsdms_")
    assert file is None or not file.key.endswith("/")


@pytest.mark.parametrize("relative", NEAR_MISSES)
def test_near_miss_is_neither_read_nor_taken_for_something_else(relative: str) -> None:
    assert parse_key(PREFIX, PREFIX + relative, 1, "e") is None
    assert not is_foreign(relative)


@pytest.mark.parametrize("relative", FOREIGN)
def test_what_is_known_to_be_something_else_is_left_alone(relative: str) -> None:
    assert parse_key(PREFIX, PREFIX + relative, 1, "e") is None
    assert is_foreign(relative)


def test_warning_has_the_count_and_examples(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    read = ["LOAD00000001.parquet", "2026/03/01/20260301-100130000.parquet", "_repair/TRUNCATE-20260301-100130000.json"]
    odd = ["20260301-100130000-1.parquet", "20260301-100130000.PARQUET", "LOAD0000000a.parquet", "z/orders.csv", "zz.txt"]
    for relative in [*read, *odd, "_SUCCESS"]:
        store.put(PREFIX + relative, b"x")
    found = list(list_bronze(store, PREFIX, "", BronzeFormat.PARQUET))
    assert [type(one) for one in found].count(Unread) == len(odd)
    assert [type(one) for one in found].count(Truncate) == 1
    pending = pending_files(found, Progress(), "public.t", NOW)
    (warning,) = pending.warnings("public.t")
    assert warning.startswith(f"public.t: {PREFIX}{odd[0]}, {PREFIX}{odd[1]}, {PREFIX}{odd[2]} and 2 more: not read")
    assert pending.warnings("public.t", len(odd)) == []
    assert len(pending.files) == 2
    assert not pending.is_nothing
