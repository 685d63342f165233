"""Sources that are not what `verify` could take them for: each kind is refused by name, or a repair from it is exactly right."""

import datetime as dt
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_emulator.postgres import LocalPostgres
from dms_iceberg.config.model import Config
from dms_iceberg.source.address import parse_source
from dms_iceberg.storage.store import LocalStore
from dms_iceberg.verify import run
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.postgres import PostgresReader
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from dms_iceberg.verify.verdict import TableVerdict
from support.lake import Lake
from support.shifted import Change, write
from support.transaction_pooler import TransactionPooler

COMPARE = Options(tries=1, wait=lambda _: None)
REPAIR = attrs.evolve(COMPARE, repair=True)
NUMBER, TEXT = pa.int64(), pa.string()
T = "public.t"
PLAIN = {"id": NUMBER, "v": TEXT}


OFTEN = (
    *("all", "removed by the task", "renamed by the document", "a view", "a reader", "inheritance", "tracked"),
    *("text as bytes, which looks like hexadecimal", "a double as text"),
)


def often(name: str, *values: Any) -> Any:
    """A case of the main suite if it stands in `OFTEN`; the long suite has all."""
    return pytest.param(*values, id=name, marks=() if name in OFTEN else pytest.mark.long)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    with LocalPostgres(settings={"track_commit_timestamp": "on"}) as server:
        execute(server.dsn(), "create role reader login", "create role limited login")
        yield server


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@attrs.define
class Source:
    """A database of its own, and a table in silver that is made from files of the test's."""

    lake: Lake
    server: LocalPostgres
    database: str
    config: Config | None = None
    compared: bool = False

    def execute(self, *statements: str) -> None:
        execute(self.server.dsn(self.database), *statements)

    def url(self, user: str = "reader", port: int | None = None) -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.server.port}/{self.database}"

    def load(self, columns: Mapping[str, pa.DataType], rows: Sequence[Sequence[Any]], /, **table: Any) -> None:
        """Merge a full load of the table with these columns."""
        self.config = self.lake.config({T: table}, state_uri=str(self.lake.folder / "state"))
        self.lake.load(T, list(columns.items()), rows)
        self.lake.run_one(self.config)

    def verify(self, options: Options = COMPARE, user: str = "reader", port: int | None = None) -> TableVerdict:
        assert self.config is not None
        source = open_source(parse_source(self.url(user, port)), Throttle(None))
        try:
            (one,) = verify(self.lake.spark, self.config, source, options=options).tables.values()
        finally:
            source.close()
        self.compared = self.compared or one.error is None
        return one

    def repair(self, options: Options = REPAIR, **where: Any) -> TableVerdict:
        """Compare, repair, merge what the repair has written, and check that the merge warns of nothing."""
        assert self.config is not None
        if not (self.compared or options.accept_source):
            self.verify(**where)
        verdict = self.verify(options, **where)
        report = self.lake.run_one(self.config)
        assert report.warnings == []
        assert report.rows_read == verdict.repaired
        return verdict

    @property
    def silver(self) -> list[dict[str, Any]]:
        table = self.lake.spark.table(f"lake.{self.lake.namespace}.t")
        self.lake.spark.sql(f"REFRESH TABLE lake.{self.lake.namespace}.t")
        names = [name for name in table.columns if not name.startswith("_cdc_")]
        return [row.asDict() for row in table.select(*names).orderBy("id").collect()]

    def change(self, key: int, text: str, **more: str) -> None:
        """Merge an update that was committed now; ``more`` are the values of further columns."""
        assert self.config is not None
        now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        name = f"{now[:8]}-{now[8:]}999.parquet"
        columns = [*PLAIN.items(), *((name, TEXT) for name in more)]
        self.lake.changes(T, name, columns, [("U", f"{now}99", 1, key, text, *more.values(), None)])
        assert self.lake.run_one(self.config).quarantined == 0

    def written(self) -> list[str]:
        """The columns of the repair, without those that the task adds."""
        (file,) = (self.lake.bronze / "public/t/_repair").iterdir()
        return [name for name in pq.read_schema(file).names if name not in ("Op", "dms_commit_ts", "dms_change_seq")]


@pytest.fixture
def source(lake: Lake, server: LocalPostgres) -> Iterator[Source]:
    database = lake.namespace
    execute(server.dsn(), f"create database {database}")
    yield Source(lake, server, database)
    execute(server.dsn(), f"drop database {database} with (force)")


def plain(source: Source, *statements: str, rows: int = 3) -> None:
    """A table of rows with the texts v1, v2 ..., whose row 1 is wrong in silver."""
    source.execute("create table t (id bigint primary key, v text)", f"insert into t select n, 'v' || n from generate_series(1, {rows}) n")
    source.execute("grant select on t to reader", *statements)
    source.load(PLAIN, [(n, "wrong" if n == 1 else f"v{n}") for n in range(1, rows + 1)])


RIGHT = [{"id": n, "v": f"v{n}"} for n in (1, 2, 3)]
WRONG = [{"id": 1, "v": "wrong"}, *RIGHT[1:]]


# --- columns

WIDE = (
    "create table t (id bigint primary key, v text, ssn text, note text, g int generated always as (id * 2) stored)",
    "insert into t values (1, 'right', '123-45', 'n1'), (2, 'b', '222-22', 'n2')",
    "grant select on t to reader",
)


@attrs.frozen(kw_only=True)
class Columns:
    """Files whose columns are not those of `WIDE`; in silver ``v`` of row 1 is wrong.

    Attributes:
        files: their columns beside id and v, with the value in row 1 and in row 2.
        table: the document's entry.
        one_sided: the columns that the verdict names.
        refused: what the refusal of a repair names; "" where the repair is right.
        error: what the comparison itself fails with.
    """

    files: Mapping[str, tuple[Any, Any]]
    table: Mapping[str, Any] = attrs.field(factory=dict)
    one_sided: tuple[str, ...] = ()
    refused: str = ""
    error: str = ""


SSN, NOTE, G = {"ssn": ("123-45", "222-22")}, {"note": ("n1", "n2")}, {"g": (2, 4)}
COLUMNS = {
    "all": Columns(files={**SSN, **NOTE}),
    "generated and in the files": Columns(files={**SSN, **NOTE, **G}),
    "removed by the task": Columns(files=NOTE, one_sided=("ssn",)),
    "removed by the task and dropped": Columns(files=NOTE, table={"drop": ["ssn", "g"]}),
    "removed by the task and not kept": Columns(files=NOTE, table={"columns": [{"name": "v"}, {"name": "note"}], "other_columns": "drop"}),
    "added by the task": Columns(files={**SSN, **NOTE, "region": ("eu", "eu")}, one_sided=("region",), refused="region"),
    "added by the task and dropped": Columns(files={**SSN, **NOTE, "region": ("eu", "eu")}, table={"drop": ["region"]}),
    "renamed by the task": Columns(files={**SSN, "remark": ("n1", "n2")}, one_sided=("note", "remark"), refused="remark"),
    "renamed by the document": Columns(files={**SSN, **NOTE}, table={"columns": [{"name": "remark", "from": "note"}]}),
    "an expression of an added one": Columns(
        files={**SSN, **NOTE, "region": ("eu", "eu")},
        table={"columns": [{"name": "upper", "expr": "upper(region)", "type": "string"}], "drop": ["region"]},
        one_sided=("upper",),
        refused="upper",
    ),
    "a filter on an added one": Columns(
        files={**SSN, **NOTE, "region": ("eu", "eu")}, table={"filter": "region = 'eu'"}, error="reads the column 'region'"
    ),
    "a rule on an added one": Columns(
        files={**SSN, **NOTE, "region": ("eu", "eu")},
        table={"rules": [{"name": "eu", "expr": "region = 'eu'"}]},
        error="reads the column 'region'",
    ),
}


@pytest.mark.parametrize("case", [often(name, case) for name, case in COLUMNS.items()])
def test_a_repair_writes_the_columns_of_the_files_and_no_other(source: Source, case: Columns) -> None:
    source.execute(*WIDE)
    types = {name: NUMBER if name == "g" else TEXT for name in case.files}
    rows = [(1, "wrong", *(one for one, _ in case.files.values())), (2, "b", *(two for _, two in case.files.values()))]
    source.load({**PLAIN, **types}, rows, **case.table)
    before = source.silver
    verdict = source.repair()
    assert [text.split(" ")[0] for text in verdict.one_sided] == list(case.one_sided)
    if case.refused or case.error:
        assert verdict.equal is None
        assert (case.error or f"no column for {case.refused}") in str(verdict.error)
        assert source.silver == before
        return
    assert (verdict.error, verdict.repaired, verdict.equal) == (None, 1, False)
    assert source.written() == [name for name in ("id", "v", "ssn", "note", "g") if name in {"id", "v", *case.files}]
    assert source.silver == [{**before[0], "v": "right"}, before[1]]
    after = source.verify()
    assert (after.equal, after.differences) == (not case.one_sided, 0)
    assert source.verify(attrs.evolve(COMPARE, without=frozenset(case.one_sided))).equal


def test_a_column_that_the_document_has_left_out_since_is_no_difference(source: Source) -> None:
    source.execute(*WIDE)
    source.load({**PLAIN, "ssn": TEXT, "note": TEXT}, [(1, "right", "123-45", "n1"), (2, "b", "222-22", "n2")])
    source.config = source.lake.config({T: {"drop": ["note"]}}, state_uri=str(source.lake.folder / "state"))
    verdict = source.verify()
    assert (verdict.error, verdict.equal, verdict.one_sided, verdict.not_compared) == (None, True, [], [])


@pytest.mark.long
def test_a_user_with_rights_on_some_columns_repairs_only_where_files_have_no_other(source: Source) -> None:
    source.execute(*WIDE, "grant select (id, v) on t to limited")
    source.load({**PLAIN, "ssn": TEXT}, [(1, "wrong", "123-45"), (2, "b", "222-22")], drop=["ssn"])
    assert source.verify(attrs.evolve(COMPARE, without=frozenset({"note"})), "limited").differences == 1
    refused = source.verify(REPAIR, "limited")
    assert (refused.equal, refused.repaired) == (None, 0)
    assert "permission denied" in str(refused.error)
    assert source.repair().repaired == 1
    assert source.written() == ["id", "v", "ssn"]


@pytest.mark.long
def test_a_column_that_the_task_removes_by_now_is_not_written(source: Source) -> None:
    source.execute(*WIDE, "update t set v = 'later' where id = 1")
    source.load({**PLAIN, "ssn": TEXT, "note": TEXT}, [(1, "wrong", "123-45", "n1"), (2, "b", "222-22", "n2")])
    # A mapping rule removes ssn, and a change comes.
    source.change(2, "b", note="n2")
    refused = source.repair()
    assert (refused.differing["different"], refused.repaired) == (2, 0)
    assert "the newest file of the table has no column for ssn" in str(refused.error)
    source.config = source.lake.config({T: {"drop": ["ssn"]}}, state_uri=str(source.lake.folder / "state"))
    time.sleep(1)
    source.execute("create table another_commit ()")
    # Before, no row was the same, so nothing was noted.
    source.verify()
    verdict = source.verify(REPAIR)
    assert (verdict.error, verdict.repaired, verdict.one_sided) == (None, 1, [])
    assert source.written() == ["id", "v", "note"]


# --- relations

RELATIONS = {
    "a view": (("create table u (id bigint primary key, v text)", "create view t as select * from u"), "is a view at the source"),
    "a materialized view": (("create materialized view t as select 1::bigint as id, 'v1'::text as v",), "is a materialized view"),
    "a foreign table": (
        (
            "create foreign data wrapper nowhere",
            "create server elsewhere foreign data wrapper nowhere",
            "create foreign table t (id bigint, v text) server elsewhere",
        ),
        "is a foreign table",
    ),
    "a sequence": (("create sequence t",), "is a sequence"),
}


@pytest.mark.parametrize(("statements", "says"), [often(name, *relation) for name, relation in RELATIONS.items()])
def test_what_takes_the_tables_place_is_named(source: Source, statements: Sequence[str], says: str) -> None:
    source.execute(*statements, "grant select on t to reader")
    source.load(PLAIN, [(1, "v1")])
    verdict = source.repair()
    assert verdict.equal is None
    assert says in str(verdict.error)


@pytest.mark.parametrize(
    ("user", "statements"),
    [
        often("a reader", "reader", ()),
        often("its setting", "reader", ("alter role reader set row_security = on",)),
        often("the owner", "owner", ("alter table t owner to owner", "alter table t force row level security")),
    ],
)
def test_a_user_from_whom_rows_are_hidden_compares_nothing(source: Source, user: str, statements: Sequence[str]) -> None:
    source.execute("do $$ begin create role owner login; exception when duplicate_object then null; end $$")
    plain(source, "alter table t enable row level security", "create policy one on t for select using (id = 1)", *statements)
    refused = source.repair(user=user)
    assert "row level security hides rows" in str(refused.error)
    assert source.silver == WRONG
    source.execute("alter table t disable row level security", "alter role reader reset row_security")
    source.execute("drop policy one on t", "alter table t owner to postgres", "grant select on t to reader")
    assert source.repair().repaired == 1
    assert source.silver == RIGHT


def test_rows_of_tables_that_inherit_are_not_the_parents(source: Source) -> None:
    plain(source, "create table child () inherits (t)", "insert into child values (7, 'child')", "grant select on child to reader")
    verdict = source.repair()
    assert (verdict.rows_source, verdict.differing["missing"], verdict.differing["different"]) == (3, 0, 1)
    assert "tables inherit from the table" in str(verdict.error)
    assert source.silver == WRONG
    source.execute("drop table child")
    assert (source.repair().repaired, source.silver) == (1, RIGHT)


@pytest.mark.long
def test_a_partitioned_table_is_read_with_its_partitions_unless_they_are_elsewhere(source: Source) -> None:
    source.execute(
        "create table t (id bigint primary key, v text) partition by range (id)",
        "create table t_low partition of t for values from (0) to (3)",
        "create table t_high partition of t for values from (3) to (9)",
        "insert into t values (1, 'v1'), (2, 'v2'), (3, 'v3')",
        "grant select on t to reader",
    )
    source.load(PLAIN, [(1, "wrong"), (2, "v2"), (3, "v3")])
    assert (source.repair().repaired, source.silver) == (1, RIGHT)
    source.execute(
        "create table p (id bigint, v text) partition by range (id)",
        "create foreign data wrapper nowhere",
        "create server elsewhere foreign data wrapper nowhere",
        "create foreign table p_far partition of p for values from (0) to (9) server elsewhere",
    )
    reader = open_source(parse_source(source.url("postgres")), Throttle(None))
    with reader.snapshot("public", "p", ["id::text"]) as snapshot:
        assert ["foreign tables" in text for text in snapshot.facts().doubts] == [True]
    reader.close()


@pytest.mark.parametrize(
    "right",
    [
        often("subscriptions", "select on pg_catalog.pg_subscription_rel"),
        often("inheritance", "select on pg_catalog.pg_inherits"),
        often("partitions", "execute on function pg_partition_tree(regclass)"),
    ],
)
def test_what_the_user_may_not_see_is_not_taken_for_none(source: Source, right: str) -> None:
    plain(source, f"revoke {right} from public")
    assert source.verify().differing["different"] == 1
    verdict = source.repair()
    assert "cannot be seen. Let the user see it: GRANT" in str(verdict.error)
    assert source.silver == WRONG
    source.execute(f"grant {right} to reader")
    assert (source.repair().repaired, source.silver) == (1, RIGHT)


# --- sessions

TRICKS = (
    "create schema evil",
    "grant usage on schema evil to reader",
    "create table evil.t (id bigint primary key, v text)",
    "grant select on evil.t to reader",
    'create function evil.array_to_json(text[]) returns json language sql as $$ select \'["1","evil"]\'::json $$',
    "create function evil.now() returns timestamptz language sql as $$ select timestamptz '2020-01-01' $$",
    "create function evil.row_security_active(oid) returns bool language sql as $$ select false $$",
    "create function evil.pg_is_in_recovery() returns bool language sql as $$ select false $$",
)
SETTINGS = {
    "search_path": "evil, pg_catalog, public",
    "timezone": "'America/New_York'",
    "datestyle": "'German'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-15",
    "default_transaction_isolation": "'read committed'",
}


def values(source: Source) -> None:
    """A table of types whose texts depend on the session."""
    source.execute(
        "create table t (id bigint primary key, v text, at timestamptz, bin bytea, d double precision)",
        "insert into t select n, 'v' || n, '2026-03-01 12:00:00+00', '\\x00ff', 0.1 + n from generate_series(1, 3) n",
        "grant select on t to reader",
    )
    types = {**PLAIN, "at": pa.timestamp("us", "UTC"), "bin": pa.binary(), "d": pa.float64()}
    at = 1_772_366_400_000_000
    source.load(types, [(n, "wrong" if n == 1 else f"v{n}", at, b"\x00\xff", 0.1 + n) for n in (1, 2, 3)])


@pytest.mark.long
def test_settings_of_the_role_and_objects_in_its_search_path_change_nothing(source: Source) -> None:
    values(source)
    source.execute(*TRICKS, *(f"alter role reader in database {source.database} set {name} = {value}" for name, value in SETTINGS.items()))
    verdict = source.repair()
    assert (verdict.error, verdict.rows_source, verdict.repaired) == (None, 3, 1)
    assert source.verify().equal


def test_a_pooler_that_gives_each_transaction_a_session_changes_nothing(source: Source) -> None:
    values(source)
    source.execute(*(f"alter role reader in database {source.database} set {name} = {value}" for name, value in SETTINGS.items()))
    with TransactionPooler(source.server.port) as pooler:
        verdict = source.repair(port=pooler.port)
        assert (verdict.error, verdict.rows_source, verdict.repaired) == (None, 3, 1)
        assert source.verify(port=pooler.port).equal
        assert pooler.sessions > 4


# --- servers


@pytest.fixture
def twin(source: Source) -> Iterator[LocalPostgres]:
    """Another server with the data of the first."""
    twin = LocalPostgres()
    copy = [
        twin._bin / "pg_basebackup",
        "-h",
        "127.0.0.1",
        "-p",
        str(source.server.port),
        "-U",
        "postgres",
        "-D",
        twin.data,
        "-X",
        "stream",
    ]
    plain(source)
    done = twin._run(*copy)
    assert done.returncode == 0, done.stderr
    yield twin
    twin.stop()


def test_a_standby_may_be_compared_with_and_never_repairs(source: Source, twin: LocalPostgres) -> None:
    with (twin.data / "postgresql.conf").open("a") as conf:
        conf.write(f"primary_conninfo = 'host=127.0.0.1 port={source.server.port} user=postgres'\nrecovery_min_apply_delay = '1h'\n")
    (twin.data / "standby.signal").touch()
    shutil.chown(twin.data / "standby.signal", twin.data.stat().st_uid, twin.data.stat().st_gid)
    twin.start()
    assert source.repair().repaired == 1
    source.execute("update t set v = 'new' where id = 2")
    source.change(2, "new")
    verdict = source.repair(port=twin.port)
    assert verdict.differing["different"] == 1
    assert "is a standby (pg_is_in_recovery)" in str(verdict.error)
    assert source.silver[1]["v"] == "new"
    assert source.verify().equal


@pytest.mark.long
def test_a_promoted_or_restored_server_is_another_one_until_it_is_accepted(source: Source, twin: LocalPostgres) -> None:
    assert source.verify().warnings == [
        "nothing was committed to silver while it was compared: the differences may be changes that the job has not merged yet"
    ]
    (twin.data / "standby.signal").touch()
    shutil.chown(twin.data / "standby.signal", twin.data.stat().st_uid, twin.data.stat().st_gid)
    twin.start()
    assert twin._control("promote", "-w").returncode == 0
    verdict = source.repair(port=twin.port)
    assert "timeline 00000002, before 00000001" in str(verdict.error)
    assert source.silver == WRONG
    wrong = source.verify(attrs.evolve(REPAIR, accept_source="postgresql:1:1:1"), port=twin.port)
    assert f"the source is {verdict.source}" in str(wrong.error)
    assert source.repair(attrs.evolve(REPAIR, accept_source=verdict.source), port=twin.port).repaired == 1
    assert source.silver == RIGHT
    # From then on it is the source, and the former one is not.
    assert [text for text in source.verify(port=twin.port).warnings if "accept-source" in text] == []
    assert [text for text in source.verify().warnings if "timeline" in text] != []


def test_a_copy_from_before_is_known_by_its_shorter_log(source: Source, twin: LocalPostgres) -> None:
    source.execute("update t set v = 'v2' where id = 2")
    source.verify()
    twin.start()
    assert "its log is shorter than before" in str(source.repair(port=twin.port).error)
    assert source.silver == WRONG


@pytest.mark.long
def test_another_database_of_the_same_name_is_not_the_source(source: Source, server: LocalPostgres) -> None:
    plain(source)
    source.verify()
    source.execute("create schema kept")
    execute(server.dsn(), f"drop database {source.database} with (force)", f"create database {source.database}")
    source.execute("create table t (id bigint primary key, v text)", "insert into t values (1, 'other')", "grant select on t to reader")
    verdict = source.repair()
    assert "another server or database" in str(verdict.error)
    assert any("another server or database" in text for text in source.verify().warnings)
    assert source.silver == WRONG


def test_a_source_that_has_lost_commits_is_behind_silver(source: Source) -> None:
    plain(source)
    time.sleep(1)
    source.change(2, "lost")
    time.sleep(1)
    verdict = source.repair()
    assert "the newest commit that the source shows" in str(verdict.error)
    source.execute("create table another_commit ()")
    assert source.repair(attrs.evolve(REPAIR, max_repair=1.0, accept_source=verdict.source)).repaired == 2
    assert source.silver == RIGHT
    # The repair's own time is no commit of the source.
    source.lake.spark.sql(f"DELETE FROM lake.{source.lake.namespace}.t WHERE id = 3")
    assert source.repair(attrs.evolve(REPAIR, insert_missing=True)).repaired == 1


# --- how much, and what


def test_more_rows_than_the_share_need_a_word_and_a_dry_run_writes_nothing(source: Source) -> None:
    plain(source, "update t set v = 'later' where id > 380", rows=400)
    said: list[str] = []
    refused = source.repair(attrs.evolve(REPAIR, say=said.append))
    assert "it would replace 21 rows, 5.2% of 400 rows, and --max-repair allows 1%" in str(refused.error)
    assert (said, refused.to_repair) == ([], {})
    dry = source.repair(attrs.evolve(REPAIR, say=said.append, max_repair=0.06, dry_run=True, accept_source=refused.source))
    assert (dry.error, dry.repaired, dry.to_repair) == (None, 0, {"different": 21})
    assert said == [f"{T}: the repair will replace 21 rows"]
    assert not (source.lake.bronze / "public/t/_repair").exists()
    assert source.repair(attrs.evolve(REPAIR, max_repair=0.06)).repaired == 21
    assert source.verify().equal


@pytest.mark.long
def test_rows_that_silver_lacks_may_be_kept_out_on_purpose(source: Source) -> None:
    plain(source, "insert into t values (4, 'not selected by the task')")
    verdict = source.repair()
    assert (verdict.error, verdict.repaired, source.silver) == (None, 1, RIGHT)
    assert [text for text in verdict.warnings if "1 rows that silver lacks are left out" in text] != []
    assert source.repair(attrs.evolve(REPAIR, insert_missing=True)).repaired == 1
    assert source.silver[-1] == {"id": 4, "v": "not selected by the task"}


# With images of keys alone, which rows the second and third update mean is not known: keys 2, 3 and 4 wait in quarantine.
SHIFT: list[Change] = [("U", (2, "v1"), (1, "v1")), ("U", (3, "v2"), (2, "v2")), ("U", (4, "v3"), (3, "v3"))]


def shifted(source: Source, *rows: tuple[int, str]) -> None:
    """A table of silver whose keys were shifted: it has 2 and 3; the source has ``rows``."""
    source.execute("create table t (id bigint primary key, v text)", "grant select on t to reader")
    source.execute(*(f"insert into t values ({key}, '{text}')" for key, text in rows))
    source.load(PLAIN, [(n, f"v{n}") for n in (1, 2, 3)])
    write(source.lake, T, 1, SHIFT, images=False)
    assert source.config is not None
    source.lake.run_one(source.config)
    assert source.silver == [{"id": 2, "v": "v1"}, {"id": 3, "v": "v3"}]
    assert source.lake.open_quarantine(source.config, "t") != []


def test_keys_of_the_quarantine_are_weighed_and_inserted_only_on_demand(source: Source) -> None:
    shifted(source, (2, "v1"), (3, "v2"), (4, "v3"))
    said: list[str] = []
    refused = source.verify(REPAIR)
    assert "it would replace 1 row, confirm 1 row, 66.7% of 3 rows" in str(refused.error)
    assert not (source.lake.bronze / "public/t/_repair").exists()
    some = source.verify(attrs.evolve(REPAIR, max_repair=1.0, say=said.append, accept_source=refused.source))
    assert (some.error, some.repaired, some.to_repair) == (None, 2, {"different": 1, "same": 1})
    assert said == [f"{T}: the repair will replace 1 row, confirm 1 row"]
    assert [text for text in some.warnings if "1 rows that silver lacks are left out" in text] != []
    assert source.config is not None
    source.lake.run_one(source.config)
    assert source.silver == [{"id": 2, "v": "v1"}, {"id": 3, "v": "v2"}]
    every = source.verify(attrs.evolve(REPAIR, max_repair=1.0, insert_missing=True))
    assert (every.error, every.to_repair.get("missing"), every.repaired) == (None, 1, sum(every.to_repair.values()))
    source.lake.run_one(source.config)
    assert source.silver[-1] == {"id": 4, "v": "v3"}
    assert (source.lake.open_quarantine(source.config, "t"), source.verify().equal) == ([], True)


@pytest.mark.long
def test_keys_of_the_quarantine_are_weighed_where_nothing_differs(source: Source) -> None:
    shifted(source, (2, "v1"), (3, "v3"))
    assert source.verify().equal
    refused = source.verify(REPAIR)
    assert "it would confirm 2 rows, confirm the absence of 1 row, 100.0% of 3 rows" in str(refused.error)
    assert "no earlier comparison" not in str(refused.error), "the rows are those of the source"
    done = source.verify(attrs.evolve(REPAIR, max_repair=1.0))
    assert (done.error, done.repaired, done.to_repair) == (None, 3, {"same": 2, "absent": 1})
    assert source.config is not None
    source.lake.run_one(source.config)
    assert (source.lake.open_quarantine(source.config, "t"), source.verify().equal) == ([], True)
    nothing = source.verify(REPAIR)
    assert (nothing.error, nothing.repaired, nothing.equal) == (None, 0, True)


def test_a_comparison_needs_no_right_to_write_and_a_repair_says_what_it_could_not_note(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    plain(source)
    monkeypatch.setattr(run, "write_note", refuse)
    compared = source.verify()
    assert (compared.error, [text for text in compared.warnings if "written" in text]) == (None, [])
    assert "no earlier comparison has noted its source" in str(source.repair().error)
    repaired = source.repair(attrs.evolve(REPAIR, accept_source=compared.source))
    assert (repaired.repaired, ["could not be written" in text for text in repaired.warnings]) == (1, [False, True])


@pytest.mark.long
def test_a_damaged_note_refuses_a_comparison_and_a_likely_source_is_noted(source: Source) -> None:
    plain(source, "insert into t select n, 'other' from generate_series(10, 40) n")
    state = LocalStore(source.lake.folder / "state")
    assert source.verify().differences == 32
    assert list(state.list("runs/verified/")) == []
    source.execute("delete from t where id >= 10")
    source.verify()
    (note,) = state.list("runs/verified/")
    state.put(note.key, b"{")
    assert "damaged" in str(source.repair().error)
    assert source.silver == WRONG
    compared = source.verify()
    assert (compared.error, compared.differences, "damaged" in "".join(compared.warnings)) == (None, 1, True)


def test_a_source_that_was_never_compared_repairs_nothing_until_it_is_accepted(source: Source) -> None:
    """A database with tables of the same names, or a copy from another day: half of a small table may differ."""
    plain(source)
    refused = source.verify(attrs.evolve(REPAIR, max_repair=1.0, dry_run=True))
    place = f"127.0.0.1:{source.server.port}/{source.database}"
    assert "no earlier comparison has noted its source" in str(refused.error)
    assert f"{place} is the database that DMS captures: 2 of the 3 rows that silver has are the same there" in str(refused.error)
    assert (refused.to_repair, source.silver) == ({}, WRONG)
    source.execute("update t set v = 'other' where id > 1")
    # Too many rows differ for it to be noted.
    source.verify()
    assert "no earlier comparison has noted its source" in str(source.repair(attrs.evolve(REPAIR, max_repair=1.0)).error)
    source.execute("update t set v = 'v' || id")
    source.verify()
    assert source.repair().repaired == 1
    assert source.silver == RIGHT


@pytest.mark.long
def test_a_noted_source_without_a_row_of_silver_repairs_nothing_until_it_is_accepted(source: Source) -> None:
    plain(source)
    source.verify()
    source.execute("truncate t", "insert into t values (2, 'x')")
    every = attrs.evolve(REPAIR, max_repair=1.0)
    refused = source.repair(every)
    assert "0 of the 3 rows that silver has are the same there" in str(refused.error)
    assert source.silver == WRONG
    assert source.repair(attrs.evolve(every, accept_source=refused.source)).repaired == 3
    assert source.silver == [{"id": 2, "v": "x"}]


# --- what is written between the look and the write

BEFORE = {1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f", **dict.fromkeys(range(20, 60), "same")}
"""The source's rows when they are compared; silver has ``wrong`` in 1 to 3, lacks 4 to 6, and has 11 to 13 as well."""
MOVES = {
    "update t set v = 'a2' where id = 1": 1,
    "delete from t where id = 2": 2,
    "insert into t values (11, 'k')": 11,
    "insert into t values (12, 'l'); update t set v = 'l2' where id = 12": 12,
    "update t set v = 'd2' where id = 4": 4,
    "delete from t where id = 5": 5,
}
"""What a writer does meanwhile, and the key that it is about."""


def test_a_repair_writes_what_was_compared_and_leaves_out_what_has_changed_since(source: Source) -> None:
    """The change files of the writer come later, and none of their rows is in silver before."""
    source.execute("create table t (id bigint primary key, v text)", "grant select on t to reader")
    source.execute(*(f"insert into t values ({key}, '{text}')" for key, text in BEFORE.items()))
    silver = {key: "wrong" if key < 4 else text for key, text in BEFORE.items() if key not in (4, 5, 6)}
    silver |= dict.fromkeys((11, 12, 13), "gone")
    source.load(PLAIN, list(silver.items()))
    source.verify()
    every = attrs.evolve(REPAIR, max_repair=1.0, insert_missing=True, say=lambda _: source.execute(*MOVES))
    done = source.repair(every)
    # One of the keys that silver still lacks may be where the row 13 has gone.
    assert (done.error, sum(done.to_repair.values()), done.repaired) == (None, 9, 8 - len(MOVES))
    assert "6 keys were left out of the repair, because the source has changed them since" in done.warnings[-2]
    assert "1 surplus rows were not deleted, because rows that silver lacks were left out" in done.warnings[-1]
    expected = {**silver, 3: "c", 6: "f"}
    assert {row["id"]: row["v"] for row in source.silver} == expected
    now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    changes = [
        ("U", 1, "a2"),
        ("D", 2, None),
        ("I", 11, "k"),
        ("I", 12, "l"),
        ("U", 12, "l2"),
        ("I", 4, "d"),
        ("U", 4, "d2"),
        ("D", 5, None),
    ]
    rows = [(op, f"{now}99", number, key, text, None) for number, (op, key, text) in enumerate(changes, start=1)]
    source.lake.changes(T, f"{now[:8]}-{now[8:]}999.parquet", list(PLAIN.items()), rows)
    assert source.config is not None
    source.lake.run_one(source.config)
    assert source.verify().differing == {"missing": 0, "surplus": 1, "collided": 0, "different": 0}
    time.sleep(1)
    source.execute("create table another_commit ()")
    assert (source.repair(attrs.evolve(REPAIR, max_repair=1.0)).repaired, source.verify().equal) == (1, True)


@pytest.mark.long
def test_a_key_that_both_sides_lacked_is_not_inserted_before_its_change(source: Source) -> None:
    """It may be one that the task's filter keeps out; its row of the quarantine stays open."""
    shifted(source, (2, "v1"), (3, "v3"))
    assert source.verify().equal
    options = attrs.evolve(REPAIR, max_repair=1.0, say=lambda _: source.execute("insert into t values (4, 'new')"))
    done = source.verify(options)
    assert (done.error, done.to_repair, done.repaired) == (None, {"same": 2, "absent": 1}, 2)
    assert source.config is not None
    source.lake.run_one(source.config)
    assert source.silver == [{"id": 2, "v": "v1"}, {"id": 3, "v": "v3"}]
    assert source.lake.open_quarantine(source.config, "t") != []


@pytest.mark.long
def test_a_repair_is_read_in_a_later_second_than_the_first_look(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit times of MySQL are whole seconds: a change of the look's second may have come after the read, and would seem older."""
    waits: list[float] = []
    plain(source)
    source.verify()
    enter = PostgresReader.__enter__

    def in_one_second(self: PostgresReader) -> PostgresReader:
        reader = enter(self)
        reader.clock = f"209912312359{waits.count(1.0) // 2:02d}500000"
        return reader

    monkeypatch.setattr(PostgresReader, "__enter__", in_one_second)
    done = source.verify(attrs.evolve(REPAIR, wait=waits.append))
    assert (done.error, done.repaired, waits) == (None, 1, [30.0, 1.0, 1.0])
    (file,) = (source.lake.bronze / "public/t/_repair").iterdir()
    assert (file.name, set(pq.read_table(file)["dms_change_seq"].to_pylist())) == (
        "20991231-235901500.parquet",
        {"2099123123590050" + "0" * 19},
    )


@pytest.mark.parametrize("tracked", [often("tracked", "on"), often("not tracked", "off")])
def test_a_commit_that_waits_for_a_standby_is_in_silver_and_in_no_query(source: Source, tracked: str) -> None:
    plain(source)
    source.verify()
    wait = ["alter system set synchronous_standby_names = 'away'", "select pg_reload_conf()"]
    execute(source.server.dsn(), *wait)
    try:
        time.sleep(1)
        change = (f"set track_activities = {tracked}", "set synchronous_commit = on", "update t set v = 'new' where id = 2")
        writer = threading.Thread(target=source.execute, args=change, daemon=True)
        clock = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        writer.start()
        time.sleep(2)
        now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        source.lake.changes(T, f"{now[:8]}-{now[8:]}000.parquet", list(PLAIN.items()), [("U", f"{clock}00", 1, 2, "new", None)])
        assert source.config is not None
        source.lake.run_one(source.config)
        newer = source.silver
        assert newer[1]["v"] == "new"
        options = attrs.evolve(EVERY, accept_source=source.verify().source)
        assert "GRANT pg_read_all_stats" in str(source.verify(options).error)
        refused = source.verify(options, "postgres")
        assert (refused.differing["different"], refused.repaired) == (2, 0)
        assert "a commit has been waiting for a synchronous standby (wait_event SyncRep) since" in str(refused.error)
    finally:
        execute(source.server.dsn(), "alter system reset synchronous_standby_names", "select pg_reload_conf()")
    writer.join(10)
    assert (source.repair(EVERY).repaired, source.silver[1]["v"], source.verify().equal) == (1, "new", True)


# --- keys

EVERY = attrs.evolve(REPAIR, max_repair=1.0)
WHOLE = attrs.evolve(EVERY, insert_missing=True)


def test_a_key_change_on_its_way_is_repaired_whole_or_not_at_all(source: Source) -> None:
    plain(source, "update t set v = 'v1' where id = 1", rows=6)
    source.verify()
    source.execute("update t set id = 22, v = 'moved' where id = 2")
    clock = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    time.sleep(1)
    before = source.silver
    refused = source.repair(EVERY)
    assert "it would delete 1 rows and leave out 1 that silver lacks" in str(refused.error)
    assert (refused.repaired, source.silver) == (0, before)
    assert (source.repair(WHOLE).repaired, source.verify().equal) == (3, True)
    after = source.silver
    now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    source.lake.changes(T, f"{now[:8]}-{now[8:]}999.parquet", list(PLAIN.items()), [("U", f"{clock}99", 1, 22, "moved", 2)])
    assert source.config is not None
    assert source.lake.run_one(source.config).quarantined == 1
    assert (source.silver, source.verify().equal) == (after, True)
    ((reason, detail),) = source.lake.open_quarantine(source.config, "t")
    assert (reason, "it came after a repair" in detail, "clock went back" in detail) == ("older_clock", True, False)


def spelled(source: Source, spelling: str, text: str = "v3", **table: Any) -> None:
    """A table with padded keys; silver has the third one in another spelling."""
    source.execute(
        "create table t (id char(3) primary key, v text)",
        f"insert into t values ('EUR', 'v1'), ('USD', 'v2'), ('XX', '{text}'), ('GBP', 'v4')",
        "grant select on t to reader",
    )
    source.load({"id": TEXT, "v": TEXT}, [("EUR", "v1"), ("USD", "v2"), (spelling, "v3"), ("GBP", "v4")], **table)


def test_a_key_that_the_source_has_in_another_form_is_not_deleted_alone(source: Source) -> None:
    spelled(source, "XX ")
    before = source.silver
    refused = source.repair(EVERY)
    assert "or is spelled otherwise there, is one of each" in str(refused.error)
    assert [(one.kind, one.key) for one in refused.examples] == [("missing", '{"id":"XX"}'), ("surplus", '{"id":"XX "}')]
    assert source.silver == before
    done = source.repair(WHOLE)
    assert (done.error, done.repaired, source.verify().equal) == (None, 2, True)
    assert "silver has it in the source's form from now on ('XX ' in silver, 'XX' at the source)" in done.warnings[-1]
    assert {"id": "XX", "v": "v3"} in source.silver


def test_a_key_is_not_deleted_where_the_source_has_its_row_in_a_form_that_the_job_rejects(source: Source) -> None:
    spelled(source, "XX ", "bad", rules=[{"name": "good", "expr": "v <> 'bad'"}])
    before = source.silver
    done = source.repair(WHOLE)
    assert (done.error, done.rejected, done.to_repair, done.repaired) == (None, 1, {"surplus": 1}, 0)
    assert "it has in another form that silver lacks ('XX ' in silver, 'XX' at the source)" in done.warnings[-1]
    assert source.silver == before


MOMENT, HOUR = pa.timestamp("us", "UTC"), 3_600_000_000
NOON = 1_772_366_400_000_000
# The column's type at the source, its value for a number, the type in the file, and in silver, and the value in the file.
HEX = "convert_to('c0ffee' || (10 + n), 'UTF8')"
KEYS: dict[str, tuple[str, str, pa.DataType, str, Any]] = {
    "text as bytes, which looks like hexadecimal": (
        "bytea",
        HEX,
        pa.binary(),
        "string",
        lambda n: f"c0ffee{10 + n}".encode(),
    ),
    "text as bytes": ("bytea", "convert_to('key-' || n, 'UTF8')", pa.binary(), "string", lambda n: f"key-{n}".encode()),
    "bytes": ("bytea", "decode('0' || n, 'hex')", pa.binary(), "binary", lambda n: bytes([n])),
    "a number with decimals": ("int", "n", pa.int32(), "decimal(12,2)", lambda n: n),
    "a number as text": ("bigint", "n", pa.int64(), "string", lambda n: n),
    "a single float": ("real", "n + 0.1", pa.float32(), "double", lambda n: n + 0.1),
    "a double as text": ("double precision", "n * 1e20", pa.float64(), "string", lambda n: n * 1e20),
    "money": ("money", "n::numeric::money", pa.decimal128(38, 4), "decimal(38,4)", Decimal),
    "a time": ("timestamptz", "timestamptz '2026-03-01 12:00+00' + n * interval '1 hour'", MOMENT, "string", lambda n: NOON + n * HOUR),
    "a day": ("date", "date '2026-03-01' + n", pa.date32(), "string", lambda n: dt.date(2026, 3, 1) + dt.timedelta(n)),
    "a boolean": ("boolean", "n = 1", pa.bool_(), "string", lambda n: n == 1),
}


@pytest.mark.parametrize(
    ("type_", "value", "file", "silver", "in_file"),
    [often(name, *key) for name, key in KEYS.items()],
)
def test_a_key_of_another_type_in_silver_is_found_again_and_repaired(
    source: Source, type_: str, value: str, file: pa.DataType, silver: str, in_file: Callable[[int], Any]
) -> None:
    """At the source are rows 1 and 2 (a boolean has no more) to 6; in silver 1 is wrong, 6 is missing, 9 is too many."""
    numbers = (1, 2) if type_ == "boolean" else range(1, 7)
    source.execute(
        f"create table t (id {type_} primary key, v text)",
        f"insert into t select {value}, 'v' || n from generate_series(1, {len(numbers)}) n",
        "grant select on t to reader",
    )
    loaded = [1] if type_ == "boolean" else [1, 2, 3, 4, 5, 9]
    rows = [(in_file(n), "wrong" if n == 1 else f"v{n}") for n in loaded]
    source.load({"id": file, "v": TEXT}, rows, columns=[{"name": "id", "type": silver}])
    expected = {"missing": 1, "surplus": int(9 in loaded), "collided": 0, "different": 1}
    for tries in (0, 1, 2):
        found = source.verify(attrs.evolve(COMPARE, tries=tries))
        assert (found.error, found.differing, found.unsettled) == (None, expected, 0)
    done = source.repair(attrs.evolve(WHOLE, accept_source=found.source))
    assert (done.error, done.repaired) == (None, sum(expected.values()))
    assert source.verify().equal


@pytest.mark.long
def test_a_key_whose_operators_are_out_of_the_search_path_is_found(source: Source) -> None:
    with psycopg.connect(source.server.dsn(source.database)) as connection:
        if not connection.execute("select 1 from pg_available_extensions where name = 'ltree'").fetchone():
            pytest.skip("this server has no extension with a type of its own")
    source.execute("create extension ltree", "create table t (id ltree primary key, v text)", "grant select on t to reader")
    source.execute("insert into t values ('a.b', 'v1'), ('a.c', 'v2'), ('d', 'v3')")
    source.load({"id": TEXT, "v": TEXT}, [("a.b", "wrong"), ("a.c", "v2"), ("e", "v3")])
    done = source.repair(attrs.evolve(WHOLE, accept_source=source.verify().source))
    assert (done.error, done.repaired, source.verify().equal) == (None, 3, True)


def test_a_row_that_the_source_does_not_find_by_its_key_stops_the_comparison(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: what a lookup does not find is believed only where a whole read does not find it either."""
    spelled(source, "XX")
    source.execute("update t set v = 'wrong' where id = 'USD'", "insert into t values ('CHF', 'v5')")
    monkeypatch.setattr(PostgresReader, "rows_of", lambda *_: iter(()))
    found = source.verify()
    assert "the source has 2 rows that it does not find by their key, id (character(3))" in str(found.error)
    assert found.equal is None
    monkeypatch.undo()
    # A row that has gone meanwhile is no difference, and its lookup is right.
    wait = attrs.evolve(COMPARE, wait=lambda _: source.execute("delete from t where id = 'CHF'"))
    found = source.verify(wait)
    assert (found.error, found.differing["different"], found.differing["missing"], found.unsettled) == (None, 1, 0, 0)
