"""Random tables of which a LOAD file appears once their load is complete: refused by name with ways out that work, or merged as one of it.

``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import pytest

from dms_iceberg.bronze.keys import digits_of
from dms_iceberg.context import NO_REQUEST, RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.histories import NUMBERS, SEED
from support.lake import Lake
from support.late_files import AGAIN, ALONE, APPEARS, BEGAN, BELONGS, OUT, LateFile, late_files


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("count", [14, pytest.param(42, marks=pytest.mark.long)])
def test_a_late_load_file_is_refused_and_each_way_out_works(lake: Lake, number: int, count: int) -> None:
    tables = list(late_files(SEED + 100 * number + count, count))
    config = lake.config({one.source: {"mode": one.mode} for one in tables})

    def merge(chosen: list[LateFile], request: RunRequest = NO_REQUEST) -> dict[str, str]:
        return run(lake.spark, config, [one.source for one in chosen], request=request).errors if chosen else {}

    for one in tables:
        one.begin(lake)
    assert merge(tables, RunRequest(frozenset(one.source for one in tables if one.kind == ALONE))) == {}
    reloaded = [one for one in tables if one.is_reloaded]
    for one in reloaded:
        one.load_again(lake)
    assert merge(reloaded, RunRequest(frozenset(one.source for one in reloaded), digits_of(BEGAN))) == {}
    for one in tables:
        one.go_on(lake)
    assert merge(tables) == {}
    assert {one.name: one.shown(lake) for one in tables} == {one.name: one.shows() for one in tables}

    for one in tables:
        one.appear(lake)
        one.go_on(lake, APPEARS + 10)
    late = [one for one in tables if one.is_late]
    plans = {one.table: one.error for one in preview(lake.spark, config) if one.error is not None}
    assert merge(tables) == plans
    assert {*plans} == {one.source for one in late}
    told = {one.table: " ".join(one.warnings) for one in table_statuses(lake.spark, config)}
    for one in late:
        assert "was complete" in plans[one.source] and plans[one.source] in told[one.source], one
        assert one.shown(lake) == one.shows(), one
    for one in tables:
        assert one.is_late or one.shown(lake) == one.shows(file=True, last=True), one

    ways = {way: [one for one in late if one.way == way] for way in (OUT, AGAIN, BELONGS)}
    for one in ways[OUT]:
        one.take_away(lake)
    names = {way: frozenset(one.source for one in chosen) for way, chosen in ways.items()}
    assert merge(ways[OUT]) == {}
    began = digits_of(BEGAN.replace(hour=BEGAN.hour + APPEARS // 60 - 1))
    assert merge(ways[AGAIN], RunRequest(names[AGAIN], began)) == {}
    assert merge(ways[BELONGS], RunRequest(names[BELONGS], confirm_rows=dict.fromkeys(names[BELONGS], 0))) == {}
    assert merge(tables) == {}
    for one in late:
        assert one.shown(lake) == one.shows(file=one.way != OUT, last=True), one
