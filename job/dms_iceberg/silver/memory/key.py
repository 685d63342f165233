"""The silver key that a table was created with: with another key, new rows would not replace the old rows that they should replace."""

import json
from collections.abc import Iterable, Mapping

from dms_iceberg.config.key_columns import silver_key
from dms_iceberg.config.model import Table
from dms_iceberg.errors import SchemaChangeError

KEY_PROPERTY = "dms-iceberg.key"
"""Table property with the names of the silver key columns, a JSON list."""


def silver_key_of(table: Table, columns: Iterable[str]) -> list[str]:
    """Return the silver key columns, spelled like the table's ``columns``."""
    spelled = {name.lower(): name for name in columns}
    return [spelled.get(name.lower(), name) for name in silver_key(table)]


def key_property(table: Table, columns: Iterable[str]) -> dict[str, str]:
    """Return the table property, spelled like the table's ``columns``."""
    return {KEY_PROPERTY: json.dumps(silver_key_of(table, columns), ensure_ascii=False, separators=(",", ":"))}


def refuse_other_key(table: Table, properties: Mapping[str, str]) -> None:
    """Refuse to merge by another key than the table's. Order and case do not count; a table records its key from its first batch on.

    Raises:
        SchemaChangeError: the keys differ.
    """
    text = properties.get(KEY_PROPERTY)
    if text is None:
        return
    recorded, wanted = json.loads(text), silver_key(table)
    if {name.lower() for name in recorded} != {name.lower() for name in wanted}:
        raise SchemaChangeError(
            f'tables."{table.source}".key: the key in silver is now {", ".join(wanted)}, but {table.target} was made with one row for each '
            f"{', '.join(recorded)} (table property {KEY_PROPERTY}), and merging by another key would leave rows behind or mix them up. "
            "Allowed is the key the table was made with: put back key, and the names of its columns; or build the table by the new key "
            f"with run --rebuild {table.source}. Nothing was written."
        )
