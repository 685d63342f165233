"""Checks of a table's Iceberg properties."""

from collections.abc import Sequence

from dms_iceberg.config.check_context import Place
from dms_iceberg.config.iceberg_properties import property_problem, unknown_columns

OWNED_PROPERTIES = {
    "format-version": "write format_version",
    "write.merge.mode": "write write_mode",
    "write.merge.isolation-level": "it must stay serializable, or two runs at once double rows",
    "write.merge.distribution-mode": "the job needs 'hash'; with another one, tables of format 3 can become unreadable",
    "write.target-file-size-bytes": "write target_file_size_mb",
    # Spark refuses these properties in CREATE TABLE.
    "provider": "every table is an Iceberg table",
    "location": "tables lie below the warehouse of the catalog",
    "owner": "the catalog names the owner",
    "external": "Iceberg tables have no such choice",
    "comment": "a table comment is not supported",
    "sort-order": "write it with ALTER TABLE ... WRITE ORDERED BY once the table is there",
    "identifier-fields": "the key is in the document's key",
    # Iceberg takes these names for the table's own state, and ignores a value that is given.
    **dict.fromkeys(
        (
            "uuid",
            "current-schema",
            "default-partition-spec",
            "default-sort-order",
            "snapshot-count",
            "current-snapshot-id",
            "current-snapshot-summary",
            "current-snapshot-timestamp-ms",
        ),
        "Iceberg keeps it itself",
    ),
}
"""Table properties that cannot be set, and why, or what to do instead."""

OWNED_PREFIX = "dms-iceberg."
"""Begins the names of the table properties in which the job records progress and owner."""


def check_properties(place: Place, names: Sequence[str] | None) -> None:
    """Record properties that cannot be set, or not with their value, or that name a column which the table will not have.

    Args:
        place: the table.
        names: full names of its columns without the job's own; None if only the files have them.
    """
    properties = place.table.table_properties
    for name, value in properties.items():
        if name in OWNED_PROPERTIES or name.startswith(OWNED_PREFIX):
            reason = OWNED_PROPERTIES.get(name, f"'{OWNED_PREFIX}*' holds the job's own records")
            place.add("table_properties", f"'{name}' cannot be set here; {reason}")
        elif (problem := property_problem(name, value)) is not None:
            place.add("table_properties", problem)
    if names is None:
        return
    for problem in unknown_columns((name for name in properties if ".column._" not in name), names):
        place.add("table_properties", problem)
