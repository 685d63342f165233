"""A folder as a DMS task writes it, with every switch, from changes that are made up: no database is needed."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import attrs

from dms_emulator.files import Change, ChangeSequence, DatePartition, FileShape, TableLayout, cdc_key, encode, load_key
from dms_emulator.files import Column as FileColumn
from dms_iceberg.discover.catalog import Catalog, Column, Identity, Index, Table
from dms_iceberg.dms.types import DmsType
from dms_iceberg.source.address import Engine

DAY = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)
ORDERS = TableLayout(
    "shop",
    "orders",
    (
        FileColumn("order_id", "int8", key=True),
        FileColumn("customer", "wstring"),
        FileColumn("total", "numeric(12,2)"),
        FileColumn("placed", "datetime"),
        FileColumn("paid", "wstring"),
    ),
)
LINES = TableLayout(
    "shop", "order_lines", (FileColumn("order_id", "int8", key=True), FileColumn("line_no", "int4", key=True), FileColumn("sku", "wstring"))
)


def catalog_of(name: str, columns: Sequence[tuple[str, str, str, str]], *others: Table) -> Catalog:
    """What a PostgreSQL with a table says of it, and of others: columns with type, type as shown, and DMS's type; the first is the key."""
    (key, *_), *_ = columns
    table = Table(
        schema="shop",
        name=name,
        identity=Identity.PRIMARY_KEY,
        columns=tuple(
            Column(name=column, type=type_, shown=shown, nullable=column != key, dms=DmsType.parse(dms))
            for column, type_, shown, dms in columns
        ),
        unique=(Index(name=f"{name}_pkey", columns=(key,), primary=True),),
    )
    return Catalog(engine=Engine.POSTGRESQL, database="shop", tables=(table, *others))


CATALOG = catalog_of(
    "orders",
    [
        ("order_id", "int8", "bigint", "int8"),
        ("customer", "varchar", "character varying", "wstring"),
        ("total", "numeric", "numeric(12,2)", "numeric(12,2)"),
        ("placed", "timestamp", "timestamp without time zone", "datetime"),
        ("paid", "bool", "boolean", "boolean"),
    ],
    Table(schema="shop", name="empty", identity=Identity.PRIMARY_KEY),
)
"""What a PostgreSQL with `ORDERS`, and a table without rows, says of them."""


def micros(minute: float) -> int:
    """Microseconds since 1970 of a time so many minutes after 10h of 1 March 2026."""
    return round((DAY + dt.timedelta(minutes=minute)).timestamp() * 1e6)


def order(number: int) -> tuple[object, ...]:
    placed = dt.datetime(2024, 1, 1, 12, 30) + dt.timedelta(days=17 * number)
    return number, f'customer {number}, called "{number}"', Decimal(number) + Decimal("0.50"), placed, "true" if number % 2 else "false"


def line(number: int) -> tuple[object, ...]:
    return number // 3, number % 3, f"sku-{number % 5}"


@attrs.define
class Task:
    """A task that writes into a folder. ``shape`` and ``partition`` may be changed half way."""

    root: Path
    shape: FileShape
    partition: DatePartition | None = None
    key_only_deletes: bool = True
    sequence: ChangeSequence = attrs.field(factory=ChangeSequence)
    positions: int = 0x16B3748

    def load(self, layout: TableLayout = ORDERS, count: int = 40, number: int = 1) -> str:
        """A LOAD file."""
        make = line if layout is LINES else order
        rows = [Change("I", micros(0), make(one)) for one in range(1, count + 1)]
        key = load_key(layout.schema, layout.name, number, self.shape.extension)
        return self._put(key, encode(layout, rows, self.shape, load=True))

    def changes(self, minute: float, layout: TableLayout = ORDERS, *, moved: bool = False) -> str:
        """A CDC file that is closed a minute after its commits: inserts, updates, deletes; ``moved``: and an update of a key."""
        make = line if layout is LINES else order
        first = 100 + 10 * round(minute)
        rows = [self._row("I", minute, make(first + place)) for place in range(3)]
        rows += [self._row("U", minute, make(first)), self._delete(minute, make(first + 1), layout)]
        if moved:
            new, old = make(first + 5), make(first + 2)
            rows.append(attrs.evolve(self._row("U", minute, new), before=tuple(old[place] for place in layout.key_indexes)))
        key = cdc_key(layout.schema, layout.name, micros(minute + 1) // 1000, self.shape.extension, self.partition)
        return self._put(key, encode(layout, rows, self.shape))

    def _row(self, op: str, minute: float, values: Sequence[object]) -> Change:
        self.positions += 8
        at = micros(minute)
        self.sequence.begin(at)
        return Change(op, at, tuple(values), self.sequence.advance(), f"0/{self.positions:X}")  # type: ignore[arg-type]

    def _delete(self, minute: float, values: Sequence[object], layout: TableLayout) -> Change:
        kept = tuple(value if place in layout.key_indexes or not self.key_only_deletes else None for place, value in enumerate(values))
        return self._row("D", minute, kept)

    def _put(self, key: str, data: bytes) -> str:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return key
