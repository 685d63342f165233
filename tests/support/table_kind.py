"""What a source table for random histories is: columns, keys, values, and its cleaning twice over."""

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import attrs

from dms_emulator.files import BeforeImages, Column, TableLayout
from support.oracle import Cleaning, Condition, Key, Maker, Row, Unfit, Value
from support.task_files import BronzeFile

SCHEMA = "public"
KEYS = 6


@attrs.frozen(kw_only=True)
class TableKind:
    """A source table, and what is declared for it.

    Attributes:
        layout: the source's columns as DMS writes them.
        key: (history, index below `KEYS`) -> source key. No two of them share a silver key.
        pools: values of each column that is not in the key.
        cleaning: what silver must hold, as Python.
        document: the same as an entry of the configuration's ``tables``.
        kept: columns that an update may leave out (``null_in_update: keep``); they are never NULL at the source.
        moves: whether keys change.
        other_layouts: what change files have by turns instead of ``layout``: other types of the same columns, which hold the same values.
        first_layout: what silver holds, as Python, by the layout of the file that was merged first; None where that does not matter.
        lifetimes: columns that the source adds and drops under way: from which part of its transactions on, and up to which, it has them.
        restructured: a task that starts again writes older changes with the columns that the source has by then.
        former_names: names that columns had before, which files have by turns, where files name their columns.
        spellings: values of key columns that are written in several ways.
        deferred: rows may share a key within a transaction.
        images: the files have before-images of all columns.
        in_order: files arrive in order, and the full load holds no change that comes again.
    """

    layout: TableLayout
    key: Callable[[int, int], Key]
    pools: Mapping[str, tuple[Value, ...]]
    cleaning: Cleaning
    document: Mapping[str, Any]
    kept: tuple[str, ...] = ()
    moves: bool = True
    deferred: bool = False
    images: bool = False
    in_order: bool = False
    other_layouts: tuple[TableLayout, ...] = ()
    first_layout: Callable[[TableLayout], Cleaning] | None = None
    lifetimes: Mapping[str, tuple[float, float]] = attrs.field(factory=dict)
    restructured: bool = False
    former_names: Mapping[str, str] = attrs.field(factory=dict)
    spellings: Mapping[Value, tuple[Value, ...]] = attrs.field(factory=dict)

    def columns_at(self, place: int, count: int) -> frozenset[str]:
        """The columns that the source has at transaction ``place`` of ``count``."""
        gone = {name for name, (begin, end) in self.lifetimes.items() if not begin * count <= place < end * count}
        return frozenset(column.name for column in self.layout.columns) - gone

    @property
    def forgotten(self) -> frozenset[str]:
        """Columns whose values are lost where a change is written again after the source has dropped them."""
        return frozenset(name for name, (_, end) in self.lifetimes.items() if self.restructured and end < 1)

    def layout_of(self, file: BronzeFile) -> TableLayout:
        """The columns of a file."""
        if file.columns is not None:
            return attrs.evolve(self.layout, columns=[column for column in self.layout.columns if column.name in file.columns])
        layouts = (self.layout, *(() if file.is_load else self.other_layouts))
        return layouts[crc32(str(file.order).encode()) % len(layouts)]

    def named_in(self, file: BronzeFile, layout: TableLayout) -> TableLayout:
        """``layout`` with the names that a file has for its columns."""
        former = self.former_names if crc32(file.name.encode()) % 2 else {}
        return attrs.evolve(layout, columns=[attrs.evolve(one, name=former.get(one.name, one.name)) for one in layout.columns])

    def begun_with(self, file: BronzeFile) -> "TableKind":
        """The kind in a world whose first file to be merged is ``file``."""
        return self if self.first_layout is None else attrs.evolve(self, cleaning=self.first_layout(self.layout_of(file)))

    @property
    def only_once(self) -> bool:
        """Whether a change written twice can't be merged from its position alone.

        A key change that leaves out a kept column takes it from the old key's row, which is gone when the change
        comes a second time. Only knowing it again would help (design: identity is not position).
        """
        return self.moves and bool(self.kept)

    @property
    def imaged_columns(self) -> set[str]:
        """Source columns that have a before-image."""
        return {self.layout.columns[place].name for place in self.layout.imaged_indexes(BeforeImages.ALL)}

    def made_of(self, name: str) -> set[str]:
        """The source columns that a silver column is made of, for kinds without expressions."""
        return {entry.get("from", entry["name"]) for entry in self.document["columns"] if entry["name"] == name}

    @property
    def name(self) -> str:
        """The table's name without its schema."""
        return self.layout.name

    @property
    def source(self) -> str:
        """``schema.table``, as the configuration names it."""
        return f"{self.layout.schema}.{self.layout.name}"

    def renamed(self, former_names: Mapping[str, str]) -> "TableKind":
        """The same source, whose columns had other names once."""
        declared = [
            {**entry, "renamed_from": former_names[entry["name"]]} if entry["name"] in former_names else entry
            for entry in self.document["columns"]
        ]
        return attrs.evolve(self.with_entry({"columns": declared}), former_names=former_names)

    def named(self, name: str) -> "TableKind":
        """The same source under another name."""
        return attrs.evolve(self.with_entry({"target": f"silver.{name}"}), layout=attrs.evolve(self.layout, name=name))

    def with_entry(self, entry: Mapping[str, Any]) -> "TableKind":
        """The same source, with more in its entry of the configuration."""
        return attrs.evolve(self, document={**self.document, **entry})


def _copy(column: str) -> Maker:
    return lambda row: row[column]


def make_kind(
    name: str,
    key: Callable[[int, int], Key],
    columns: dict[str, tuple[str, tuple[Value, ...]]],
    declared: list[dict[str, Any]],
    makers: dict[str, Maker] | None = None,
    *,
    keys: tuple[str, ...],
    silver_key: tuple[str, ...] | None = None,
    row_filter: Condition | None = None,
    drop: tuple[Condition, ...] = (),
    quarantine: tuple[Condition, ...] = (),
    kept: tuple[str, ...] = (),
    deferred: bool = False,
    images: bool = False,
    in_order: bool = False,
    **document: Any,
) -> TableKind:
    """A kind whose silver columns copy source columns, but for those that ``makers`` names.

    Args:
        name: of the table.
        key: see `TableKind`.
        columns: source column -> DMS type and pool of values (empty for key columns).
        declared: the document's ``columns``.
        makers: silver column -> how it is made, where it is not a copy.
        keys: source key columns.
        silver_key: their silver columns, where they have other names.
        row_filter: the filter as Python.
        drop: rules that drop, as Python.
        quarantine: rules that quarantine, as Python.
        kept: see `TableKind`; so are the next three.
        deferred: as said.
        images: as said.
        in_order: as said.
        document: further keys of the document's entry.
    """
    made = {entry["name"]: _copy(entry.get("from", entry["name"])) for entry in declared} | (makers or {})
    layout = TableLayout(SCHEMA, name, tuple(Column(column, text, column in keys) for column, (text, _) in columns.items()))
    cleaning = Cleaning(
        source_key=keys,
        silver_key=silver_key or keys,
        columns=made,
        filter=row_filter,
        drop=drop,
        quarantine=quarantine,
    )
    entry = {"target": f"silver.{name}", "key": list(keys), "columns": declared, **document}
    pools = {column: pool for column, (_, pool) in columns.items() if column not in keys}
    return TableKind(
        layout=layout,
        key=key,
        pools=pools,
        cleaning=cleaning,
        document=entry,
        kept=kept,
        deferred=deferred,
        images=images,
        in_order=in_order or bool(kept),
    )


def known(mapping: Mapping[Value, Value], column: str) -> Maker:
    """A cast whose results are known one by one; what is not in the mapping does not fit."""

    def make(row: Row) -> Value:
        text = row[column]
        if text is None:
            return None
        if text not in mapping:
            raise Unfit(f"{column}: {text!r}")
        return mapping[text]

    return make
