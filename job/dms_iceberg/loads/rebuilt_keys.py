"""Compares the keys and rows of rebuilt content with those of the table, in one pass."""

from collections.abc import Sequence

import attrs

from dms_iceberg.context import BranchState
from dms_iceberg.loads.kept_rows import is_earlier_sql
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.quoting import quote


@attrs.frozen
class Difference:
    """How rebuilt content differs from the table's. A key is live where the source has its row, as far as silver knows; in ``append`` none.

    Attributes:
        doubled: keys of which the rebuilt content has several rows.
        lost: keys of rows of the load, which the table has and the rebuilt content lacks.
        earlier: keys of rows that stayed with the load, which the rebuilt content lacks; all of these where keys cannot be compared.
        back: keys that are live in the rebuilt content, and not in the table.
        ended: keys that are live in the table, and in the rebuilt content are there and not live.
        fewer: in ``append`` by how many rows the rebuilt content has fewer, added up over the keys that have fewer.
    """

    doubled: int = 0
    lost: int = 0
    earlier: int = 0
    back: int = 0
    ended: int = 0
    fewer: int = 0


def compare(here: TableContext, found: BranchState, key: Sequence[str], *, same: bool) -> Difference:
    """Compare the content of a rebuild's branch with that of the table.

    Args:
        here: the table.
        found: the state of the branch.
        key: the silver columns of the present key.
        same: whether the table's keys were built as the configuration builds them; otherwise only ``doubled`` and ``earlier``
            mean something.
    """
    mode, target, branch = table_mode(here.table.mode), here.target, str(found.branch)
    # In one column: so no key column's name can collide with one that Spark gives an aggregate.
    one = f"struct({', '.join(map(quote, key))}) AS _cdc_key"
    # Other modes refuse rows of earlier loads (`_refuse_earlier_loads`).
    earlier = f"CAST({is_earlier_sql(found.progress.load)} AS int)" if mode.is_replaced_by_load else "0"
    before = {"old": f"1 - {earlier}", "earlier": earlier, "new": "0", "was": mode.live, "is": "0", "single": "0", "rows": "-1"}
    after = {"old": "0", "earlier": "0", "new": "1", "was": "0", "is": mode.live, "single": mode.single, "rows": "1"}
    sides = [
        rows.selectExpr(one, *(f"{sql} AS _cdc_{name}" for name, sql in values.items()))
        for rows, values in ((target.rows(), before), (target.rows(branch), after))
    ]
    highest = ("old", "earlier", "new", "was", "is")
    aggregates = {f"_cdc_{name}": "max" if name in highest else "sum" for name in before}
    by_key = sides[0].union(sides[1]).groupBy("_cdc_key").agg(aggregates)
    old, stayed, new, was, is_ = (f"`max(_cdc_{name})`" for name in highest)
    row = by_key.selectExpr(
        "count_if(`sum(_cdc_single)` > 1)",
        f"count_if({old} > {new})",
        f"count_if({f'{stayed} > {new}' if same else f'{stayed} = 1'})",
        f"count_if({is_} > {was})",
        f"count_if({was} > {is_} AND {new} = 1)",
        "coalesce(sum(greatest(-`sum(_cdc_rows)`, 0)), 0)" if mode.is_log else "0",
    ).collect()[0]
    return Difference(*row)
