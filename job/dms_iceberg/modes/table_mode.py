"""What distinguishes the modes of silver tables: one frozen description of each, which every step asks. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs

from dms_iceberg.modes.metadata_columns import METADATA_COLUMNS, Metadata, row_columns
from dms_iceberg.modes.statement import MergeSource, mergeable


class MergeText(Protocol):
    """Returns the MERGE of a view into a table, by the quoted name of the table, the view, and the silver columns of key and values."""

    def __call__(self, target: str, source: MergeSource, key: Sequence[str], values: Sequence[str], *, compare: bool) -> str:
        """Return the text; ``compare``: the view may have rows that are older than the table's."""


@attrs.frozen(eq=False)
class Truncate:
    """What a truncate makes of a table's rows.

    Attributes:
        ends: returns SQL that is true for rows which it ends, by the SQL of its position and of its time.
        sql: returns the statement, by the quoted name of the table, the SQL of ``ends``, of its position and of its time.
    """

    ends: Callable[[str, str], str]
    sql: Callable[[str, str, str, str], str]


@attrs.frozen(kw_only=True, eq=False)
class TableMode:
    """What the tables of one mode hold, how a batch is written into them, and what other steps make of their rows.

    By default a mode takes neither the direct path nor the bulk load, a complete load is merged into its tables, no table becomes one of
    it, and ``verify`` skips them.

    Attributes:
        name: the mode's name in the configuration.
        own_columns: the metadata columns that only its tables have.
        mark: the column, true or false, that says whether a row is at the source; empty without one.
        present: SQL that is true for rows that are at the source.
        live: SQL that is 1 for such rows where a rebuild compares content, else 0.
        single: SQL that is 1 for rows of which a key may have only one, else 0.
        has_values: SQL that is true for rows with values, where some have none; empty if all have them.
        states_select: returns the select list that makes the table's rows of the result of a batch (`MergeInput.latest`), by the silver
            columns; None where the result has the table's columns.
        written: SQL that is true for the rows of that result which are written.
        inserted: SQL that is true for those of them that an empty table gets.
        merge_sql: returns the MERGE of them; None where they are appended.
        direct_select: returns the select list of the rows that come to the driver of a direct batch; None where none is written directly.
        switch: by own column, SQL of the value that a mirror's row gets when the mirror becomes a table of this mode; empty if it cannot.
        truncate: what a truncate makes of the rows; None where it is a row of its own.
        is_log: a row is a change. None ever leaves or is replaced, deletes are rows, and all rows of a complete load are added.
        has_versions: a row is a version, which needs the commit time at which it begins; ``track_columns`` say what begins one.
        keeps_every_change: each change is in the table once, so one that DMS writes again must be recognised.
        keeps_deleted: a deleted row stays, so a key has a newest row beside its newest change.
        forgets_older: what is older than a key's row has no effect.
        is_replaced_by_load: a complete load becomes the content; otherwise it is merged into it.
        takes_partial_updates: updates may leave columns out, whose values are then kept.
        is_bulk_loaded: a large full load is written as it is read.
        is_verified: the table has the rows that the source has now, and no others.
    """

    name: str
    own_columns: Mapping[str, Metadata] = attrs.field(factory=dict)
    mark: str = ""
    present: str = "true"
    live: str = "1"
    single: str = "1"
    has_values: str = ""
    states_select: Callable[[Sequence[str]], list[str]] | None = None
    written: str = mergeable()
    inserted: str = "true"
    merge_sql: MergeText | None
    direct_select: Callable[[Sequence[str]], list[str]] | None = None
    switch: Mapping[str, str] = attrs.field(factory=dict)
    truncate: Truncate | None
    is_log: bool = False
    has_versions: bool = False
    keeps_every_change: bool = False
    keeps_deleted: bool = False
    forgets_older: bool = False
    is_replaced_by_load: bool = False
    takes_partial_updates: bool = False
    is_bulk_loaded: bool = False
    is_verified: bool = False

    @property
    def metadata_columns(self) -> Mapping[str, Metadata]:
        """All metadata columns of its tables, in their order."""
        return {**METADATA_COLUMNS, **self.own_columns}

    def row_select(self, columns: Sequence[str]) -> list[str]:
        """Return the select list of the table's rows over the result of a batch; ``columns`` are the silver columns."""
        return self.states_select(columns) if self.states_select is not None else row_columns(columns, self.own_columns)
