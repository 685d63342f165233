"""Where the tables are, and which files of them are looked at: a number of requests that does not depend on the number of objects."""

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

import pytest

from dms_emulator.files import DateDelimiter, DatePartition, DateSequence, FileShape
from dms_iceberg.discover.proposal import LeftOut
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.finding import Found
from dms_iceberg.init.folders import PAGE, find_root, find_tables
from dms_iceberg.init.run import examine
from dms_iceberg.storage.store import StoredObject
from unit.init.emulated import LINES, Task

START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


class Bucket:
    """A bucket in memory that counts the requests S3 would get: a page of up to a thousand keys, or of folders."""

    root = "s3://bucket"

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = sorted(keys)
        self.requests = 0

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        place = bisect_right(self.keys, max(start_after, prefix[:-1] if prefix else ""))
        while True:
            self.requests += 1
            page = self.keys[place : place + PAGE]
            for key in page:
                if key.startswith(prefix):
                    yield StoredObject(key, 100, "e", START)
                elif key > prefix:
                    return
            if len(page) < PAGE:
                return
            place += PAGE

    def folders(self, prefix: str) -> Sequence[str]:
        self.requests += 1
        found: list[str] = []
        place = bisect_right(self.keys, prefix[:-1] if prefix else "")
        while place < len(self.keys) and self.keys[place].startswith(prefix) and len(found) < 3000:
            name, slash, _ = self.keys[place].removeprefix(prefix).partition("/")
            if not slash:
                place = bisect_right(self.keys, prefix + name)
                continue
            found.append(name)
            # The character that sorts after the slash: the first key behind the folder.
            place = bisect_right(self.keys, f"{prefix}{name}0")
        return found

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        raise AssertionError(key)

    def put(self, key: str, data: bytes) -> None:
        raise AssertionError(key)

    def delete(self, key: str) -> None:
        raise AssertionError(key)


def names(count: int, partition: DatePartition | None) -> list[str]:
    """Keys of files that were closed a minute after each other."""
    found = []
    for number in range(count):
        at = START + dt.timedelta(minutes=number)
        millis = round(at.timestamp() * 1000)
        folder = f"{partition.folder(millis)}/" if partition else ""
        found.append(f"shop/orders/{folder}{at:%Y%m%d-%H%M%S}000.parquet")
    return found


@pytest.mark.parametrize(
    "partition",
    [None, DatePartition(), DatePartition("YYYYMM", "DASH"), DatePartition("YYYYMMDD", "NONE"), DatePartition("YYYYMMDDHH", "UNDERSCORE")],
    ids=str,
)
@pytest.mark.parametrize("count", [1_500, 30_000])
def test_the_requests_do_not_grow_with_the_objects(partition: DatePartition | None, count: int) -> None:
    keys = names(count, partition)
    loads = [f"shop/orders/LOAD{number:08X}.parquet" for number in range(1, 3_000)]
    bucket = Bucket([*keys, *loads, "shop/customers/LOAD00000001.parquet"])
    assert find_root(bucket) is not None
    customers, orders = find_tables(bucket)
    assert customers.complete
    assert not orders.complete
    assert bucket.requests < 80
    # The first and the newest, and what lies between is of all times.
    assert orders.changes[0].key == keys[0]
    assert orders.changes[-1].key == keys[-1]
    minutes = [keys.index(one.key) for one in orders.changes]
    assert len(minutes) == 6
    assert all(later - earlier < count / 2 for earlier, later in pairwise(minutes))
    assert orders.load[0].key == "shop/orders/LOAD00000001.parquet"


def test_a_million_objects() -> None:
    bucket = Bucket(names(1_000_000, None))
    (orders,) = find_tables(bucket)
    assert bucket.requests < 60
    assert orders.changes[-1].key == bucket.keys[-1]
    assert orders.listed < 2_000


def test_folders_that_do_not_sort_by_time_are_said() -> None:
    bucket = Bucket(names(5_000, DatePartition(DateSequence.DDMMYYYY, DateDelimiter.SLASH)))
    (orders,) = find_tables(bucket)
    assert "do not sort by time" in orders.notes[0]


def test_segments_of_a_parallel_load() -> None:
    keys = [f"shop/orders/s{segment}/LOAD{number:08X}.parquet" for segment in (1, 2) for number in range(1, 900)]
    years = [f"shop/orders/{year}/01/01/00/{year}0101-000000000.parquet" for year in range(2019, 2026)]
    bucket = Bucket([*keys, *names(3_000, None), *years])
    (orders,) = find_tables(bucket)
    assert {one.key.split("/")[2] for one in orders.load} == {"s1", "s2"}


def test_control_tables_and_repairs_are_no_tables() -> None:
    bucket = Bucket(
        [
            "awsdms_control/awsdms_status/LOAD00000001.parquet",
            "shop/awsdms_history/LOAD00000001.parquet",
            "shop/orders/_repair/20260301-100000000.parquet",
            "shop/orders/LOAD00000001.parquet",
            "_state/runs.json",
        ]
    )
    (orders,) = find_tables(bucket)
    assert [one.key for one in (*orders.load, *orders.changes)] == ["shop/orders/LOAD00000001.parquet"]


def look(folder: Path) -> Found:
    return examine(str(folder), None, lambda names: names)


def task(folder: Path) -> None:
    one = Task(folder, FileShape(), DatePartition())
    one.load()
    one.changes(1)
    one.load(LINES)


def test_the_newest_epoch_is_taken(tmp_path: Path) -> None:
    for epoch in (1, 2, 10):
        task(tmp_path / "dms" / f"epoch-{epoch}")
    (tmp_path / "dms" / "epoch-11").mkdir()
    for given in (tmp_path, tmp_path / "dms"):
        found = look(given)
        assert found.bronze.uri == str(tmp_path / "dms" / "epoch-10")
        assert found.bronze.epoch == 10
        assert "older load epochs, which it replaces: epoch-1, epoch-2" in found.about
    # Whoever names one means it.
    assert look(tmp_path / "dms" / "epoch-2").bronze.epoch == 2


@pytest.mark.parametrize("given", ["", "bucket", "bucket/dms", "bucket/dms/shop", "bucket/dms/shop/orders"])
def test_a_folder_near_the_right_one(given: str, tmp_path: Path) -> None:
    task(tmp_path / "bucket" / "dms")
    found = look(tmp_path / given)
    assert found.bronze.uri == str(tmp_path / "bucket" / "dms")
    assert {one.files.full_name for one in found.tables} >= {"shop.orders"}


def test_a_folder_with_a_sign_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "100%20 #1"
    task(folder)
    assert look(folder).bronze.uri == str(folder)


def test_a_file_that_lies_about_is_left_alone(tmp_path: Path) -> None:
    task(tmp_path)
    (tmp_path / "LOAD00000001.csv").write_text("x")
    assert look(tmp_path).bronze.uri == str(tmp_path)


def test_folders_that_are_no_tables(tmp_path: Path) -> None:
    task(tmp_path / "_old")
    (tmp_path / "_old" / "shop").rename(tmp_path / "_shop")
    with pytest.raises(BronzeError, match="Folders that begin with"):
        look(tmp_path)


@pytest.mark.parametrize("beside", [True, False])
def test_a_schema_with_a_dot_is_left_out(beside: bool, tmp_path: Path) -> None:
    """``a.b/c`` and ``a/b.c`` would be one table."""
    for schema, table in (("a.b", "c"), ("a", "b.c"))[: 1 + beside]:
        folder = tmp_path / schema / table
        folder.mkdir(parents=True)
        (folder / "LOAD00000001.csv").write_text("Op,id\nI,1\n")
        (folder / "20260301-100000000.csv").write_text("Op,id\nU,1\n")
    found = look(tmp_path)
    assert all(isinstance(one, LeftOut) for one in found.proposals)
    assert "its folder a.b/c/ has a dot in the name of the schema" in str(found.proposals)


def test_a_table_that_begins_with_an_underscore_is_said(tmp_path: Path) -> None:
    """As those that ORMs make for relations."""
    task(tmp_path)
    (tmp_path / "shop" / "_AToB").mkdir()
    (tmp_path / "shop" / "_AToB" / "LOAD00000001.parquet").write_bytes((tmp_path / "shop/orders/LOAD00000001.parquet").read_bytes())
    (tmp_path / "shop" / "_temporary").mkdir()
    found = look(tmp_path)
    (said,) = (line for line in found.about if "begin with _" in line)
    assert said.endswith("write their entries: shop/_AToB/")


def test_files_above_all_folders() -> None:
    bucket = Bucket(["LOAD00000001.parquet"])
    root = find_root(bucket)
    assert root is not None
    assert root.above == 2


def test_what_is_not_of_dms_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs" / "2026").mkdir(parents=True)
    for number in islice(range(20), 20):
        (tmp_path / "logs" / "2026" / f"{number}.log").write_text("x")
    with pytest.raises(BronzeError, match=r"Name the bucket folder of the DMS endpoint"):
        look(tmp_path)


def tables_in(root: Path, *folders: str, load: bool, changes: bool) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        name = folder.rpartition("/")[2]
        if load:
            (root / folder / "LOAD00000001.csv").write_text(f"Op,id,{name},seq\nI,1,a,\nI,2,b,\n")
        if changes:
            (root / folder / "20260301-100001000.csv").write_text(f"Op,id,{name},seq\nI,3,c,2026030110000000{1:019d}\n")


@pytest.mark.parametrize(("load", "changes"), [(True, True), (False, True), (True, False)])
def test_an_epoch_beside_the_folders_of_the_first_load(load: bool, changes: bool, tmp_path: Path) -> None:
    tables_in(tmp_path, "shop/orders", "shop/users", "epoch-2/shop/orders", "epoch-2/shop/users", load=load, changes=changes)
    found = look(tmp_path)
    assert found.bronze.uri == str(tmp_path / "epoch-2")
    assert [one.files.full_name for one in found.tables] == ["shop.orders", "shop.users"]
    assert "an older load beside it, which it replaces: shop/" in "\n".join(found.about)


@pytest.mark.parametrize(("load", "changes"), [(True, True), (False, True), (True, False)])
def test_folders_of_tables_at_different_depths_are_refused(load: bool, changes: bool, tmp_path: Path) -> None:
    """One of them would be taken for a table of all that is below it."""
    tables_in(tmp_path, "archive/old", "prod/shop/orders", "prod/shop/users", load=load, changes=changes)
    with pytest.raises(BronzeError, match="several tables") as refused:
        look(tmp_path)
    assert str(tmp_path / "prod") in str(refused.value)


def test_segments_of_a_load_are_one_table(tmp_path: Path) -> None:
    tables_in(tmp_path, "shop/orders/s1", "shop/orders/s2", load=True, changes=False)
    tables_in(tmp_path, "shop/orders", "shop/users", load=False, changes=True)
    assert [one.files.full_name for one in look(tmp_path).tables] == ["shop.orders", "shop.users"]


def test_segments_alone_are_refused(tmp_path: Path) -> None:
    """They look like tables of a schema ``orders``."""
    for segment in ("s1", "s2"):
        tables_in(tmp_path, f"shop/orders/{segment}", load=True, changes=False)
        (tmp_path / "shop" / "orders" / segment / "LOAD00000001.csv").write_text("Op,id,v\nI,1,a\nI,2,b\n")
    with pytest.raises(BronzeError, match="they may be segments of one table, orders, or tables"):
        look(tmp_path)
    # Whoever names the folder above the schemas says that they are tables.
    assert [one.files.full_name for one in look(tmp_path / "shop").tables] == ["orders.s1", "orders.s2"]
    (tmp_path / "shop" / "orders" / "20260301-100001000.csv").write_text("Op,id,v\nU,1,c\n")
    assert [one.files.full_name for one in look(tmp_path).tables] == ["shop.orders"]


def test_segments_beside_another_table_of_the_schema(tmp_path: Path) -> None:
    tables_in(tmp_path, "shop/orders/s1", "shop/orders/s2", "shop/users", load=True, changes=False)
    assert [one.files.full_name for one in look(tmp_path).tables] == ["shop.orders", "shop.users"]
