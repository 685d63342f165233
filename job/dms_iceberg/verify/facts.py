"""What a snapshot shows of the server, the database and the table that it reads, and what therefore speaks against a repair. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from dms_iceberg.bronze.keys import shown_time
from dms_iceberg.bronze.position import CLOCK_DIGITS

_UNKNOWN: Final = "?"


@attrs.frozen(kw_only=True)
class Facts:
    """What a snapshot shows beside its rows.

    Attributes:
        engine: the kind of server, the first word of `token`.
        identity: what distinguishes this source from others, by what the server calls it; "" where the user may not see it.
        position: counters of the server's log, which only grow (LSN; GTIDs by their origin); None where they are not known.
        committed: the newest commit that the source shows, UTC, 20 digits; "" where it does not tell.
        is_copy: the server follows another one (standby, replica): it may lack changes that the other one has.
        doubts: what speaks against a repair from here, a sentence each, with how it is known.
        waiting_since: since when the oldest commit may exist that no query shows yet, UTC, 20 digits; "" for none. PostgreSQL: one that
            waits for a standby. MySQL: the start of the oldest statement that may write, whose commit gets that time.
    """

    engine: str
    identity: Mapping[str, str]
    position: Mapping[str, int] | None = None
    committed: str = ""
    is_copy: bool = False
    doubts: tuple[str, ...] = ()
    waiting_since: str = ""

    @property
    def token(self) -> str:
        """The identity in one word, which an operator repeats to accept the source."""
        return ":".join([self.engine, *(value or _UNKNOWN for value in self.identity.values())])


@attrs.frozen(kw_only=True)
class NotedSource:
    """What earlier comparisons of a table have noted of its source.

    Attributes:
        identity: as in `Facts`.
        position: as in `Facts`, the highest that was seen; empty where none was known.
        repaired: the clock, 20 digits, of the newest repair from there; "" for none.
    """

    engine: str
    identity: Mapping[str, str]
    position: Mapping[str, int] = attrs.field(factory=dict)
    repaired: str = ""

    @classmethod
    def of(cls, facts: Facts) -> "NotedSource":
        """Return what is noted of a source that is new, or accepted."""
        return cls(engine=facts.engine, identity=dict(facts.identity), position=dict(facts.position or {}))

    def after(self, facts: Facts, repaired: str = "") -> "NotedSource":
        """Return the note after another comparison with the same source, and a repair with the clock ``repaired``, if there was one."""
        seen = {name: value for name, value in facts.identity.items() if value}
        counters = {name: max(self.position.get(name, 0), value) for name, value in (facts.position or {}).items()}
        return NotedSource(
            engine=self.engine,
            identity={**self.identity, **seen},
            position={**self.position, **counters},
            repaired=max(self.repaired, repaired),
        )

    def contradictions(self, facts: Facts) -> tuple[str, ...]:
        """Return why ``facts`` are not those of the noted source, a sentence each. Only what is known of both is compared."""
        if facts.engine != self.engine:
            return (f"it is another server than before: {facts.engine}, and earlier comparisons were with {self.engine}",)
        both = [(name, self.identity.get(name, ""), value) for name, value in facts.identity.items()]
        other = [f"{name} {value}, before {noted}" for name, noted, value in both if noted and value and noted != value]
        if other:
            return (f"it is another server or database than before, or was restored or promoted since ({'; '.join(other)})",)
        now = self.position if facts.position is None else facts.position
        back = [f"{name} {now.get(name, 0)}, before {noted}" for name, noted in self.position.items() if now.get(name, 0) < noted]
        if back:
            return (f"its log is shorter than before, so it was restored from a backup, or made again ({'; '.join(back)})",)
        return ()


def behind_silver(facts: Facts, committed: str, repaired: str) -> str | None:
    """Say that silver has a commit that the source does not show; None if it has none, or nothing tells.

    Args:
        facts: of the source.
        committed: commit time of the newest change in silver, 17 digits; "" without one.
        repaired: clock of the newest repair, which has a time of its own and no commit; "" for none.
    """
    newest, shown = committed[:CLOCK_DIGITS], facts.committed[:CLOCK_DIGITS]
    if not newest or not shown or newest <= shown or newest == repaired[:CLOCK_DIGITS]:
        return None
    return (
        f"silver holds a change committed at {shown_time(committed)}, and the newest commit that the source shows is of "
        f"{shown_time(facts.committed[:17])}: the source has lost changes, or is a copy from before them"
    )


def hidden_commit(facts: Facts, clock: str) -> str | None:
    """Say that a commit from before ``clock``, 20 digits, may be hidden; None if there is none.

    PostgreSQL decodes a commit that waits for a synchronous standby, so that silver may have it, but no snapshot shows it. A commit of
    MySQL has the time at which its last statement began, in whole seconds: where each statement commits itself, that of the change, however
    long it runs or waits for a lock. One that began in a later second is newer than a repair with that clock, and wins over it.
    """
    since, second = facts.waiting_since, len("yyyyMMddHHmmss")
    is_mysql = facts.engine != "postgresql"
    if not since or (since[:second] > clock[:second] if is_mysql else since > clock):
        return None
    if is_mysql:
        return (
            f"a statement that may write has been running since {shown_time(since[:17])} or longer (information_schema.PROCESSLIST). Its "
            "change will have the time at which it began, so the repair would win over it. Repeat once it has ended"
        )
    return (
        f"a commit has been waiting for a synchronous standby (wait_event SyncRep) since {shown_time(since[:17])}: DMS "
        "captures it, and no query shows it, so silver may be newer than what can be read. Repeat once the standby follows"
    )


def postgres_doubts(
    *, standby: bool, subscribed: bool | None, has_children: bool | None, foreign_parts: bool | None, hides_waits: bool = False
) -> tuple[str, ...]:
    """Return what speaks against a repair from a PostgreSQL. None: the server does not let the user see it.

    Args:
        standby: ``pg_is_in_recovery()``.
        subscribed: the table is in ``pg_subscription_rel``.
        has_children: other tables inherit from the table, which is not partitioned.
        foreign_parts: a partition is a foreign table.
        hides_waits: commits wait for synchronous standbys, and the user does not see which do.
    """
    found = {
        "the server is a standby (pg_is_in_recovery): it may lack changes that silver has. Name the primary in --source": standby,
        "a subscription fills the table (pg_subscription_rel): it may lack changes of the publisher. Name the publisher": subscribed,
        "tables inherit from the table (pg_inherits), and whether DMS has loaded their rows as its own is not known. Load it again": (
            has_children
        ),
        "partitions of the table are foreign tables (relkind f), whose changes another server has": foreign_parts,
    }
    tables = "GRANT SELECT ON pg_catalog"
    unseen = {
        f"a subscription fills the table cannot be seen. Let the user see it: {tables}.pg_subscription_rel": subscribed,
        f"tables inherit from the table cannot be seen. Let the user see it: {tables}.pg_inherits and pg_catalog.pg_class": has_children,
        "partitions of the table are foreign tables cannot be seen. Let the user see it: GRANT EXECUTE ON FUNCTION "
        "pg_catalog.pg_partition_tree(regclass) and SELECT ON pg_catalog.pg_class": foreign_parts,
    }
    shown = [text for text, is_so in found.items() if is_so]
    waits = (
        "whether commits wait for a synchronous standby (synchronous_standby_names) cannot be seen: silver may have one that no query "
        "shows. Let the user see it: GRANT pg_read_all_stats"
    )
    return (*shown, *(f"whether {text}" for text, is_so in unseen.items() if is_so is None), *([waits] if hides_waits else []))


_ON = frozenset({"ON", "1"})


@attrs.frozen
class Statement:
    """A statement that another session of MySQL runs.

    Attributes:
        seconds: for how long, rounded down.
        text: its beginning.
        holds_locks: whether its transaction has locks or changes.
    """

    seconds: int
    text: str
    holds_locks: bool

    @property
    def may_write(self) -> bool:
        """Whether it is anything but a look at the server: a query may call a function that writes, by itself or through a view."""
        return self.holds_locks or _READS.match(self.text) is None


# Behind comments and parentheses.
_READS: Final = re.compile(r"(?:[\s(]|/\*[^*]*\*/)*(?:show|explain|describe|desc)\b", re.IGNORECASE)


def longest_write(statements: Iterable[Statement]) -> int | None:
    """Return for how many seconds, rounded up, the oldest statement that may write has been running; None without one."""
    return max((max(0, one.seconds) + 1 for one in statements if one.may_write), default=None)


def mysql_doubts(variables: Mapping[str, str], replicas: int | None, *, hides_statements: bool = False) -> tuple[str, ...]:
    """Return what speaks against a repair from a MySQL or MariaDB.

    Args:
        variables: global variables by name.
        replicas: rows of SHOW REPLICA STATUS; None where the user may not see it.
        hides_statements: the user does not see which statements other sessions run.
    """
    # MariaDB 12 has words beside ON and OFF.
    reads = [name for name in ("read_only", "super_read_only", "innodb_read_only") if variables.get(name, "OFF") not in ("OFF", "0", "")]
    found = []
    if replicas:
        found.append(
            "the server is a replica (SHOW REPLICA STATUS): changes that it has not applied yet have older times than a repair. "
            "Name the primary in --source, also where the task reads the replica"
        )
    elif reads:
        found.append(f"the server is read-only (@@{reads[0]}), as replicas are. Name the primary in --source")
    elif replicas is None:
        found.append(
            "whether the server is a replica cannot be seen. Let the user see SHOW REPLICA STATUS: GRANT REPLICATION CLIENT (MySQL) or "
            "REPLICA MONITOR (MariaDB) ON *.*"
        )
    if variables.get("wsrep_on", "OFF") in _ON:
        found.append("the server is a node of a Galera cluster (@@wsrep_on), which may be behind the other nodes")
    if variables.get("group_replication_group_name") and variables.get("group_replication_single_primary_mode") not in _ON:
        # MySQL manual, "Multi-Primary and Single-Primary Modes"; not tried.
        found.append(
            "the server is one of several primaries of a group (@@group_replication_single_primary_mode), and may be behind the others"
        )
    if hides_statements:
        found.append(
            "whether a statement that began earlier still runs cannot be seen: its change would have an older time than the repair. Let "
            "the user see it: GRANT PROCESS ON *.*"
        )
    return tuple(found)


def mysql_is_copy(variables: Mapping[str, str], replicas: int | None) -> bool:
    """Whether a MySQL or MariaDB is known to follow another server."""
    return bool(replicas) or variables.get("innodb_read_only", "OFF") in _ON


def mysql_identity(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what a server is known by: MySQL's UUID. MariaDB has none: two servers with one number, host name and port look the same."""
    names = ("server_uuid",) if "server_uuid" in variables else ("server_id", "hostname", "port")
    return {name: variables.get(name, "") for name in names}


def mysql_position(variables: Mapping[str, str]) -> dict[str, int]:
    """Return the highest number of the log's GTIDs by their origin: a server's UUID with its tag (MySQL), a domain (MariaDB)."""
    found: dict[str, int] = {}
    for text in "".join(variables.get("gtid_binlog_pos", "").split()).split(","):
        domain, _, rest = text.partition("-")
        if rest:
            found[domain] = max(found.get(domain, 0), int(rest.rpartition("-")[2]))
    for text in "".join(variables.get("gtid_executed", "").split()).split(","):
        origin = ""
        for part in text.split(":"):
            numbers = part.split("-")
            if origin and all(number.isdecimal() for number in numbers):
                found[origin] = max(found.get(origin, 0), int(numbers[-1]))
            else:
                # A UUID, or a tag behind it, which holds for the numbers up to the next one.
                origin = f"{text.partition(':')[0]}:{part}" if origin else part
    return found
