"""What every step that works on one table receives."""

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext
from dms_iceberg.silver.owner import owner_of
from dms_iceberg.silver.table import TargetTable


@attrs.frozen(eq=False)
class TableContext:
    """A configured table within a run.

    Attributes:
        context: the context of the run.
        table: the table's configuration.
        target: the table, which may not exist yet.
    """

    context: RunContext
    table: Table
    target: TargetTable

    @staticmethod
    def of(context: RunContext, table: Table) -> "TableContext":
        """Return the context of a table. Reads nothing."""
        owner = owner_of(context.config, table)
        return TableContext(context, table, TargetTable(context.spark, context.config.catalog.name, table.target, owner))
