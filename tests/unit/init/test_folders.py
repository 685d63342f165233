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
from dms_iceberg.init.folders import PAGE, TableFiles, find_root
from dms_iceberg.init.listed import ListedStore
from dms_iceberg.init.run import examine
from dms_iceberg.init.table_folders import find_tables, places_of_tables
from dms_iceberg.storage.folders import FolderPage, Folders, find_folders
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

    def folders(self, prefix: str) -> Folders:
        return find_folders(lambda start: self._entries(prefix, start))

    def _entries(self, prefix: str, start: str) -> FolderPage:
        """A page of a listing with a delimiter: objects count as well as folders."""
        self.requests += 1
        found: list[str] = []
        place = bisect_right(self.keys, max(prefix + start, prefix[:-1]))
        while place < len(self.keys) and self.keys[place].startswith(prefix) and len(found) < PAGE:
            name, slash, _ = self.keys[place].removeprefix(prefix).partition("/")
            found.append(name + slash)
            # The character that sorts after the slash: the first key behind the folder.
            place = bisect_right(self.keys, f"{prefix}{name}0") if slash else place + 1
        ends = place == len(self.keys) or not self.keys[place].startswith(prefix)
        return FolderPage(tuple(one[:-1] for one in found if one.endswith("/")), found[-1] if found else "", ends)

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        raise AssertionError(key)

    def put(self, key: str, data: bytes) -> None:
        raise AssertionError(key)

    def delete(self, key: str) -> None:
        raise AssertionError(key)


def tables_of(bucket: Bucket) -> list[TableFiles]:
    return find_tables(bucket, places_of_tables(bucket))


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
    customers, orders = tables_of(bucket)
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
    (orders,) = tables_of(bucket)
    assert bucket.requests < 60
    assert orders.changes[-1].key == bucket.keys[-1]
    assert orders.listed < 2_000


def test_folders_that_do_not_sort_by_time_are_said() -> None:
    bucket = Bucket(names(5_000, DatePartition(DateSequence.DDMMYYYY, DateDelimiter.SLASH)))
    (orders,) = tables_of(bucket)
    assert "do not sort by time" in orders.notes[0]


def test_segments_of_a_parallel_load() -> None:
    keys = [f"shop/orders/s{segment}/LOAD{number:08X}.parquet" for segment in (1, 2) for number in range(1, 900)]
    years = [f"shop/orders/{year}/01/01/00/{year}0101-000000000.parquet" for year in range(2019, 2026)]
    bucket = Bucket([*keys, *names(3_000, None), *years])
    (orders,) = tables_of(bucket)
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
    (orders,) = tables_of(bucket)
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


def test_folders_behind_and_among_very_many_objects() -> None:
    """Whoever put a million other files beside the folders of the schemas; and a schema with 50,000 tables."""
    other = [f"2026{number:06}.log" for number in range(1_000_000)]
    tables = [f"shop/t{number:05}/LOAD00000001.parquet" for number in range(50_000)]
    bucket = Bucket([*other, *tables, "awsdms_control/x/LOAD00000001.parquet", "2026900000/t/LOAD00000001.parquet"])
    store = ListedStore(bucket)
    places = places_of_tables(store)
    assert len(places) == 50_000
    assert bucket.requests < 70
    (said,) = store.warnings()
    assert said.startswith(
        "WARNING: s3://bucket/ has very many objects. It was not looked through for folders with names between 2026009999"
    )
    assert "write the entries of their tables by hand" in said
    # Nothing is listed again, and no file of a table that was not chosen.
    assert places_of_tables(store) == places
    before = bucket.requests
    (found,) = find_tables(store, places[7:8], places[:7])
    assert (found.full_name, bucket.requests - before) == ("shop.t00007", 1)


def test_more_folders_than_are_looked_through_are_said() -> None:
    bucket = Bucket([f"shop/t{number:06}/LOAD00000001.parquet" for number in range(150_000)])
    store = ListedStore(bucket)
    assert len(places_of_tables(store)) == 100_000
    assert bucket.requests <= 102
    assert "s3://bucket/shop/ has very many objects. It was not looked through for folders with names after t099999/." in "".join(
        store.warnings()
    )


def test_segments_behind_very_many_objects() -> None:
    bucket = Bucket([*names(100_000, None), "shop/orders/segment1/LOAD00000001.parquet"])
    store = ListedStore(bucket)
    (orders,) = find_tables(store, places_of_tables(store))
    assert [one.key for one in orders.load] == ["shop/orders/segment1/LOAD00000001.parquet"]
    assert bucket.requests < 80
    # A table needs no list of its segments.
    assert not list(store.warnings(but=["shop/orders/"]))


def test_the_depth_is_that_of_tables_that_were_not_chosen(tmp_path: Path) -> None:
    tables_in(tmp_path, "archive/shop/orders", "archive/shop/users", load=True, changes=False)
    tables_in(tmp_path, "prod/orders", load=True, changes=False)
    with pytest.raises(BronzeError, match=r"has LOAD files in folders only .* If they are tables, name file://.*/archive/;"):
        examine(str(tmp_path), None, lambda every: [name for name in every if name == "archive.shop"])


def test_a_chosen_table_without_files_is_said(tmp_path: Path) -> None:
    tables_in(tmp_path, "shop/orders", "shop/users", load=True, changes=True)
    (tmp_path / "shop" / "nothing").mkdir()
    found = examine(str(tmp_path), None, lambda every: ["shop.nothing", "shop.users"])
    assert [one.files.full_name for one in found.tables] == ["shop.users"]
    assert "chosen, and without files of DMS in their folders: shop.nothing" in found.about
    with pytest.raises(BronzeError, match=r"the folders that --table chooses have no files of DMS: shop\.nothing"):
        examine(str(tmp_path), None, lambda every: ["shop.nothing"])


class Heard:
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.places: list[str] = []

    def say(self, text: str) -> None:
        self.steps.append(text)

    def now(self, text: str) -> None:
        self.places.append(text)


def test_what_is_looked_at_is_shown(tmp_path: Path) -> None:
    tables_in(tmp_path, "shop/orders", "shop/users", load=True, changes=True)
    heard = Heard()
    examine(str(tmp_path), None, lambda every: every, heard)
    assert heard.steps == [
        f"looking for the folders of tables in {tmp_path}",
        "looking at the folders of 2 tables",
        "reading the beginning of 4 files",
    ]
    assert heard.places == ["1 of 2: shop.orders", "2 of 2: shop.users", "1 of 2 tables: shop.orders", "2 of 2 tables: shop.users"]
