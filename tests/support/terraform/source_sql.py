"""The statements of the module source-parameters, and a PostgreSQL that stands in for RDS."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import psycopg
from psycopg.sql import SQL, Identifier

from dms_emulator.postgres import LocalPostgres
from support.terraform.binary import quiet_environment, run, write_cli_configuration
from support.terraform.tree import copy_tree

ODD = ["public.orders", """shop's "own".Order.lines;"""]
"""Tables, one of them with all that has to be quoted."""
_POSTGRES = {"name": "shop", "engine": "postgres", "family": "postgres16", "create": False, "plugin": "test_decoding", "tables": ODD}
_MYSQL = {"name": "shop", "engine": "mariadb", "family": "mariadb11.4", "create": False}
_VARIANTS: dict[str, dict[str, Any]] = {
    "usual": _POSTGRES,
    "least": _POSTGRES | {"capture_ddls": False},
    "public": _POSTGRES | {"artifacts_schema": "public"},
    "replacing": _POSTGRES | {"replace_event_triggers": True},
    "named_slots": _POSTGRES | {"slot_names": ["shop_slot"]},
    "all_tables": _POSTGRES | {"tables": []},
    "mysql": _MYSQL | {"tables": ["shop.order`s", "shop.lines"]},
    "mysql_all": _MYSQL,
}
Sql = dict[str, dict[str, Any]]


def render(folder: Path) -> Sql:
    """Return the outputs of the module for each variant. Without a group to make, nothing asks AWS."""
    root = copy_tree(folder) / "examples" / "sql"
    root.mkdir()
    calls = {name: {"source": "../../modules/source-parameters", **given} for name, given in _VARIANTS.items()}
    outputs = {name: {"value": f"${{module.{name}}}"} for name in _VARIANTS}
    skipped = ("skip_credentials_validation", "skip_requesting_account_id", "skip_metadata_api_check", "skip_region_validation")
    provider = {"region": "us-east-1", "access_key": "none", "secret_key": "none"} | dict.fromkeys(skipped, True)
    (root / "main.tf.json").write_text(json.dumps({"module": calls, "output": outputs, "provider": {"aws": provider}}))
    write_cli_configuration(folder / "terraform.rc")
    environment = quiet_environment() | {"TF_CLI_CONFIG_FILE": str(folder / "terraform.rc")}
    run(root, "init", "-input=false", environment=environment)
    run(root, "plan", "-input=false", "-out=zz.tfplan", environment=environment)
    shown = json.loads(run(root, "show", "-json", "zz.tfplan", environment=environment).stdout)
    return {name: output["value"] for name, output in shown["planned_values"]["outputs"].items()}


# What RDS has and PostgreSQL has not, so that the statements run as they are:
# - `rds_superuser` and `rds_replication` are plain roles here. On RDS the first has rights of its own, and the second lets its members use
#   slots; here the attribute REPLICATION does that.
# - The master user of RDS may make and drop event triggers although it is no superuser. Here such statements run as the superuser.
# - `rds_superuser` of RDS may read tables of others in some versions; here the DMS user has only what `setup_sql` grants.
_ROLES = """
create role rds_superuser nologin;
create role rds_replication nologin;
create role master login createrole replication;
grant rds_superuser, rds_replication to master with admin option;
create role app login;
create role stranger login;
"""


# Rights that are not written down are the owner's.
_RIGHTS = "array(select a::text from aclexplode(coalesce({acl}, acldefault('{kind}', {owner}))) a order by 1)"
_OURS = "regnamespace::text !~ '^(pg_|information_schema)'"
_CATALOG = {
    "schemas": f"""select nspname, nspowner, {_RIGHTS.format(acl="nspacl", kind="n", owner="nspowner")} from pg_namespace order by 1""",
    "relations": f"""select oid::regclass::text, relkind, relowner, {_RIGHTS.format(acl="relacl", kind="r", owner="relowner")}
        from pg_class where relnamespace::{_OURS} order by 1""",
    "functions": f"""select oid::regprocedure::text, {_RIGHTS.format(acl="proacl", kind="f", owner="proowner")}
        from pg_proc where pronamespace::{_OURS} order by 1""",
    "event_triggers": "select evtname from pg_event_trigger order by 1",
    "members": "select roleid::regrole::text, member::regrole::text, grantor::regrole::text from pg_auth_members order by 1, 2, 3",
    "slots": "select slot_name from pg_replication_slots order by 1",
    "others": """select extname::text from pg_extension union all select pubname::text from pg_publication
        union all select defaclobjtype::text from pg_default_acl order by 1""",
}


@attrs.frozen
class Source:
    """A database of the server, owned by `master`, with tables of `app`."""

    server: LocalPostgres
    name: str

    @contextlib.contextmanager
    def connected(self, user: str) -> Iterator[psycopg.Connection[Any]]:
        """Connect as a user, each statement a transaction of its own."""
        dsn = self.server.dsn(self.name).replace("user=postgres", f"user={user}")
        with psycopg.connect(dsn, autocommit=True) as connection:
            yield connection

    def as_master(self, statements: list[str]) -> None:
        """Run statements as the master user of RDS would."""
        with self.connected("postgres") as connection:
            for statement in statements:
                connection.execute("reset role" if "EVENT TRIGGER" in statement else "set role master")
                connection.execute(statement.encode())

    def run(self, user: str, *statements: str) -> list[Any]:
        """Run statements as a user; returns the rows of the last."""
        with self.connected(user) as connection:
            for statement in statements:
                done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def catalog(self) -> dict[str, list[Any]]:
        """Return all that setup, DMS and teardown may leave: objects of the database with owner and rights, roles' members, slots."""
        with self.connected("postgres") as connection:
            return {kind: connection.execute(query.encode()).fetchall() for kind, query in _CATALOG.items()}


def make_roles(server: LocalPostgres) -> None:
    """Make what every database of the server shares."""
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(_ROLES)


@contextlib.contextmanager
def source(server: LocalPostgres, name: str) -> Iterator[Source]:
    """Make a database with the tables of `ODD`, and the user `dms`; both are gone afterwards."""
    found = Source(server, name)
    odd_schema, odd_table = ODD[1].split(".", 1)
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(SQL("create database {} owner master").format(Identifier(name)))
        # The attribute stands for rds_replication.
        admin.execute("create role dms login replication")
        # Whoever made the role may grant it in version 16 and newer, as the master user of RDS may.
        admin.execute("grant dms to master with admin option, inherit false, set false")
    with found.connected("postgres") as connection:
        connection.execute("grant create on schema public to app")
        connection.execute(SQL("create schema {} authorization app").format(Identifier(odd_schema)))
        connection.execute("create schema sales authorization app")
        connection.execute("set role app")
        connection.execute("create table public.orders (id int primary key, note text, doc jsonb)")
        connection.execute("create table public.secrets (id int primary key)")
        odd = SQL('create table {} (id int primary key, "Column ""1""" text)').format(Identifier(odd_schema, odd_table))
        connection.execute(odd)
        # The owner of the tables lets the master user pass the right to read on.
        for table in (Identifier("public", "orders"), Identifier(odd_schema, odd_table)):
            connection.execute(SQL("grant select on {} to master with grant option").format(table))
        connection.execute(SQL("grant usage on schema {} to master with grant option").format(Identifier(odd_schema)))
    try:
        yield found
    finally:
        with psycopg.connect(server.dsn(), autocommit=True) as admin:
            for (slot,) in admin.execute("select slot_name from pg_replication_slots where database = %s", (name,)).fetchall():
                admin.execute("select pg_drop_replication_slot(%s)", (slot,))
            admin.execute(SQL("drop database {} with (force)").format(Identifier(name)))
            admin.execute("drop role if exists dms")


_CHANGE = re.compile(
    r"^table (?P<table>\S+): INSERT: .* c_user\[[^]]*\]:'(?P<user>[^']*)' .* c_tag\[[^]]*\]:'(?P<tag>[^']*)' .*"
    r" c_schema\[[^]]*\]:'(?P<schema>[^']*)' c_ddlqry\[[^]]*\]:'(?P<text>.*)'$",
    re.DOTALL,
)


def captured(lines: list[tuple[str]], table: str) -> list[tuple[str, str, str, str]]:
    """Return user, tag, schema and text of the DDL in what a slot of `test_decoding` gives."""
    found = [match for (line,) in lines if (match := _CHANGE.match(line)) and match["table"] == table]
    return [(one["user"], one["tag"], one["schema"], one["text"].replace("''", "'")) for one in found]
