"""Which rows of a table exist at the source as well, and whether the source may have others."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from dms_iceberg.config.model import OnFail, Table
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.modes.lookup import table_mode


def hides_rows(table: Table) -> bool:
    """Whether the source may have rows that the table leaves out by its configuration."""
    return table.filter is not None or any(rule.on_fail is OnFail.DROP for rule in table.rules)


def present(batch: BatchContext, ranges: Sequence[KeyRange]) -> DataFrame:
    """Return the rows of the table with keys in ``ranges`` that exist at the source (not deleted, current)."""
    rows = batch.stored().where(table_mode(batch.table.mode).present)
    for text in filter(None, (one.sql() for one in ranges)):
        rows = rows.where(text)
    return rows
