"""The silver key a table was made with: under another one, new rows would stand beside old ones that they should replace."""

import json
from collections.abc import Iterable, Mapping

from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.model import Table
from dms_iceberg.errors import SchemaChangeError

KEY_PROPERTY = "dms-iceberg.key"
"""Table property with the names of the silver key columns, a JSON list."""


def silver_key(table: Table) -> list[str]:
    """Return the configured key as silver names it."""
    carriers = ((name, key_column(table, name)) for name in table.key)
    return [name if carrier is None else carrier.name for name, carrier in carriers]


def key_property(table: Table, columns: Iterable[str]) -> dict[str, str]:
    """Return the table property, spelled like the table's ``columns``."""
    spelled = {name.lower(): name for name in columns}
    key = [spelled.get(name.lower(), name) for name in silver_key(table)]
    return {KEY_PROPERTY: json.dumps(key, ensure_ascii=False, separators=(",", ":"))}


def refuse_other_key(table: Table, properties: Mapping[str, str]) -> None:
    """Refuse to merge by another key than the table's, which tables of earlier versions do not tell. Order and case do not count.

    Raises:
        SchemaChangeError: the keys differ.
    """
    text = properties.get(KEY_PROPERTY)
    if text is None:
        return
    made, wanted = json.loads(text), silver_key(table)
    if {name.lower() for name in made} != {name.lower() for name in wanted}:
        raise SchemaChangeError(
            f'tables."{table.source}".key: the key in silver is now {", ".join(wanted)}, but {table.target} was made with one row for each '
            f"{', '.join(made)} (table property {KEY_PROPERTY}), and merging by another key would leave rows behind or mix them up. "
            "Allowed is the key the table was made with: put back key, and the names of its columns; or load into a new target. "
            "Nothing was written."
        )
