"""List the open rows of the quarantine, by table and reason."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.quarantine.examples import Example, shown_key
from dms_iceberg.quarantine.rejected_rows import open_rows, reason_is
from dms_iceberg.quarantine.tables import refuse_moved
from dms_iceberg.silver.load_branches import branches_of_loads
from dms_iceberg.silver.memory.withheld import Withheld
from dms_iceberg.silver.owner import owner_of
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.spark.threads import at_once

_NUMBER = "row_number() OVER (PARTITION BY reason, detail ORDER BY file, row_number)"


@attrs.frozen(kw_only=True)
class OpenReason:
    """Open rows of a table with the same reason and detail.

    Attributes:
        keys: the number of their keys; rows with an unknown key count as one.
        first: earliest commit time at the source among them, in UTC; None if no row has one. ``last`` is the latest.
    """

    reason: str
    detail: str
    rows: int
    keys: int
    first: str | None
    last: str | None
    examples: tuple[Example, ...]


@attrs.frozen(kw_only=True)
class OpenRows:
    """The open rows of one table, the most frequent reason first.

    Attributes:
        building: by load that is built beside the content (`silver.load_branches.building`), what it has rejected; loads without such rows
            are not there. The rows are open once the load is the content: no replay finds them before.
    """

    table: str
    target: str
    reasons: tuple[OpenReason, ...] = ()
    building: Mapping[str, tuple[OpenReason, ...]] = attrs.field(factory=dict)
    error: str | None = None

    @property
    def rows(self) -> int:
        """The number of all open rows."""
        return sum(one.rows for one in self.reasons)

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return {
            "target": self.target,
            "rows": self.rows,
            "reasons": [attrs.asdict(one) for one in self.reasons],
            "building": {load: [attrs.asdict(one) for one in reasons] for load, reasons in self.building.items()},
            "error": self.error,
        }


def list_quarantine(
    spark: SparkSession,
    config: Config,
    only: Iterable[str] = (),
    reasons: Sequence[str] = (),
    examples: int = 3,
    begins: Callable[[str], None] = lambda _: None,
) -> list[OpenRows]:
    """Return the open rows, table by table.

    Args:
        only: source names of the tables; all when empty.
        reasons: see `quarantine.reason_is`.
        examples: how many rows to show for each reason.
        begins: called with the name of each table before it is looked at.

    Raises:
        ConfigError: ``only`` names a table that is not configured.
    """

    def look(table: Table) -> OpenRows:
        begins(table.source)
        return _isolated(spark, config, table, reasons, examples)

    return at_once(spark, config.parallelism, tables_with_kept_positions(config, only), lambda table: table.source, look)


def _isolated(spark: SparkSession, config: Config, table: Table, reasons: Sequence[str], examples: int) -> OpenRows:
    found = OpenRows(table=table.source, target=table.target)
    target = TargetTable(spark, config.catalog.name, table.target, owner_of(config, table))
    try:
        if not target.exists():
            return found
        target.refresh()
        target.refuse_other_owner()
        refuse_moved(config, table, target)
        withheld = Withheld.from_properties(target.properties())
        masked = withheld.masks if withheld is not None else ()

        def rejected(branch: str | None = None) -> tuple[OpenReason, ...]:
            rows = open_rows(spark, config, table, target.progress(branch))
            return _reasons(rows.where(reason_is(reasons)), table, masked, examples) if rows is not None else ()

        building = {load: rejected(branch) for load, branch in branches_of_loads(target).items()}
        return attrs.evolve(found, reasons=rejected(), building={load: there for load, there in building.items() if there})
    except FAILURES as error:
        return attrs.evolve(found, error=f"{table.source}: {describe(error)}")
    except DmsIcebergError as error:
        return attrs.evolve(found, error=str(error))


def _reasons(rows: DataFrame, table: Table, masked: Collection[str], examples: int) -> tuple[OpenReason, ...]:
    counts = ("count(1) AS n", "count(DISTINCT key) AS keys", *(f"CAST({f}(committed_at) AS string) AS {f}" for f in ("min", "max")))
    groups = rows.groupBy("reason", "detail").agg(*map(expr, counts)).collect()
    shown: dict[tuple[str, str], list[Example]] = {}
    numbered = rows.selectExpr("reason", "detail", "key", "op", "file", "row_number", f"{_NUMBER} AS n").where(f"n <= {examples}")
    for row in sorted(numbered.collect(), key=lambda row: row.n) if examples else ():
        shown.setdefault((row.reason, row.detail), []).append(Example(shown_key(row.key, table, masked), row.op, row.file, row.row_number))
    found = [
        OpenReason(
            reason=row.reason,
            detail=row.detail,
            rows=row.n,
            keys=row.keys,
            first=row.min,
            last=row.max,
            examples=tuple(shown.get((row.reason, row.detail), ())),
        )
        for row in groups
    ]
    return tuple(sorted(found, key=lambda one: (-one.rows, one.reason, one.detail)))
