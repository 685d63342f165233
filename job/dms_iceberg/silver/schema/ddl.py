"""DDL text of a silver or gold table, and the properties it is created with."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.config.partition import PartitionField, parse_partition
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.silver.memory.cleaning import Cleaning
from dms_iceberg.silver.memory.key import key_property
from dms_iceberg.sql.quoting import quote, string_literal

METADATA_SETTINGS = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    "commit.manifest.min-count-to-merge": "20",
}
"""Table properties that bound the number of ``metadata.json`` files, and of small manifests.

A commit that would leave so many manifests of a kind makes one of them (Iceberg's default: 100), of 8 MiB at most. Two are added by a
batch, and ``rewrite_manifests``, which `maintenance.plan` asks for at 50, is a Spark job of two seconds.
"""
MERGE_DISTRIBUTION = {"write.merge.distribution-mode": "hash"}
"""One task writes all deletes of a data file, and takes over those that the file had. Without this, each task writes all of them again, so
a batch takes longer the more tasks and deletes there are; and two deletion vectors for a file make a table of format v3 unreadable.
New rows of a table without partitions come from one task, too. In v2 Spark splits what is larger than a file, deletes as well."""


def default_properties(table: Table) -> dict[str, str]:
    """Return the table properties that this package sets at creation.

    Athena, Trino and Snowflake all read position deletes of format v2. MERGE must stay serializable: with snapshot isolation
    two jobs that insert the same new key would both succeed. ``write.metadata`` bounds the number of metadata files.
    """
    return {
        "format-version": str(table.format_version),
        "write.merge.mode": table.write_mode,
        "write.update.mode": table.write_mode,
        "write.delete.mode": table.write_mode,
        "write.merge.isolation-level": "serializable",
        "write.target-file-size-bytes": str(table.target_file_size_mb << 20),
        "write.parquet.compression-codec": "zstd",
        **METADATA_SETTINGS,
        **MERGE_DISTRIBUTION,
        **table.table_properties,
    }


def create_sql(name: str, columns: Mapping[str, str], table: Table, owned: Mapping[str, str] | None = None) -> str:
    """Return the CREATE TABLE statement: silver columns in their order, then the metadata columns.

    The job makes the table by Iceberg's own interface (`iceberg.new_table`), because SQL cannot name partition fields.

    Args:
        name: the quoted name of the table.
        columns: types by column.
        table: the table's configuration.
        owned: the table properties that record its owner.
    """
    created = created_properties(columns, table, owned or {})
    properties = ", ".join(f"{string_literal(k)} = {string_literal(v)}" for k, v in sorted(created.items()))
    partition = partition_sql(table.partition_by)
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns_sql(columns, table)}) USING iceberg{partition} TBLPROPERTIES ({properties})"


def columns_sql(columns: Mapping[str, str], table: Table) -> str:
    """Return the columns of a CREATE TABLE statement."""
    body = [f"{quote(column)} {type_}" for column, type_ in columns.items()]
    own = table_mode(table.mode).metadata_columns
    body += [f"{quote(name)} {one.type} COMMENT {string_literal(one.comment)}" for name, one in own.items()]
    return ", ".join(body)


def created_properties(columns: Mapping[str, str], table: Table, owned: Mapping[str, str]) -> dict[str, str]:
    """Return all properties that a table is created with; ``owned`` are those that record its owner."""
    return default_properties(table) | key_property(table, columns) | dict(owned) | Cleaning.of(table).to_properties()


def partition_fields(partition_by: Sequence[str], columns: Iterable[str]) -> list[PartitionField]:
    """Return the partition fields, with the columns spelled like the table's."""
    spelled = {name.lower(): name for name in columns}
    fields = map(parse_partition, partition_by)
    return [attrs.evolve(field, column=spelled.get(field.column.lower(), field.column)) for field in fields]


def ordered(columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """Return ``types`` in the order of ``columns``, those without a type left out."""
    return {name: types[name] for name in columns if name in types}


def partition_sql(transforms: Sequence[str]) -> str:
    """Return the PARTITIONED BY clause with a leading space, "" without transforms."""
    return f" PARTITIONED BY ({', '.join(map(_transform_sql, transforms))})" if transforms else ""


def _transform_sql(text: str) -> str:
    field = parse_partition(text)
    if field.transform == "identity":
        return quote(field.column)
    argument = "" if field.argument is None else f"{field.argument}, "
    return f"{field.transform}({argument}{quote(field.column)})"
