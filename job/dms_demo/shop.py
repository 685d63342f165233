"""The shop: what happens to it in the demo, and the configuration document that mirrors and cleans its tables."""

import os
from decimal import Decimal
from typing import Any, Final

from dms_demo.database import Database
from dms_demo.sample import COLUMNS

SALT_VARIABLE: Final = "DMS_ICEBERG_DEMO_SALT"
"""Environment variable that the configuration names as the salt of masked e-mail addresses."""

STORY_ORDER: Final = 1
"""The order whose history the report shows; only the story's own writer changes it."""
BAD_ORDER: Final = 2
"""The order that gets a negative amount; no other writer changes it."""

BAD_AMOUNT: Final = Decimal("-19.90")

ADD_COLUMN: Final = "ALTER TABLE customers ADD COLUMN loyalty_points integer"
"""The schema change in the middle of the demo. The configuration does not mention the column."""


def table_names(database: Database) -> list[str]:
    """Return the shop's tables as ``schema.table``."""
    return [f"{database.schema}.{name}" for name in COLUMNS]


def is_orders(table: str) -> bool:
    """Whether a table, given as ``schema.table``, is that of the orders."""
    return table.endswith(".orders")


def configuration(database: Database) -> dict[str, Any]:
    """Return the configuration document. Its paths are relative to its folder; it names the salt and does not contain it."""
    tables = _tables()
    for name, types in database.column_types.items():
        tables[name].setdefault("columns", []).extend({"name": column, "type": type_} for column, type_ in types.items())
    return {
        "version": 1,
        "pipeline": "shop-demo",
        "bronze": {"uri": "bronze", "format": "parquet"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": "warehouse"},
        # No more than Spark has cores.
        "parallelism": min(4, os.cpu_count() or 1),
        "tables": {f"{database.schema}.{name}": table for name, table in tables.items()},
    }


def _tables() -> dict[str, Any]:
    return {
        "customers": {
            "target": "silver.customers",
            "key": ["customer_id"],
            "columns": [
                {"name": "full_name", "trim": True},
                {"name": "email", "mask": "sha256", "mask_salt": f"env:{SALT_VARIABLE}"},
                {"name": "city", "expr": "trim(split(location, ',')[0])", "type": "string"},
                {"name": "country", "expr": "trim(element_at(split(location, ','), -1))", "type": "string"},
                {"name": "registered_at", "from": "registered", "type": "timestamp", "format": "dd.MM.yyyy HH:mm"},
                {"name": "birth_date", "type": "date", "format": "dd/MM/yyyy"},
            ],
            "drop": ["location"],
        },
        "orders": {
            "target": "silver.orders",
            "key": ["order_id"],
            # A time without zone: DMS's Parquet files show both kinds alike.
            "columns": [{"name": "promised_for", "type": "timestamp_ntz"}],
            "rules": [{"name": "amount_not_negative", "expr": "amount >= 0", "on_fail": "quarantine"}],
        },
        "order_lines": {"target": "silver.order_lines", "key": ["order_id", "line_no"]},
    }
