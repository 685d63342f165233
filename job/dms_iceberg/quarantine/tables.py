"""The two tables of a silver table's quarantine: their names, their columns, whose they are, and where the rows of a moved one are."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from dms_iceberg.config.identifier import REPLAYS_SUFFIX, quarantine_names
from dms_iceberg.config.model import Config, Table
from dms_iceberg.errors import TargetError
from dms_iceberg.iceberg.format_v3 import session_for
from dms_iceberg.silver.owner import QUARANTINE_PROPERTY, Kind, Owner, owner_of, owner_of_quarantine
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.quoting import quote_path, string_literal

COLUMNS = {
    "id": "string",
    "source_table": "string",
    "file": "string",
    "etag": "string",
    "row_number": "bigint",
    "reason": "string",
    "detail": "string",
    "op": "string",
    "position": "string",
    "committed_at": "timestamp",
    "key": "string",
    "record": "string",
    "quarantined_at": "timestamp",
    "run_id": "string",
    "load": "bigint",
    "layout": "string",
}
REPLAY_COLUMNS = {"id": "string", "replay": "string", "parent": "string", "run_id": "string"}
_MERGED = {"write.merge.mode": "merge-on-read", "write.merge.isolation-level": "serializable"}
"""Table properties of the quarantine table, into which runs merge at once; the table of replays is only appended to."""


def quarantine_name(config: Config, table: Table) -> str:
    """Return the name of a table's quarantine table in the catalog: ``<namespace>.<target with dots as __>``."""
    return owner_of(config, table).quarantine


def replays_name(config: Config, table: Table) -> str:
    """Return the name of the table that records which rows of the quarantine replays have resolved."""
    return f"{config.quarantine.namespace}.{quarantine_names(table.target)[1]}"


def quarantine_table(config: Config, table: Table) -> str:
    """Return the quoted name of a table's quarantine table."""
    return quote_path([config.catalog.name, *quarantine_name(config, table).split(".")])


def replays_table(config: Config, table: Table) -> str:
    """Return the quoted name of the table of its replays."""
    return quote_path([config.catalog.name, *replays_name(config, table).split(".")])


def refuse_moved(config: Config, table: Table, silver: TargetTable) -> None:
    """Refuse to look for rejected rows where the document says, as long as the table's rejected rows are elsewhere.

    Args:
        config: the document.
        table: the table's configuration.
        silver: the silver table, refreshed.

    Raises:
        TargetError: they are in another namespace, or under the name of a former target.
    """
    now, before = quarantine_name(config, table), silver.raw_properties().get(QUARANTINE_PROPERTY)
    if before is None or before == now:
        return
    owner, catalog = owner_of_quarantine(config, table), config.catalog.name
    moves = {before: now, f"{before}{REPLAYS_SUFFIX}": replays_name(config, table)}
    tables = {one: TargetTable(silver.spark, catalog, one, owner) for one in moves}
    # A former owner's count as well: the table may be about to be taken over.
    left = [name for name, one in tables.items() if one.exists() and ((conflict := one.conflict()) is None or conflict.former)]
    if left:
        statements = "; ".join(_move_sql(tables[name], moves[name], _MERGED if name == before else {}) for name in left)
        raise TargetError(
            f'tables."{table.source}": the rejected rows of {table.target} are in {catalog}.{before}, and by quarantine.namespace and '
            f"target they would be looked for in {catalog}.{now}, and be seen no more. Set both back; or move the rows while nothing else "
            f"writes the table, and run again: {statements}. Nothing was written."
        )


def _move_sql(table: TargetTable, new: str, settings: Mapping[str, str]) -> str:
    """Return the statements that move a table of the quarantine, with the properties it was created with, the owner's among them.

    Args:
        table: the table; it exists.
        new: its new name, ``namespace.table``.
        settings: the properties with which such a table is created, without its owner's.
    """
    table.refresh()
    jvm: Any = table.spark._jvm
    created = {"format-version": str(jvm.org.apache.iceberg.TableUtil.formatVersion(table.iceberg)), **settings, **table.owned}
    properties = created | {name: text for name, text in table.raw_properties().items() if name in created}
    path = (table.parts[0], *new.split("."))
    return (
        f"CREATE NAMESPACE IF NOT EXISTS {quote_path(path[:-1])}; "
        f"CREATE TABLE {quote_path(path)} USING iceberg {_properties_sql(properties)} AS SELECT * FROM {table.sql_name}; "
        f"DROP TABLE {table.sql_name}"
    )


def prepare_quarantine(spark: SparkSession, config: Config, table: Table) -> None:
    """Create the quarantine table unless it exists.

    Raises:
        TargetError: the table is another's.
    """
    name, owner = quarantine_table(config, table), owner_of_quarantine(config, table)
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name.rpartition('.')[0]}")
    spark.sql(create_quarantine_sql(name, owner))
    _adopt(spark, config, table, quarantine_name(config, table))


def _adopt(spark: SparkSession, config: Config, table: Table, name: str) -> None:
    """Refuse a table of another owner, and record the owner in one that has none.

    Raises:
        TargetError: the table is another's.
    """
    found = quarantine_part(spark, config, table, name)
    if found is not None and Kind.QUARANTINE.value not in found.raw_properties():
        found.take_over()


def prepare_replays(spark: SparkSession, config: Config, table: Table) -> str:
    """Create the table of replays unless it exists; return its quoted name.

    Raises:
        TargetError: the table is another's.
    """
    name, owner = replays_table(config, table), owner_of_quarantine(config, table)
    body = ", ".join(f"{column} {type_}" for column, type_ in REPLAY_COLUMNS.items())
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({body}) USING iceberg {_properties_sql(owner.properties())}")
    _adopt(spark, config, table, replays_name(config, table))
    return name


def create_quarantine_sql(name: str, owner: Owner) -> str:
    """Return the CREATE TABLE statement of a quarantine table."""
    body = ", ".join(f"{column} {type_}" for column, type_ in COLUMNS.items())
    return f"CREATE TABLE IF NOT EXISTS {name} ({body}) USING iceberg {_properties_sql(_MERGED | owner.properties())}"


def _properties_sql(properties: Mapping[str, str]) -> str:
    told = ", ".join(f"{string_literal(key)} = {string_literal(value)}" for key, value in {"format-version": "2", **properties}.items())
    return f"TBLPROPERTIES ({told})"


def change_quarantine(spark: SparkSession, config: Config, table: Table, statement: Callable[[str], str]) -> None:
    """Run a MERGE or DELETE on a table's quarantine table; ``statement`` returns the SQL for its quoted name."""
    # It is created in format 2; the operator may have upgraded it.
    target = TargetTable(spark, config.catalog.name, quarantine_name(config, table))
    target.refresh()
    with session_for(spark, target.iceberg):
        spark.sql(statement(quarantine_table(config, table)))


def quarantine_part(spark: SparkSession, config: Config, table: Table, name: str) -> TargetTable | None:
    """Return the quarantine table or the table of replays, by its name in the catalog, as of now; None where there is none.

    Raises:
        TargetError: a table of this name is another's.
    """
    found = TargetTable(spark, config.catalog.name, name, owner_of_quarantine(config, table))
    if not found.exists():
        return None
    found.refresh()
    found.refuse_other_owner()
    return found


def refuse_others_quarantine(here: TableContext) -> None:
    """Refuse a table to whose rejected rows another's tables would be in the way, before there are any.

    Raises:
        TargetError: a table with a name of the quarantine's tables is another's.
    """
    config = here.context.config
    for name in (quarantine_name(config, here.table), replays_name(config, here.table)):
        quarantine_part(here.context.spark, config, here.table, name)
