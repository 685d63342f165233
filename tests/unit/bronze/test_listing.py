"""Listing bronze: the same order locally and on S3, jumps over old bronze, and errors that name the object."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from benchmarks.old_bronze import fill
from dms_iceberg.bronze.keys import digits_of
from dms_iceberg.bronze.listing import list_files, oldest_change
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.folders import Folders
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.s3 import S3Store
from dms_iceberg.storage.store import LocalStore, ObjectStore, StoredObject

BUCKET = "bronze"
PREFIX = "public/t/"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        yield client


class MemoryStore:
    """Keys in memory, listed as S3 lists them. Counts what it is asked for and what it gave."""

    root = "memory:"

    def __init__(self, keys: list[str]) -> None:
        self.keys = sorted(keys, key=str.encode)
        self.listings = self.given = 0

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        self.listings += 1
        for key in self.keys:
            if key.startswith(prefix) and key.encode() > start_after.encode():
                self.given += 1
                yield StoredObject(key, 1, "e", datetime(2026, 1, 1, tzinfo=UTC))

    def folders(self, prefix: str) -> Folders:
        below = (key.removeprefix(prefix) for key in self.keys if key.startswith(prefix))
        return Folders(tuple(sorted({name.split("/")[0] for name in below if "/" in name})))

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        raise AssertionError("a listing reads nothing")

    def put(self, key: str, data: bytes) -> None:
        raise AssertionError("a listing writes nothing")

    def delete(self, key: str) -> None:
        raise AssertionError("a listing deletes nothing")


def names(store: ObjectStore, since: str = "") -> list[str]:
    return [file.relative for file in list_files(store, PREFIX, since, BronzeFormat.PARQUET)]


def file_name(time: datetime) -> str:
    digits = digits_of(time)
    return f"{digits[:8]}-{digits[8:]}.parquet"


START = datetime(2025, 1, 1, tzinfo=UTC)
moments = st.integers(0, 600 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes))
mixed_names = st.one_of(
    moments.map(file_name),
    moments.map(lambda t: f"{t:%Y/%m/%d}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%Y%m%d}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%Y-%m-%d-%H}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%Y%m}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%Y/%m}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%Y_%m_%d}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%m%Y%d}/{file_name(t)}"),
    moments.map(lambda t: f"{t:%d%m%Y}/{file_name(t)}"),
    st.integers(1, 300).map(lambda number: f"LOAD{number:08X}.parquet"),
)


@example(["20250101-000000000.parquet", "202502/20250201-000000000.parquet"], datetime(2025, 2, 1, tzinfo=UTC))
@example(["2025/01/10/20250110-000000000.parquet", "2025/01/20250131-120000000.parquet"], datetime(2025, 1, 31, 12, tzinfo=UTC))
@example(["20250101/20250101-000000000.parquet", "202502/20250202-000000000.parquet"], datetime(2025, 2, 2, tzinfo=UTC))
@example(["2025_12_01/20251201-000000000.parquet", "2026-01-31-10/20260131-100000000.parquet"], datetime(2026, 1, 31, tzinfo=UTC))
@given(st.lists(mixed_names, max_size=40, unique=True), moments)
def test_jumps_lose_no_file_that_is_needed(relatives: list[str], since: datetime) -> None:
    """Even when the endpoint's layout was changed in the life of a table, and several are mixed in one folder."""
    store = MemoryStore([PREFIX + name for name in relatives])
    limit = digits_of(since)
    found = names(store, limit)
    assert found == sorted(found, key=str.encode)
    assert len(found) == len(set(found))
    missing = set(relatives) - set(found)
    assert all(name.rpartition("/")[2][:18].replace("-", "") < limit for name in missing)
    assert not any("LOAD" in name for name in missing)


_LAYOUTS = ("", "%Y/%m/%d/", "%Y%m%d/", "%Y-%m-%d-%H/", "%Y%m/", "%Y/%m/", "%Y_%m_%d/", "%m%Y%d/", "%d%m%Y/", "%Y%m%d%H/")


@given(st.lists(moments, min_size=1, max_size=30, unique=True), st.lists(st.sampled_from(_LAYOUTS), min_size=1, max_size=3))
def test_oldest_change_is_found_in_whatever_layout_the_endpoint_had(times: list[datetime], layouts: list[str]) -> None:
    """Each layout for a while, one after the other."""
    share = -(-len(times) // len(layouts))
    written = [(t, layouts[number // share]) for number, t in enumerate(sorted(times))]
    relatives = [f"{format(t, layout) if layout else ''}{file_name(t)}" for t, layout in written]
    store = MemoryStore([PREFIX + name for name in [*relatives, "LOAD00000001.parquet"]])
    oldest = digits_of(min(times))
    assert oldest_change(store, PREFIX, BronzeFormat.PARQUET, "", lambda _: True) == oldest
    assert oldest_change(store, PREFIX, BronzeFormat.PARQUET, oldest, lambda _: True) == oldest
    assert oldest_change(store, PREFIX, BronzeFormat.PARQUET, "", lambda file: False) == ""


def test_looking_for_the_oldest_change_costs_one_look_for_each_layout() -> None:
    times = [START + timedelta(hours=number) for number in range(2_000)]
    changed = [f"{PREFIX}{t:%Y/%m/%d/}{file_name(t)}" for t in times[:1_000]]
    changed += [f"{PREFIX}{t:%Y-%m-%d/}{file_name(t)}" for t in times[1_000:]]
    store = MemoryStore(changed)
    assert oldest_change(store, PREFIX, BronzeFormat.PARQUET, digits_of(START), lambda _: True) == digits_of(START)
    assert (store.listings, store.given) == (2, 2)
    # Bronze from before has expired, and nothing else says so than all of the year's layouts.
    assert oldest_change(store, PREFIX, BronzeFormat.PARQUET, "", lambda _: True) == digits_of(START)
    assert store.given <= 2 + 5


@pytest.mark.parametrize("layout", ["", "%Y/%m/%d/", "%Y-%m-%d-%H/", "%Y%m/"])
def test_cost_of_a_listing_follows_the_look_back_not_the_age_of_bronze(layout: str) -> None:
    times = [START + timedelta(minutes=10 * number) for number in range(20_000)]
    since = times[-1] - timedelta(hours=1)
    store = MemoryStore([f"{PREFIX}{format(t, layout) if layout else ''}{file_name(t)}" for t in times] + [f"{PREFIX}LOAD00000001.parquet"])
    found = names(store, digits_of(since))
    assert {file_name(t) for t in times if t >= since} <= {name.rpartition("/")[2] for name in found}
    # Through the next folder that another layout would have: three jumps where files lie in the table's own folder.
    assert store.listings <= 4
    assert store.given < (32 * 144 if layout == "%Y%m/" else 3 * 144)


@pytest.mark.long
def test_s3_listing_behind_100_000_old_keys_takes_few_calls(s3: Any) -> None:
    times = [START + timedelta(minutes=number) for number in range(100_000)]
    fill(BUCKET, [f"{PREFIX}{t:%Y/%m/%d/}{file_name(t)}" for t in times])
    calls = []
    store = S3Store(BUCKET, "")
    store._client.meta.events.register("before-call.s3.ListObjectsV2", lambda **_: calls.append(1))
    since = times[-1] - timedelta(minutes=30)
    found = names(store, digits_of(since))
    assert [file_name(t) for t in times if t >= since] == [name.rpartition("/")[2] for name in found][-31:]
    assert len(calls) <= 4, "one from the start, then the two days behind the jump"


segment_names = st.text(alphabet="abAB019-_.=é\U0001f600", min_size=1, max_size=3)
segments = segment_names.filter(lambda s: not s.startswith("."))
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)


def _without_clashes(found: list[str]) -> list[str]:
    """A file system cannot have both `a` and `a/b`."""
    return [key for key in found if not any(other.startswith(key + "/") for other in found)]


@settings(max_examples=40)
@given(st.lists(paths, min_size=1, max_size=12, unique=True).map(_without_clashes), paths, st.sampled_from(["", "a", "a/", "B/"]))
def test_local_directory_lists_in_the_order_of_s3(keys: list[str], start: str, prefix: str) -> None:
    with TemporaryDirectory() as folder:
        store = LocalStore(Path(folder))
        for key in keys:
            store.put(key, b"x")
        expected = MemoryStore(keys)
        for after in ("", start, prefix + start):
            assert [o.key for o in store.list(prefix, after)] == [o.key for o in expected.list(prefix, after)]


KEYS = [
    "public/t/LOAD00000001.parquet",
    "public/t/2026/03/01/20260301-100000000.parquet",
    "public/t/2026-03-01/20260301-100000000.parquet",
    "public/t/20260301/x.parquet",
    "public/t-2/20260301-100000000.parquet",
    "public/t!/20260301-100000000.parquet",
    "public/Tä/20260301-100000000.parquet",
    "public/\ufb00/a.parquet",
    "public/\U0001f600/a.parquet",
    "z.parquet",
]


def test_s3_and_directory_list_alike(s3: Any, tmp_path: Path) -> None:
    local, remote = open_store(str(tmp_path)), open_store(f"s3://{BUCKET}/some/prefix/")
    for key in KEYS:
        local.put(key, b"data")
        remote.put(key, b"data")
    for prefix in ("", "public/", "public/t/", "public/t", "none/"):
        for after in ("", *KEYS, "public/t/2026/02", "public/t/2026/03/01/"):
            of = [[(o.key, o.size) for o in store.list(prefix, after)] for store in (local, remote)]
            assert of[0] == of[1], (prefix, after)
    for prefix in ("", "public/", "public/t/", "none/"):
        assert local.folders(prefix) == remote.folders(prefix) == MemoryStore(KEYS).folders(prefix)
    assert remote.read(KEYS[0]) == local.read(KEYS[0]) == b"data"
    assert remote.read(KEYS[0], 1, 2) == local.read(KEYS[0], 1, 2) == b"at"


def test_vanished_object_is_named(s3: Any, tmp_path: Path) -> None:
    key = "public/t/20260301-100000000.parquet"
    for store in (open_store(str(tmp_path)), open_store(f"s3://{BUCKET}/p")):
        with pytest.raises(BronzeError, match=key) as error:
            store.read(key)
        assert store.root in str(error.value)


def test_etag_changes_when_a_file_is_rewritten(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    store.put("a", b"one")
    (before,) = store.list("")
    store.put("a", b"two")
    (after,) = store.list("")
    assert before.etag != after.etag


def test_half_written_file_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "public" / "t").mkdir(parents=True)
    (tmp_path / "public" / "t" / ".20260301-100000000.parquet.part").write_bytes(b"x")
    assert list(open_store(str(tmp_path)).list("public/t/")) == []


def test_file_of_another_format_is_refused_by_name(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    store.put("public/t/LOAD00000001.csv", b"x")
    with pytest.raises(BronzeError, match=r"LOAD00000001\.csv.*bronze\.format is 'parquet'"):
        names(store)


def test_files_of_a_task_that_catches_up_are_found_in_the_folders_of_their_commits() -> None:
    """After a pause of days, DMS writes files that are closed now into folders named after the commits."""
    merged = "2026/03/01/20260305-100000000.parquet"
    after = ["2026/03/01/20260305-100100000.parquet", "2026/03/02/20260305-100200000.parquet"]
    old = [f"2026/01/{day:02}/202601{day:02}-000000000.parquet" for day in range(1, 32)]
    store = MemoryStore([PREFIX + key for key in [*old, merged, *after]])
    files = list_files(store, PREFIX, "20260305100000000", BronzeFormat.PARQUET, committed="20260301235959000")
    assert [file.relative for file in files] == [merged, *after]
    assert store.given == 1 + 3
