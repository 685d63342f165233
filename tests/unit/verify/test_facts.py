"""What a source shows of itself, and what therefore speaks against a repair: a table of facts and judgements."""

from collections.abc import Mapping

import attrs
import pytest

from dms_iceberg.verify.facts import (
    Facts,
    NotedSource,
    Statement,
    behind_silver,
    hidden_commit,
    longest_write,
    mysql_doubts,
    mysql_identity,
    mysql_is_copy,
    mysql_position,
    postgres_doubts,
)

HERE = Facts(
    engine="postgresql",
    identity={"system identifier": "71", "timeline": "00000001", "database oid": "5"},
    position={"WAL position": 900},
)
NOTED = NotedSource.of(HERE)
A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429563"


@pytest.mark.parametrize(
    ("identity", "position", "says"),
    [
        ({}, None, None),
        ({}, {}, "restored from a backup, or made again (WAL position 0, before 900)"),
        ({}, {"WAL position": 901}, None),
        ({}, {"WAL position": 899}, "WAL position 899, before 900"),
        ({"system identifier": "72"}, None, "another server or database"),
        ({"database oid": "6"}, None, "database oid 6, before 5"),
        # A promoted standby, or a restored backup: only the operator knows which.
        ({"timeline": "00000002"}, {"WAL position": 1000}, "timeline 00000002, before 00000001"),
        # What the user may not see now is not compared.
        ({"system identifier": "", "timeline": ""}, None, None),
        ({"system identifier": "", "database oid": "6"}, None, "database oid 6"),
    ],
)
def test_only_the_noted_source_is_the_same(identity: Mapping[str, str], position: Mapping[str, int] | None, says: str | None) -> None:
    facts = attrs.evolve(HERE, identity={**HERE.identity, **identity}, position=position)
    found = NOTED.contradictions(facts)
    assert (not found) if says is None else says in found[0]


def test_another_engine_is_another_source() -> None:
    assert "earlier comparisons were with postgresql" in NOTED.contradictions(attrs.evolve(HERE, engine="mysql", identity={}))[0]


def test_a_note_grows_with_what_is_seen_and_a_counter_never_falls() -> None:
    blind = attrs.evolve(HERE, identity={**HERE.identity, "system identifier": ""}, position=None)
    note = NotedSource.of(blind).after(HERE)
    assert note.identity == HERE.identity
    later = note.after(attrs.evolve(blind, position={"WAL position": 100}), "20260301100000123456")
    assert (later.identity, later.position, later.repaired) == (HERE.identity, {"WAL position": 900}, "20260301100000123456")
    assert HERE.token == "postgresql:71:00000001:5"
    assert blind.token == "postgresql:?:00000001:5"


@pytest.mark.parametrize(
    ("shown", "committed", "repaired", "is_behind"),
    [
        ("20260301100000120000", "20260301100000120", "", False),
        # DMS's sequence has hundredths of a second.
        ("20260301100000129999", "20260301100000120", "", False),
        ("20260301100000110000", "20260301100000120", "", True),
        ("20260301100000110000", "20260301100000120", "20260301100000123456", False),
        ("20260301100000110000", "20260301110000120", "20260301100000123456", True),
        ("", "20260301100000120", "", False),
        ("20260301100000110000", "", "", False),
    ],
)
def test_a_source_that_lacks_commits_of_silver_is_behind_it(shown: str, committed: str, repaired: str, is_behind: bool) -> None:
    found = behind_silver(attrs.evolve(HERE, committed=shown), committed, repaired)
    assert (found is not None) == is_behind


@pytest.mark.parametrize("name", ["standby", "subscribed", "has_children", "foreign_parts"])
def test_each_kind_of_postgresql_that_is_not_the_source_is_named(name: str) -> None:
    kinds = {"standby": "standby", "subscribed": "subscription", "has_children": "pg_inherits", "foreign_parts": "foreign tables"}
    (one,) = postgres_doubts(**{kind: kind == name for kind in kinds})
    assert kinds[name] in one
    assert postgres_doubts(**dict.fromkeys(kinds, False)) == ()


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("subscribed", "GRANT SELECT ON pg_catalog.pg_subscription_rel"),
        ("has_children", "GRANT SELECT ON pg_catalog.pg_inherits"),
        ("foreign_parts", "GRANT EXECUTE ON FUNCTION pg_catalog.pg_partition_tree(regclass)"),
    ],
)
def test_what_a_postgresql_does_not_show_is_a_doubt_that_names_the_right(name: str, right: str) -> None:
    shown: dict[str, bool | None] = dict.fromkeys(("subscribed", "has_children", "foreign_parts"), False)
    (one,) = postgres_doubts(standby=False, **{**shown, name: None})
    assert "cannot be seen" in one
    assert right in one


@pytest.mark.parametrize(
    ("variables", "replicas", "says", "is_copy"),
    [
        ({}, 0, "", False),
        ({"read_only": "OFF", "super_read_only": "OFF", "innodb_read_only": "OFF", "wsrep_on": "OFF"}, 0, "", False),
        ({}, 1, "is a replica", True),
        ({}, 2, "is a replica", True),
        ({"read_only": "ON"}, 1, "is a replica", True),
        # A primary that gives its place away, or a replica whose user may not see it.
        ({"read_only": "ON"}, 0, "read-only (@@read_only)", False),
        ({"read_only": "ON"}, None, "read-only (@@read_only)", False),
        ({"read_only": "NO_LOCK_NO_ADMIN"}, 0, "read-only (@@read_only)", False),
        ({"super_read_only": "ON"}, 0, "@@super_read_only", False),
        # A reader of Aurora has no SHOW REPLICA STATUS.
        ({"innodb_read_only": "ON"}, 0, "@@innodb_read_only", True),
        ({}, None, "cannot be seen", False),
        ({"wsrep_on": "ON"}, 0, "Galera", False),
        ({"group_replication_group_name": "", "group_replication_single_primary_mode": "OFF"}, 0, "", False),
        ({"group_replication_group_name": A, "group_replication_single_primary_mode": "ON"}, 0, "", False),
        ({"group_replication_group_name": A, "group_replication_single_primary_mode": "OFF"}, 0, "one of several primaries", False),
    ],
)
def test_a_mysql_is_repaired_from_only_if_it_follows_nobody(
    variables: Mapping[str, str], replicas: int | None, says: str, is_copy: bool
) -> None:
    found = mysql_doubts(variables, replicas)
    assert (len(found), says in "".join(found)) == (1 if says else 0, True)
    assert mysql_is_copy(variables, replicas) == is_copy


def test_a_mysql_is_known_by_its_uuid_and_a_mariadb_by_what_it_has() -> None:
    assert mysql_identity({"server_uuid": A, "server_id": "1", "hostname": "h"}) == {"server_uuid": A}
    assert mysql_identity({"server_id": "1", "hostname": "h", "port": "3306"}) == {"server_id": "1", "hostname": "h", "port": "3306"}


@pytest.mark.parametrize(
    ("variables", "position"),
    [
        ({}, {}),
        ({"gtid_executed": "", "gtid_binlog_pos": ""}, {}),
        ({"gtid_binlog_pos": "0-1-345,2-7-9"}, {"0": 345, "2": 9}),
        ({"gtid_executed": f"{A}:1-5:7-9,\n{B}:3"}, {A: 9, B: 3}),
        ({"gtid_executed": f"{A}:1-5:blue:1-3:red:8"}, {A: 5, f"{A}:blue": 3, f"{A}:red": 8}),
    ],
)
def test_a_log_is_as_long_as_the_highest_number_of_each_origin(variables: Mapping[str, str], position: Mapping[str, int]) -> None:
    assert mysql_position(variables) == position


@pytest.mark.parametrize(
    ("since", "hidden"), [("", False), ("20260301100000000000", True), ("20260301095959999999", True), ("20260301100000000001", False)]
)
def test_a_commit_that_waits_since_before_the_look_may_be_in_silver_and_in_no_query(since: str, hidden: bool) -> None:
    """One that began to wait later is newer than the repair, and wins over it."""
    found = hidden_commit(attrs.evolve(HERE, waiting_since=since), "20260301100000000000")
    assert (found is not None) == hidden


@pytest.mark.parametrize(("since", "hidden"), [("", False), ("20260301100000999999", True), ("20260301100001000000", False)])
def test_a_statement_of_mysql_that_began_in_the_second_of_the_look_commits_under_an_older_time(since: str, hidden: bool) -> None:
    found = hidden_commit(attrs.evolve(HERE, engine="mariadb", waiting_since=since), "20260301100000000001")
    assert ("PROCESSLIST" in (found or "")) == hidden


@pytest.mark.parametrize(
    ("text", "holds_locks", "writes"),
    [
        ("update t set v = 1", False, True),
        ("  SELECT 1", False, True),
        ("/* a report */ (select 1) union (select f(2))", False, True),
        ("/* of a tool */ explain select f()", False, False),
        ("explain select f()", True, True),
        ("/* a */ update t set v = 1 /* b */ where (select 1)", False, True),
        ("selection()", False, True),
        ("call p()", False, True),
        ("show processlist", False, False),
    ],
)
def test_every_statement_but_a_look_at_the_server_may_write(text: str, holds_locks: bool, writes: bool) -> None:
    assert longest_write([Statement(7, text, holds_locks)]) == (8 if writes else None)


def test_the_oldest_statement_counts() -> None:
    found = [Statement(seconds, "delete from t", False) for seconds in (-1, 0, 61)]
    assert (longest_write(found), longest_write(found[:1]), longest_write([])) == (62, 1, None)


def test_statements_that_the_user_does_not_see_are_not_taken_for_none() -> None:
    (found,) = mysql_doubts({}, 0, hides_statements=True)
    assert "GRANT PROCESS" in found


def test_commits_whose_waits_the_user_does_not_see_are_not_taken_for_none() -> None:
    (found,) = postgres_doubts(standby=False, subscribed=False, has_children=False, foreign_parts=False, hides_waits=True)
    assert "GRANT pg_read_all_stats" in found
