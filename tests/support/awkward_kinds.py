"""Source tables for random histories whose keys, numbers or names are awkward.

Keys that SQL literals, files or readers may change; numbers with more digits than a double holds; floating point keys that are equal but
not the same; columns named as what the job names in its own SQL.
"""

import math
from decimal import Decimal
from operator import itemgetter

import attrs

from support.masked_kinds import MASKED
from support.oracle import Key, Maker, Row, Unfit, Value
from support.table_kind import TableKind, make_kind

# --- text keys: NUL before digits, the character that readers make of what is no UTF-8, 70,000 characters ------------


def _awkward_key(history: int, index: int) -> Key:
    return (
        (
            f"\x000{history}1",
            f"\ufffd{history}",
            "k" * 70_000 if history == 0 else f"\x00\x00{history}77",
            f"{history}\\'\x00017$1",
            f"e\u0301{history}",
            f"é{history} ",
        )[index],
    )


AWKWARD = make_kind(
    "awkward",
    _awkward_key,
    {"code": ("wstring", ()), "note": ("wstring", ("a", "\x00", "b\x001", "\ufffd", None)), "size": ("int4", (1, 2, None))},
    [{"name": "code", "type": "string"}, {"name": "note", "type": "string"}, {"name": "size", "type": "int"}],
    keys=("code",),
)

# --- bytes that are no UTF-8, for Parquet: a line of text that holds such bytes is quarantined as a whole ------------

# Python's way to hold bytes that are no UTF-8: each such byte is a lone surrogate.
_NO_UTF8 = "\udcff"


def _text(column: str) -> Maker:
    def make(row: Row) -> Value:
        text = row[column]
        if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
            raise Unfit(column)
        return text

    return make


NO_TEXT = attrs.evolve(
    make_kind(
        "no_text",
        lambda history, index: (f"{_NO_UTF8 if index == 0 else ''}{history}x{index}",),
        {"code": ("wstring", ()), "note": ("wstring", ("a", "b", "\udcc3(", None))},
        [{"name": "code", "type": "string"}, {"name": "note", "type": "string"}],
        {"code": _text("code"), "note": _text("note")},
        keys=("code",),
    ),
    # An update away from such a key is quarantined as a whole.
    moves=False,
).renamed({"code": "sign"})

# --- numbers that a double does not hold, as keys too ---------------------------------------------------------------

EXACT = make_kind(
    "exact",
    lambda history, index: (Decimal(f"{12345678901234567 + history}.{index}9"),),
    {
        "number": ("numeric(30,2)", ()),
        "price": ("numeric(38,18)", (Decimal("12345678901234567890.123456789012345678"), Decimal("-0.000000000000000001"), None)),
        "share": ("numeric(12,10)", (Decimal("0.1000000000"), Decimal("1.1000000000"), Decimal("-9.9999999999"), None)),
        "count": ("int8", (2**63 - 1, -(2**63), 2**53 + 1, None)),
    },
    [
        {"name": "number", "type": "decimal(30,2)"},
        {"name": "price", "type": "decimal(38,18)"},
        {"name": "share", "type": "decimal(12,10)"},
        {"name": "count", "type": "bigint"},
    ],
    keys=("number",),
)

# --- floating point keys: 0.0 and -0.0 are one key, and so are all NaN ----------------------------------------------

NAN = math.nan
"""The one NaN of keys and values, as no other would equal it."""


def _floating_key(history: int, index: int) -> Key:
    return ((0.0, NAN, math.inf, -math.inf, 5e-324, 0.1 + 0.2)[index] if history == 0 else history + index / 8,)


FLOATING = attrs.evolve(
    make_kind(
        "floating",
        _floating_key,
        {"at": ("real8", ()), "note": ("wstring", ("a", "b", None)), "weight": ("real8", (NAN, math.inf, -0.0, 1.7e308, None))},
        [{"name": "at", "type": "double"}, {"name": "note", "type": "string"}, {"name": "weight", "type": "double"}],
        keys=("at",),
    ),
    spellings={0.0: (0.0, -0.0)},
)

# --- columns named as aliases, fields and columns of the job's own SQL ----------------------------------------------

_WORDS = "s t position kind row file count at stream content value v k r i id record rest gone low high found winners"
_NAMES = (*_WORDS.split(), "dotted.name", "back`quote")

OURS = make_kind(
    "ours",
    lambda history, index: (history, f"k{index % 2}", index // 2),
    {
        "source": ("int8", ()),
        "key": ("wstring", ()),
        "n": ("int4", ()),
        **{name: ("wstring", (f"{name} 1", f"{name} 2", None)) for name in _NAMES},
    },
    [
        {"name": "source", "type": "bigint"},
        {"name": "key", "type": "string"},
        {"name": "n", "type": "int"},
        *({"name": name, "type": "string"} for name in _NAMES),
    ],
    keys=("source", "key", "n"),
    row_filter=lambda row: row["kind"] is not None,
    filter="kind IS NOT NULL",
)

# --- masked columns that have before-images ----------------------------------------------------------------------

IMAGED = attrs.evolve(MASKED.named("imaged"), images=True).renamed({"person": "human", "email": "address"})

# --- columns that the source adds and drops under way ---------------------------------------------------------------

_CHANGING: dict[str, tuple[str, tuple[Value, ...]]] = {
    "id": ("int8", ()),
    "name": ("wstring", ("x", "y", None)),
    "added": ("wstring", ("new", "newer", None)),
    "gone": ("wstring", ("old", "older", None)),
    "fleeting": ("wstring", ("now", "then", None)),
}

CHANGING: TableKind = attrs.evolve(
    make_kind(
        "changing",
        lambda history, index: (history * 6 + index,),
        _CHANGING,
        [{"name": "id", "type": "bigint"}],
        {name: itemgetter(name) for name in _CHANGING},
        keys=("id",),
    ),
    lifetimes={"added": (0.3, 1.0), "gone": (0.0, 0.7), "fleeting": (0.4, 0.6)},
)
RESTRUCTURED = attrs.evolve(CHANGING.named("restructured"), restructured=True)
