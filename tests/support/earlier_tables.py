"""Silver tables as an earlier version left them: with fewer table properties, and with other digests of how masks were made."""

import json
from typing import Any

from dms_iceberg.config.model import Column, Config
from dms_iceberg.silver.check_configuration import CHECKED_PROPERTY
from dms_iceberg.silver.cleaning import CLEANING_PROPERTY
from dms_iceberg.silver.seen_columns import SEEN_PROPERTY
from dms_iceberg.silver.withheld import WITHHELD_PROPERTY
from dms_iceberg.storage.store import digest
from support.lake import Lake

LATER = (WITHHELD_PROPERTY, SEEN_PROPERTY, CHECKED_PROPERTY)


def as_made_before(lake: Lake, config: Config, name: str) -> None:
    """Let a table look as if version 0.1.0 had made it by this configuration."""
    table = config.tables[f"public.{name}"]
    sql_name = f"lake.{lake.namespace}.`{name}`"
    found = json.loads(lake.target(name).properties()[CLEANING_PROPERTY])
    found["columns"] = {column.name.lower(): made for column in table.columns if (made := _digest(column))}
    lake.spark.sql(f"ALTER TABLE {sql_name} SET TBLPROPERTIES ('{CLEANING_PROPERTY}' = '{json.dumps(found, separators=(',', ':'))}')")
    lake.spark.sql(f"ALTER TABLE {sql_name} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(repr, LATER))})")


def _digest(column: Column) -> str | None:
    text: dict[str, Any] = {"expr": column.expr and column.expr.strip(), "format": column.format, "trim": column.trim, "mask": column.mask}
    if column.mask:
        text |= {"mask_salt": column.mask_salt, "type": column.type}
    text = {key: value for key, value in text.items() if value}
    return digest(json.dumps(text, sort_keys=True), 8).hex() if text else None
