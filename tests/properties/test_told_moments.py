"""Random tables that are loaded again in place, and an operator who says when in every wrong way: refused, or right.

``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import pytest

from dms_iceberg.bronze.keys import digits_of
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from support.histories import NUMBERS, SEED
from support.lake import Lake
from support.told_moments import ENTRY, TOLD, shown, stories


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.long)])
def test_a_told_moment_is_refused_or_right(lake: Lake, number: int, count: int) -> None:
    told = list(stories(SEED + 100 * number + count, count))
    config = lake.config({f"public.{one.name}": {**ENTRY, "mode": one.mode} for one in told})
    for one in told:
        one.load_first(lake)
    assert lake.run(config).errors == {}
    assert {one.name: shown(lake, one) for one in told} == {one.name: one.before() for one in told}
    for one in told:
        one.load_again(lake)
    names = frozenset(config.tables)
    request = RunRequest(load_complete=names, reload_started=digits_of(TOLD))
    plans = {one.table: one.error for one in preview(lake.spark, config, sorted(names), request)}
    reports = run(lake.spark, config, sorted(names), request=request).tables
    for one in told:
        error = reports[f"public.{one.name}"].error
        assert (error is None) == one.is_certain, (one, error)
        assert (plans[f"public.{one.name}"] is None) == one.is_certain, (one, plans[f"public.{one.name}"])
        assert shown(lake, one) == (one.expected() if error is None else one.refused()), one
