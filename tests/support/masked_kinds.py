"""Source tables with masked columns, for random histories: text, and decimals whose scale is another in some files."""

import hashlib
import uuid
from decimal import Decimal
from functools import cache

from dms_emulator.layout import Column, TableLayout
from support.oracle import Cleaning, Key
from support.table_kind import SCHEMA, TableKind, make_kind

SALT = "pepper"
SALT_VARIABLE = "PROPERTY_TEST_SALT"

# --- a trimmed and masked key, and the other masks -----------------------------------------------------------------


def _uuid_key(history: int, index: int) -> Key:
    text = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{history}/{index}"))
    return (text if index % 2 else f" {text}  ",)


def _sha256(text: str) -> str:
    return hashlib.sha256(f"{SALT}{text}".encode()).hexdigest()


MASKED = make_kind(
    "masked",
    _uuid_key,
    {
        "person": ("wstring", ()),
        "email": ("wstring", ("ann@example.org", "bob@example.org ", None)),
        "phone": ("wstring", ("+49 30 1234567", "112", None)),
        "card": ("wstring", ("4111111111111111", "378282246310005", None)),
    },
    [
        {"name": "person", "trim": True, "mask": "sha256", "mask_salt": f"env:{SALT_VARIABLE}"},
        {"name": "email", "trim": True, "mask": "sha256", "mask_salt": f"env:{SALT_VARIABLE}"},
        {"name": "phone", "mask": "redact"},
        {"name": "card", "mask": "partial"},
    ],
    {
        "person": lambda row: _sha256(row["person"].strip(" ")),
        "email": lambda row: None if row["email"] is None else _sha256(row["email"].strip(" ")),
        "phone": lambda row: None if row["phone"] is None else "***",
        "card": lambda row: None if row["card"] is None else "*" * (len(row["card"]) - 4) + row["card"][-4:],
    },
    keys=("person",),
)

# --- masked decimals, whose scale is another in some files (Parquet): one value has one text, as the first file shows it


def _scaled_layout(type_: str) -> TableLayout:
    return TableLayout(SCHEMA, "scaled", (Column("number", type_, True), Column("rest", type_)))


@cache
def _scaled(layout: TableLayout) -> Cleaning:
    unit = Decimal(1).scaleb(-(layout.columns[0].type.scale or 0))

    def text(value: Decimal) -> str:
        return str(value.quantize(unit))

    return Cleaning(
        source_key=("number",),
        silver_key=("number",),
        columns={
            "number": lambda row: _sha256(text(row["number"])),
            "rest": lambda row: None if row["rest"] is None else "*" * (len(text(row["rest"])) - 4) + text(row["rest"])[-4:],
        },
    )


SCALED = TableKind(
    layout=_scaled_layout("numeric(14,3)"),
    key=lambda history, index: (Decimal(2 * history - 5) + Decimal(index) / 4,),
    pools={"rest": (Decimal("1234"), Decimal("98765.25"), Decimal("-0.5"), None)},
    cleaning=_scaled(_scaled_layout("numeric(14,3)")),
    document={
        "target": "silver.scaled",
        "key": ["number"],
        "columns": [
            {"name": "number", "mask": "sha256", "mask_salt": f"env:{SALT_VARIABLE}"},
            {"name": "rest", "mask": "partial"},
        ],
    },
    other_layouts=(_scaled_layout("numeric(12,2)"),),
    first_layout=_scaled,
)
