"""What silver must hold, told from the source's committed transactions alone.

Written from what DMS documents and from the rules on filters, rules, casts and key changes; it knows nothing of files,
positions, batches or Spark. Whoever disagrees with it is wrong, or this is: there is no third way.

The rules, for a table that mirrors its source:

* A row's silver version is made of its declared columns. It is *bad* when a value does not fit its column, a key part
  is NULL, or a quarantine rule says false. A bad change is set aside as a whole, so the last good version of its key stays.
* A row that a filter does not accept (false or NULL), or that a drop rule refuses (false), is not in silver from then on.
  The filter comes first: a row outside it has no business in silver, whatever else is wrong with it.
* A delete is never filtered, judged or cast, but for its own key.
* A change of key ends the old key, always, even when the new row is bad: the old key is no longer at the source.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

Value: TypeAlias = Any
Row: TypeAlias = Mapping[str, Value]
Key: TypeAlias = tuple[Value, ...]
Maker: TypeAlias = Callable[[Row], Value]
Condition: TypeAlias = Callable[[Row], bool | None]


class Unfit(Exception):
    """A value that cannot become what its silver column declares."""


@attrs.frozen
class Insert:
    """A new source row."""

    table: str
    row: Row


@attrs.frozen
class Update:
    """A source row's new values. ``key`` is the key it had; ``unsent`` names columns that the source's log left out.

    ``before`` is the whole row before, where two rows have the key at that moment.
    """

    table: str
    key: Key
    row: Row
    unsent: frozenset[str] = frozenset()
    before: Row | None = None


@attrs.frozen
class Delete:
    """The end of a source row. ``row`` is what it held: a MySQL log has it, a PostgreSQL one only the key."""

    table: str
    key: Key
    row: Row


@attrs.frozen
class Truncate:
    """The end of all rows of a table, in a transaction of its own. A log has no record of it that DMS would write."""

    table: str


RowStatement: TypeAlias = Insert | Update | Delete
Statement: TypeAlias = RowStatement | Truncate


@attrs.frozen
class Transaction:
    """Statements committed together, in order; ``commit_us`` is microseconds since 1970 UTC."""

    commit_us: int
    statements: tuple[Statement, ...]


@attrs.frozen(kw_only=True)
class Cleaning:
    """What is declared for one table, as Python.

    Attributes:
        source_key: the source's key columns.
        silver_key: the silver columns that hold them, in the same order; their makers read source key columns only.
        columns: silver column -> how it is made of a source row. A maker raises `Unfit`.
        filter: rows that belong to silver, or None for all. NULL does not pass.
        drop: rules with ``on_fail: drop``. NULL passes.
        quarantine: rules with ``on_fail: quarantine``. NULL passes.
    """

    source_key: tuple[str, ...]
    silver_key: tuple[str, ...]
    columns: Mapping[str, Maker]
    filter: Condition | None = None
    drop: tuple[Condition, ...] = ()
    quarantine: tuple[Condition, ...] = ()

    def key_of(self, row: Row) -> Key:
        """The source key of a row."""
        return tuple(row[name] for name in self.source_key)

    def silver_key_of(self, key: Key) -> Key | None:
        """The silver key made of a source key, or None when there is none: a part is NULL or does not fit."""
        row = dict(zip(self.source_key, key, strict=True))
        try:
            made = tuple(self.columns[name](row) for name in self.silver_key)
        except Unfit:
            return None
        return None if None in made else made

    def is_accepted(self, row: Row) -> bool:
        """Whether the filter accepts a row."""
        return self.filter is None or self.filter(row) is True

    def silver_row(self, row: Row) -> Row | None:
        """The silver version of a row that the filter accepts, or None when it is bad."""
        if any(rule(row) is False for rule in self.quarantine):
            return None
        try:
            return {name: make(row) for name, make in self.columns.items()}
        except Unfit:
            return None

    def is_bad(self, row: Row) -> bool:
        """Whether an insert or update with this row ends in quarantine."""
        if self.silver_key_of(self.key_of(row)) is None:
            return True
        return self.is_accepted(row) and self.silver_row(row) is None


@attrs.frozen
class SilverTable:
    """The mirror of one source table, brought about one statement at a time in the source's own order."""

    cleaning: Cleaning
    rows: dict[Key, Row] = attrs.field(factory=dict)

    def apply(self, statement: Statement) -> None:
        """Bring one committed statement to silver."""
        match statement:
            case Truncate():
                self.rows.clear()
            case Insert(row=row):
                self.put(row)
            case Delete(key=key):
                self._remove(key)
            case Update(key=key, row=row):
                if key != self.cleaning.key_of(row):
                    self._remove(key)
                self.put(row)

    def put(self, row: Row) -> None:
        """Bring one source row to silver: as a new version, as the end of its key, or not at all."""
        key = self.cleaning.silver_key_of(self.cleaning.key_of(row))
        if key is None:
            return
        if not self.cleaning.is_accepted(row):
            self.rows.pop(key, None)
            return
        made = self.cleaning.silver_row(row)
        if made is None:
            return
        if any(rule(row) is False for rule in self.cleaning.drop):
            self.rows.pop(key, None)
        else:
            self.rows[key] = made

    def _remove(self, source_key: Key) -> None:
        key = self.cleaning.silver_key_of(source_key)
        if key is not None:
            self.rows.pop(key, None)


def apply_to_source(rows: dict[Key, Row], statement: Statement, cleaning: Cleaning) -> None:
    """Apply a statement to a source table's rows.

    Raises:
        ValueError: the source would have refused it (a key that exists already, a row that does not).
    """
    if isinstance(statement, Truncate):
        rows.clear()
        return
    old = None if isinstance(statement, Insert) else statement.key
    new = None if isinstance(statement, Delete) else cleaning.key_of(statement.row)
    if old is not None and old not in rows:
        raise ValueError(f"{statement.table}: no row {old!r} to change")
    if new is not None and new != old and new in rows:
        raise ValueError(f"{statement.table}: key {new!r} exists already")
    if old is not None:
        del rows[old]
    if new is not None and not isinstance(statement, Delete):
        rows[new] = statement.row


def apply_deferred(rows: dict[Key, Row], statements: Iterable[Statement], cleaning: Cleaning) -> None:
    """Apply the statements of a transaction, in which rows may share a key until it ends; updates and deletes name the whole row.

    Raises:
        ValueError: the source would have refused it (a row that does not exist, a key that two rows have at the end).
    """
    there = list(rows.items())
    for statement in statements:
        if isinstance(statement, Truncate):
            there.clear()
            continue
        if not isinstance(statement, Insert):
            before = statement.row if isinstance(statement, Delete) else statement.before
            meant = [one for one in there if one[0] == statement.key and before in (None, one[1])]
            if not meant:
                raise ValueError(f"{statement.table}: no row {statement.key!r} to change")
            there.remove(meant[0])
        if not isinstance(statement, Delete):
            there.append((cleaning.key_of(statement.row), statement.row))
    rows.clear()
    rows.update(there)
    if len(rows) < len(there):
        raise ValueError("a key exists already: two rows have it")


def source_rows(table: str, transactions: Iterable[Transaction], cleaning: Cleaning) -> dict[Key, Row]:
    """The rows of a source table after these transactions."""
    rows: dict[Key, Row] = {}
    for transaction in transactions:
        apply_deferred(rows, (statement for statement in transaction.statements if statement.table == table), cleaning)
    return rows


def expected_silver(
    table: str, transactions: Sequence[Transaction], cleaning: Cleaning, load_at: int = 0, changes_from: int = 0
) -> dict[Key, Row]:
    """The silver table once everything is merged: silver key -> silver row.

    Args:
        table: the source table.
        transactions: all that the source committed, in order.
        cleaning: what is declared for the table.
        load_at: the full load saw the source as it was after so many transactions.
        changes_from: changes are captured from this transaction on; at most ``load_at``. Those before ``load_at`` are
            delivered although the load has them in it already.

    What the load could not know (the good version before a bad row) is not in silver, so both bounds matter where rows
    are quarantined; otherwise they make no difference.
    """
    if not 0 <= changes_from <= load_at <= len(transactions):
        raise ValueError(f"{table}: changes from {changes_from} and load at {load_at} leave a gap")
    silver = SilverTable(cleaning)
    for row in source_rows(table, transactions[:load_at], cleaning).values():
        silver.put(row)
    for transaction in transactions[changes_from:]:
        for statement in transaction.statements:
            if statement.table == table:
                silver.apply(statement)
    return silver.rows
