"""`setup_sql`, `teardown_sql` and `lob_sizes_sql` of the module source-parameters on a real PostgreSQL (and MariaDB).

`support.terraform.source_sql` says what of it is otherwise on RDS.
"""

import itertools
import re
import subprocess
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from dms_emulator.postgres import LocalPostgres, find_binaries
from support.terraform.source_sql import ODD, Source, Sql, captured, make_roles, render, source
from support.terraform.tree import ROOT

pytestmark = pytest.mark.usefixtures("terraform")

SLOT = "shop1e1_00016384_0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"
"""As DMS names its own."""
READ = f"select data from pg_logical_slot_get_changes('{SLOT}', null, null)"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def sql(tmp_path_factory: pytest.TempPathFactory, terraform: None) -> Sql:
    return render(tmp_path_factory.mktemp("sql"))


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    # What was committed must be there for the slot at once.
    with LocalPostgres(settings={"synchronous_commit": "on"}) as started:
        make_roles(started)
        yield started


@pytest.fixture
def shop(server: LocalPostgres) -> Iterator[Source]:
    with source(server, f"source{next(_numbers)}") as made:
        yield made


def open_slot(shop: Source) -> None:
    shop.run("dms", f"select pg_create_logical_replication_slot('{SLOT}', 'test_decoding')")


def set_up(shop: Source, statements: list[str]) -> None:
    """Twice: running it again does no harm."""
    shop.as_master(statements)
    shop.as_master(statements)


class TestCapture:
    def test_applications_change_tables_and_dms_reads_how(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["usual"]["setup_sql"])
        open_slot(shop)
        shop.run(
            "app",
            "set search_path = public, sales",
            "alter table orders add column city text",
            "create table sales.invoices (id serial primary key)",
            # Found in the second schema of the path.
            "alter table invoices add column paid bool default 'it''s' = 'so'",
            "create table sales.copies as select * from sales.invoices",
            "create table if not exists sales.copies (id int)",
            "create temp table orders (id int)",
            "drop table if exists nothing_there",
            "drop table invoices",
            "create index on public.orders (city)",
        )
        found = captured(shop.run("dms", READ), "awsdms.awsdms_ddl_audit")
        assert found == [
            ("app", "ALTER TABLE", "public", "alter table orders add column city text"),
            ("app", "CREATE TABLE", "sales", "create table sales.invoices (id serial primary key)"),
            ("app", "ALTER TABLE", "sales", "alter table invoices add column paid bool default 'it''s' = 'so'"),
            ("app", "CREATE TABLE AS", "sales", "create table sales.copies as select * from sales.invoices"),
            ("app", "CREATE TABLE", "pg_temp", "create temp table orders (id int)"),
            ("app", "DROP TABLE", "sales", "drop table invoices"),
        ]

    def test_a_role_without_any_right_on_the_schema_migrates(self, shop: Source, sql: Sql) -> None:
        shop.run("postgres", "create schema authorization stranger")
        set_up(shop, sql["usual"]["setup_sql"])
        open_slot(shop)
        [rights] = shop.run("stranger", "select has_schema_privilege('awsdms', 'usage'), has_schema_privilege('awsdms', 'create')")
        assert rights == (False, False)
        shop.run("stranger", "create table notes (id int)", "alter table notes add column at date", "drop table notes")
        found = captured(shop.run("dms", READ), "awsdms.awsdms_ddl_audit")
        assert [(user, tag, schema) for user, tag, schema, _ in found] == [
            ("stranger", "CREATE TABLE", "stranger"),
            ("stranger", "ALTER TABLE", "stranger"),
            ("stranger", "DROP TABLE", "stranger"),
        ]

    def test_names_of_a_users_own_are_never_called_with_the_rights_of_the_master_user(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["usual"]["setup_sql"])
        open_slot(shop)
        shop.run(
            "app",
            "create function sales.current_query() returns text language sql as $$ select 'mine' $$",
            "create function sales.differs(text, text) returns bool language plpgsql as $$ begin raise exception 'called'; end $$",
            "create operator sales.= (leftarg = text, rightarg = text, function = sales.differs)",
            "create operator sales.<> (leftarg = text, rightarg = text, function = sales.differs)",
            "set search_path = sales, pg_catalog",
            "create table sales.t (id int)",
            "drop table sales.t",
        )
        found = captured(shop.run("dms", READ), "awsdms.awsdms_ddl_audit")
        assert [text for *_, text in found] == ["create table sales.t (id int)", "drop table sales.t"]
        [settings] = shop.run(
            "postgres", "select prosecdef, proconfig, proowner::regrole::text from pg_proc where proname = 'awsdms_intercept_ddl'"
        )
        assert settings == (True, ["search_path=pg_catalog, pg_temp"], "master")

    def test_migrations_side_by_side_do_not_wait_for_each_other(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["usual"]["setup_sql"])
        # A row that somebody has left there must not stand in anybody's way.
        shop.run("postgres", "insert into awsdms.awsdms_ddl_audit (c_tag) values ('left')")
        with shop.connected("app") as first, shop.connected("app") as second:
            for connection, table in ((first, "sales.one"), (second, "sales.two")):
                connection.execute("set lock_timeout = '5s'")
                connection.execute("begin isolation level repeatable read")
                connection.execute(f"create table {table} (id int)".encode())
            second.execute("commit")
            first.execute("commit")
        assert shop.run("postgres", "select c_tag from awsdms.awsdms_ddl_audit") == [("left",)]


class TestDmsUser:
    def test_it_reads_and_deletes_what_was_noted(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["usual"]["setup_sql"])
        shop.run("postgres", "insert into awsdms.awsdms_ddl_audit (c_tag) values ('CREATE TABLE')")
        assert shop.run("dms", "select c_key, c_tag from awsdms.awsdms_ddl_audit") == [(1, "CREATE TABLE")]
        assert shop.run("dms", "delete from awsdms.awsdms_ddl_audit returning c_tag") == [("CREATE TABLE",)]
        with pytest.raises(InsufficientPrivilege):
            shop.run("stranger", "select * from awsdms.awsdms_ddl_audit")

    def test_the_table_is_the_one_that_aws_documents(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["usual"]["setup_sql"])
        columns = """select attname, format_type(atttypid, atttypmod), attnotnull, atthasdef from pg_attribute
            where attrelid = 'awsdms.awsdms_ddl_audit'::regclass and attnum > 0 order by attnum"""
        assert shop.run("postgres", columns) == [
            ("c_key", "bigint", True, True),
            ("c_time", "timestamp without time zone", False, False),
            ("c_user", "character varying(64)", False, False),
            ("c_txn", "character varying(16)", False, False),
            ("c_tag", "character varying(24)", False, False),
            ("c_oid", "integer", False, False),
            ("c_name", "character varying(64)", False, False),
            ("c_schema", "character varying(64)", False, False),
            ("c_ddlqry", "text", False, False),
        ]
        assert shop.run("postgres", "select evtname, evtevent, evtenabled::text from pg_event_trigger order by 1") == [
            ("awsdms_intercept_ddl", "ddl_command_end", "O"),
            ("awsdms_intercept_drop", "sql_drop", "O"),
        ]

    @pytest.mark.parametrize("variant", ["usual", "least"])
    def test_it_is_no_superuser_and_makes_its_heartbeat_table(self, shop: Source, sql: Sql, variant: str) -> None:
        table = "awsdms_heartbeat (hb_key serial primary key, hb_last_heartbeat_at timestamp)"
        with pytest.raises(InsufficientPrivilege):
            shop.run("dms", f"create table public.{table}")
        set_up(shop, sql[variant]["setup_sql"])
        assert shop.run("dms", "select rolsuper from pg_roles where rolname = current_user") == [(False,)]
        # The rules of version 15 and newer: `public` is closed.
        with pytest.raises(InsufficientPrivilege):
            shop.run("dms", f"create table public.{table}")
        shop.run("dms", f"create table awsdms.{table}", "insert into awsdms.awsdms_heartbeat default values")
        shop.run("dms", "update awsdms.awsdms_heartbeat set hb_last_heartbeat_at = now()")

    @pytest.mark.parametrize("variant", ["usual", "least"])
    def test_it_reads_the_tables_of_the_pipeline_and_no_others(self, shop: Source, sql: Sql, variant: str) -> None:
        with pytest.raises(InsufficientPrivilege):
            shop.run("dms", "select * from public.orders")
        set_up(shop, sql[variant]["setup_sql"])
        assert shop.run("dms", "select * from public.orders") == []
        assert shop.run("dms", 'select * from "shop\'s ""own"""."Order.lines;"') == []
        with pytest.raises(InsufficientPrivilege):
            shop.run("dms", "select * from public.secrets")

    def test_without_ddl_it_has_no_more_than_replication(self, shop: Source, sql: Sql) -> None:
        set_up(shop, sql["least"]["setup_sql"])
        roles = shop.run("postgres", "select roleid::regrole::text from pg_auth_members where member = 'dms'::regrole")
        assert roles == [("rds_replication",)]
        assert shop.run("postgres", "select evtname from pg_event_trigger") == []
        open_slot(shop)
        shop.run("app", "alter table orders add column city text", "insert into orders (id, city) values (1, 'Bonn')")
        changes = [line for (line,) in shop.run("dms", READ) if line.startswith("table ")]
        assert changes == ["table public.orders: INSERT: id[integer]:1 note[text]:null doc[jsonb]:null city[text]:'Bonn'"]

    def test_event_trigger_that_dms_has_made_itself_is_replaced(self, shop: Source, sql: Sql) -> None:
        """As the master user, with its objects in `public`: it would go on writing where nobody reads."""
        shop.run(
            "postgres",
            "create function public.awsdms_intercept_ddl() returns event_trigger language plpgsql as $$ begin end $$",
            "create event trigger awsdms_intercept_ddl on ddl_command_end execute function public.awsdms_intercept_ddl()",
        )
        with pytest.raises(psycopg.errors.RaiseException, match=r"awsdms_intercept_ddl\(\)"):
            set_up(shop, sql["usual"]["setup_sql"])
        assert shop.run("postgres", "select evtfoid::regprocedure::text from pg_event_trigger") == [("awsdms_intercept_ddl()",)]
        set_up(shop, sql["replacing"]["setup_sql"])
        open_slot(shop)
        shop.run("app", "create table sales.t (id int)")
        assert len(captured(shop.run("dms", READ), "awsdms.awsdms_ddl_audit")) == 1


class TestTeardown:
    @pytest.mark.parametrize("variant", ["usual", "least", "public"])
    def test_nothing_is_left(self, shop: Source, sql: Sql, variant: str) -> None:
        before = shop.catalog()
        set_up(shop, sql[variant]["setup_sql"])
        schema = "public" if variant == "public" else "awsdms"
        open_slot(shop)
        shop.run("dms", f"create table {schema}.awsdms_heartbeat (hb_key serial primary key)")
        assert all(shop.catalog()[kind] != before[kind] for kind in ("relations", "slots", "members"))

        shop.as_master(sql[variant]["teardown_sql"])
        assert shop.catalog() == before
        shop.as_master(sql[variant]["teardown_sql"])
        assert shop.catalog() == before

        shop.run("app", "create table sales.t (id int)", "drop table sales.t")
        shop.run("postgres", "drop role dms")
        shop.as_master(sql[variant]["teardown_sql"])

    def test_it_can_be_set_up_again(self, shop: Source, sql: Sql) -> None:
        for part in ("setup_sql", "teardown_sql", "setup_sql"):
            shop.as_master(sql["usual"][part])
        open_slot(shop)
        shop.run("app", "create table sales.t (id int)")
        assert len(captured(shop.run("dms", READ), "awsdms.awsdms_ddl_audit")) == 1

    def test_slots_of_others_stay(self, shop: Source, sql: Sql) -> None:
        shop.as_master(sql["usual"]["setup_sql"])
        open_slot(shop)
        shop.run("dms", "select pg_create_logical_replication_slot('debezium', 'test_decoding')")
        shop.as_master(sql["usual"]["teardown_sql"])
        assert shop.run("postgres", "select slot_name from pg_replication_slots") == [("debezium",)]

    def test_which_of_several_slots_is_dropped_is_not_guessed(self, shop: Source, sql: Sql) -> None:
        shop.as_master(sql["usual"]["setup_sql"])
        open_slot(shop)
        other = SLOT.replace("00", "11")
        for name in (other, "shop_slot"):
            shop.run("dms", f"select pg_create_logical_replication_slot('{name}', 'test_decoding')")
        made = shop.catalog()
        with pytest.raises(psycopg.errors.RaiseException, match=f"several slots.*{other}"):
            shop.as_master(sql["usual"]["teardown_sql"])
        assert shop.catalog() == made
        shop.as_master(sql["named_slots"]["teardown_sql"])
        assert {name for (name,) in shop.run("postgres", "select slot_name from pg_replication_slots")} == {SLOT, other}

    def test_event_triggers_of_another_schema_stay(self, shop: Source, sql: Sql) -> None:
        shop.as_master(sql["public"]["setup_sql"])
        shop.as_master(sql["usual"]["teardown_sql"])
        assert len(shop.run("postgres", "select evtname from pg_event_trigger")) == 2

    def test_schema_that_holds_more_stays(self, shop: Source, sql: Sql) -> None:
        shop.as_master([*sql["usual"]["setup_sql"], "CREATE TABLE awsdms.ours (id int)"])
        with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="awsdms"):
            shop.as_master(sql["usual"]["teardown_sql"])
        assert shop.run("postgres", "select tablename from pg_tables where schemaname = 'awsdms'") == [("ours",)]
        assert shop.run("postgres", "select evtname from pg_event_trigger") == []

    def test_nothing_is_taken_from_under_a_replication_that_reads(self, shop: Source, sql: Sql) -> None:
        shop.as_master(sql["usual"]["setup_sql"])
        open_slot(shop)
        made = shop.catalog()
        command = [str(find_binaries() / "pg_recvlogical"), "-h", "127.0.0.1", "-p", str(shop.server.port), "-U", "dms", "-d", shop.name]
        reader = subprocess.Popen([*command, "--slot", SLOT, "--start", "-f", "-"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            ends = time.monotonic() + 30
            while shop.run("postgres", "select active from pg_replication_slots") != [(True,)]:
                assert time.monotonic() < ends
                assert reader.poll() is None
                time.sleep(0.1)
            with pytest.raises(psycopg.errors.RaiseException, match="stop it first"):
                shop.as_master(sql["usual"]["teardown_sql"])
            assert shop.catalog() == made
        finally:
            reader.kill()
            reader.communicate()
        while shop.run("postgres", "select active from pg_replication_slots") != [(False,)]:
            time.sleep(0.1)

    def test_master_user_and_owners_keep_their_rights(self, shop: Source, sql: Sql) -> None:
        """Where DMS logs in as the master user, nothing of what it has is taken away; nor where it owns the tables."""
        before = shop.catalog()
        for user in ("master", "app"):
            shop.as_master([text.replace("'dms'", f"'{user}'").replace('"dms"', f'"{user}"') for text in sql["usual"]["teardown_sql"]])
            assert shop.catalog() == before


class TestAsDocumented:
    """The commands of the documents, by `psql` and a superuser."""

    def psql(self, shop: Source, text: str) -> str:
        command = [str(find_binaries() / "psql"), "-X", "-v", "ON_ERROR_STOP=1", shop.server.dsn(shop.name)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_psql_runs_setup_and_teardown(self, shop: Source, sql: Sql) -> None:
        before = shop.catalog()
        for part in ("setup_sql", "setup_sql", "teardown_sql", "teardown_sql"):
            self.psql(shop, "\n".join(sql["usual"][part]))
            if part == "setup_sql":
                shop.run("app", "create table sales.t (id int)", "drop table sales.t")
        assert shop.catalog() == before

    def test_psql_prints_the_largest_values(self, shop: Source, sql: Sql) -> None:
        shop.run("app", "insert into public.orders (id, note) values (1, repeat('x', 140000))")
        lines = [line.split("|") for line in self.psql(shop, sql["usual"]["lob_sizes_sql"]).splitlines()]
        assert [cell.strip() for cell in lines[1]] == ["schema", "table", "column", "type", "bytes", "kb"]
        assert [cell.strip() for cell in lines[3]] == ["public", "orders", "note", "text", "140000", "137"]

    def test_statements_of_the_runbook(self, shop: Source, sql: Sql) -> None:
        section = (ROOT / "docs" / "operations.md").read_text("utf-8").split("## The replication slot\n")[1].split("\n## ")[0]
        (look,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
        shop.as_master(sql["usual"]["setup_sql"])
        open_slot(shop)
        assert "reserved" in self.psql(shop, look)
        (drop,) = re.findall(r'psql "\$MASTER" -c "(SELECT .*)"', section)
        self.psql(shop, drop.replace("NAME", SLOT))
        assert SLOT not in self.psql(shop, look)


class TestLargeValues:
    FILL = (
        """create table sales.texts (id int primary key, short varchar(10), long varchar, body text, doc json, docb jsonb, raw bytea,
            tags text[], amount numeric, at timestamptz)""",
        """insert into sales.texts values (1, 'x', repeat('x', 20), repeat('ü', 70000), '{  "a": 1}', '{"a": 1}',
            decode(repeat('00', 5000), 'hex'), '{a,b}', 1)""",
        "insert into sales.texts values (2, 'x', null, 'x', null, null, '\\x00', null, 1)",
        "insert into public.orders (id, note) values (1, 'hello')",
    )

    def sizes(self, shop: Source, script: str) -> list[tuple[object, ...]]:
        with shop.connected("postgres") as connection:
            # As on a read replica.
            connection.execute("set default_transaction_read_only = on")
            cursor = connection.execute(script.encode())
            while cursor.nextset():
                pass
            rows: list[tuple[object, ...]] = cursor.fetchall()
            return rows

    def test_of_the_named_tables(self, shop: Source, sql: Sql) -> None:
        shop.run("app", *self.FILL)
        assert self.sizes(shop, sql["usual"]["lob_sizes_sql"]) == [
            ("public", "orders", "note", "text", 5, 1),
            ("public", "orders", "doc", "jsonb", None, None),
            (*ODD[1].split(".", 1), 'Column "1"', "text", None, None),
        ]

    def test_of_all_tables(self, shop: Source, sql: Sql) -> None:
        shop.as_master(sql["usual"]["setup_sql"])
        shop.run("app", *self.FILL)
        assert [line for line in self.sizes(shop, sql["all_tables"]["lob_sizes_sql"]) if line[4] is not None] == [
            ("sales", "texts", "body", "text", 140000, 137),
            ("sales", "texts", "raw", "bytea", 5000, 5),
            ("sales", "texts", "long", "character varying", 20, 1),
            ("sales", "texts", "doc", "json", 10, 1),
            ("sales", "texts", "docb", "jsonb", 8, 1),
            ("public", "orders", "note", "text", 5, 1),
            ("sales", "texts", "tags", "text[]", 5, 1),
        ]

    @pytest.mark.long
    def test_in_mariadb(self, sql: Sql) -> None:
        from support.mariadb import LocalMariaDb, skip_without_mariadb

        skip_without_mariadb()
        with LocalMariaDb() as server:
            server.execute(
                "create database shop",
                """create table shop.`order``s` (id int primary key, `bo``ok` text character set latin1, doc json, raw blob,
                    short varchar(10))""",
                "create table shop.lines (id int primary key, note mediumtext)",
                "create table shop.others (id int primary key, note longtext)",
                "create view shop.seen as select * from shop.others",
                "insert into shop.`order``s` values (1, repeat('ü', 1000), '{\"a\": 1}', repeat(x'00', 3000), 'x')",
                "insert into shop.others values (1, 'xy')",
            )
            named = server.script(sql["mysql"]["lob_sizes_sql"])
            everything = server.script(sql["mysql_all"]["lob_sizes_sql"])
        assert named == [
            ("shop", "order`s", "raw", "blob", 3000, 3),
            ("shop", "order`s", "bo`ok", "text", 2000, 2),
            ("shop", "order`s", "doc", "longtext", 8, 1),
            ("shop", "lines", "note", "mediumtext", None, None),
        ]
        assert everything == [*named[:3], ("shop", "others", "note", "longtext", 2, 1), named[3]]
