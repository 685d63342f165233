"""Source tables for random histories: their columns, keys and values, and their cleaning, declared and as Python.

Each kind is there for something: a type of key, a filter, a kind of rule, a mask, a column that the log leaves out.
The document's entry and the Python say the same thing; the second is the oracle's.
"""

import datetime as dt
from decimal import Decimal

import attrs

from support.masked_kinds import MASKED, SCALED
from support.oracle import Key, Maker, Row, Unfit, Value
from support.table_kind import KEYS, TableKind, known, make_kind

_BASE = dt.datetime(2024, 2, 29, 23, 59, 59, 999_999)


# --- one bigint, nothing special -----------------------------------------------------------------------------------

PLAIN = make_kind(
    "plain",
    lambda history, index: ((history - 2) * 2**33 + index,),
    {
        "id": ("int8", ()),
        "name": ("wstring", ("Davies", "O'Neil", 'say "hi", ok', "line one\nline two", "back\\slash", None)),
        "amount": ("int4", (-(2**31), 0, 7, None)),
        "price": ("numeric(12,2)", (Decimal("0.10"), Decimal("-9999999999.99"), None)),
        "born": ("date", (dt.date(1899, 12, 31), dt.date(2024, 2, 29), None)),
        "weight": ("real8", (0.1, -2.5e-300, None)),
    },
    [
        {"name": "id", "type": "bigint"},
        {"name": "name", "type": "string"},
        {"name": "Total Amount", "from": "amount", "type": "int"},
        {"name": "select", "from": "price", "type": "decimal(12,2)"},
        {"name": "born", "type": "date"},
        {"name": "weight", "type": "double"},
    ],
    keys=("id",),
)

# --- a composite key of which one part changes, and a filter that rows enter and leave -----------------------------


def _line_key(history: int, index: int) -> Key:
    return (f"o{history}-{'ab'[index % 2]}", index // 2)


FILTERED = make_kind(
    "order_lines",
    _line_key,
    {
        "order": ("wstring", ()),
        "line": ("int4", ()),
        "status": ("wstring", ("open", "closed", "hidden", None)),
        "quantity": ("int4", (1, 2, 3)),
        "checked": ("wstring", ("12", "13", "twelve", None)),
    },
    [
        {"name": "order", "type": "string"},
        {"name": "line", "type": "int"},
        {"name": "status", "type": "string"},
        {"name": "quantity", "type": "int"},
        {"name": "checked", "type": "int"},
    ],
    {"checked": known({"12": 12, "13": 13}, "checked")},
    keys=("order", "line"),
    row_filter=lambda row: None if row["status"] is None else row["status"] != "hidden",
    filter="status <> 'hidden'",
)

# --- texts that break naive quoting; a quarantine rule, casts that fail, a split column ----------------------------

_UGLY = ("O'Brien {}", 'say "{}"', "back\\{}\\", "${{x}} $1 {}", "Ωß 日本 😀 {}", "a,b;\t-- {}")
_MOMENTS = {
    "2024-02-29 10:00:00": dt.datetime(2024, 2, 29, 10, 0, 0),
    "1969-12-31 23:59:59.999999": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
}
_PLACES = ("Paris, France", " Lima ,Peru ", "Nowhere", None)


def _place(part: int) -> Maker:
    def make(row: Row) -> Value:
        parts = (row["location"] or "").split(",")
        return parts[part].strip(" ") if row["location"] is not None and part < len(parts) else None

    return make


JUDGED = make_kind(
    "judged",
    lambda history, index: (_UGLY[index].format(history),),
    {
        "code": ("wstring", ()),
        "amount": ("int4", (5, 0, -1, None)),
        "seen_at": ("wstring", (*_MOMENTS, "2024-02-30 10:00:00", "soon", None)),
        "location": ("wstring", _PLACES),
    },
    [
        {"name": "code", "type": "string"},
        {"name": "amount", "type": "int"},
        {"name": "seen_at", "type": "timestamp"},
        {"name": "city", "expr": "trim(split(location, ',')[0])", "type": "string"},
        {"name": "country", "expr": "trim(split(location, ',')[1])", "type": "string"},
    ],
    {"seen_at": known(_MOMENTS, "seen_at"), "city": _place(0), "country": _place(1)},
    keys=("code",),
    quarantine=(lambda row: None if row["amount"] is None else row["amount"] >= 0,),
    drop=(),
    rules=[{"name": "amount_not_negative", "expr": "amount >= 0"}],
)
JUDGED = attrs.evolve(JUDGED, document={**JUDGED.document, "drop": ["location"]})

# --- a decimal key, and a rule that drops --------------------------------------------------------------------------

DROPPED = make_kind(
    "dropped",
    lambda history, index: (Decimal(history) + Decimal(index) / 100 - 3,),
    {
        "number": ("numeric(12,2)", ()),
        "quantity": ("int4", (1, 2, 0, None)),
        "happened": ("datetime", (_BASE, dt.datetime(2024, 3, 31, 2, 30), None)),
    },
    [
        {"name": "number", "type": "decimal(12,2)"},
        {"name": "quantity", "type": "int"},
        {"name": "happened", "type": "timestamp"},
    ],
    keys=("number",),
    drop=(lambda row: None if row["quantity"] is None else row["quantity"] > 0,),
    rules=[{"name": "something_ordered", "expr": "quantity > 0", "on_fail": "drop"}],
)

# --- a key that is an instant --------------------------------------------------------------------------------------

CLOCK = make_kind(
    "clock",
    lambda history, index: (_BASE + dt.timedelta(days=history - 3, microseconds=index),),
    {"at": ("datetime", ()), "reading": ("int8", (1, -(2**62), None))},
    [{"name": "at", "type": "timestamp"}, {"name": "reading", "type": "bigint"}],
    keys=("at",),
)

# --- keys that are no key in silver: NULL by an expression, or of the wrong kind -----------------------------------


def _code_key(history: int, index: int) -> Key:
    return ("none" if index == 0 and history == 0 else f" k{history}x{index} ",)


def _code(row: Row) -> Value:
    made = row["code"].strip(" ").upper()
    return None if made == "NONE" else made


CODED = make_kind(
    "coded",
    _code_key,
    {"code": ("wstring", ()), "note": ("wstring", ("a", "b", None))},
    [
        {"name": "code", "expr": "nullif(upper(trim(code)), 'NONE')", "type": "string"},
        {"name": "note", "type": "string"},
    ],
    {"code": _code},
    keys=("code",),
)


def _number_key(history: int, index: int) -> Key:
    return (f"{history}x" if index == 0 else str(history * KEYS + index),)


def _number(row: Row) -> Value:
    if row["number"].endswith("x"):
        raise Unfit(row["number"])
    return int(row["number"])


NUMBERED = make_kind(
    "numbered",
    _number_key,
    {"number": ("wstring", ()), "note": ("wstring", ("a", "b", None))},
    [{"name": "number", "type": "int"}, {"name": "note", "type": "string"}],
    {"number": _number},
    keys=("number",),
)

# --- a part of the key that may be empty text, for formats that tell it from NULL -----------------------------------

EMPTIED = make_kind(
    "emptied",
    lambda history, index: (("", "x", "y")[index % 3], history * 2 + index // 3),
    {
        "code": ("wstring", ()),
        "line": ("int8", ()),
        "note": ("wstring", ('say "hi", ok', "line one\nline two", "", "NULL", None)),
    },
    [{"name": "code", "type": "string"}, {"name": "line", "type": "bigint"}, {"name": "note", "type": "string"}],
    keys=("code", "line"),
)

# --- a column that updates may leave out ---------------------------------------------------------------------------

KEPT = make_kind(
    "kept",
    lambda history, index: (history * KEYS + index,),
    {
        "id": ("int8", ()),
        "title": ("wstring", ("x", "y", None)),
        "body": ("clob", ("long one", "long two", "long three")),
    },
    [
        {"name": "id", "type": "bigint"},
        {"name": "title", "type": "string"},
        {"name": "body", "type": "string", "null_in_update": "keep"},
    ],
    keys=("id",),
    kept=("body",),
)
MOVED = KEPT.named("kept_and_moved")
KEPT = attrs.evolve(KEPT, moves=False)

# --- keys that two rows have at once within a transaction ----------------------------------------------------------

CROWDED = make_kind(
    "crowded",
    lambda history, index: (history * KEYS + index,),
    {
        "id": ("int8", ()),
        "name": ("wstring", ("x", "y", "hidden", None)),
        "size": ("wstring", ("1", "2", "many", None)),
        "note": ("clob", ("long one", "long two", None)),
    },
    [
        {"name": "id", "type": "bigint"},
        {"name": "name", "type": "string"},
        {"name": "size", "type": "int"},
        {"name": "note", "type": "string"},
    ],
    {"size": known({"1": 1, "2": 2}, "size")},
    keys=("id",),
    row_filter=lambda row: row["name"] != "hidden",
    deferred=True,
    images=True,
    in_order=True,
    filter="name is distinct from 'hidden'",
)
SEATS = attrs.evolve(CROWDED.named("seats"), images=False).renamed({"id": "seat", "name": "guest"})

ALL_KINDS: tuple[TableKind, ...] = (
    PLAIN,
    FILTERED,
    JUDGED,
    DROPPED,
    MASKED,
    SCALED,
    CLOCK,
    CODED,
    NUMBERED,
    KEPT,
    MOVED,
    CROWDED,
    SEATS,
)
