"""Rows that a faulty configuration rejects, replayed once it is mended: silver is the oracle's, as if they had never been rejected.

Files arrive late, copied and re-emitted as in `test_convergence`. The first run has the faulty configuration; changes of the same keys are
merged before and after the first replay, which tries some reasons only. Each world has a table of every mode. ``PROPERTY_SEED`` and
``PROPERTY_WORLDS`` look further.
"""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.replay import replay
from properties.merging import Merging
from support.bronze_writer import FORMATS, Format
from support.histories import SEED, WORLDS, World, seeded_world
from support.mode_oracles import APPEND, HISTORY, SOFT_DELETE, ModeOracle
from support.table_kind import TableKind
from support.table_kinds import CLOCK, CODED, DROPPED, FILTERED, JUDGED, KEPT, MASKED, PLAIN

pytestmark = pytest.mark.release

RUNS, HISTORIES = 2, 6
_MODES = {"plain": None, "coded": None, "kept": None, "masked": None, "order_lines": SOFT_DELETE, "judged": HISTORY, "dropped": APPEND}
_WORLDS: tuple[tuple[Format, tuple[TableKind, ...]], ...] = (
    (FORMATS[0], (KEPT, FILTERED, JUDGED, DROPPED)),
    (FORMATS[2], (CODED, MASKED, JUDGED, DROPPED)),
    (FORMATS[4], (PLAIN, CLOCK, KEPT, FILTERED)),
)


def _rule(sql: str, kind: TableKind) -> dict[str, Any]:
    return {"rules": [*kind.document.get("rules", []), {"name": "too strict", "expr": sql}]}


def _column(kind: TableKind, name: str, **changed: Any) -> dict[str, Any]:
    return {"columns": [{**column, **(changed if column["name"] == name else {})} for column in kind.document["columns"]]}


FAULTS: dict[str, dict[str, Any]] = {
    "plain": _rule("coalesce(`Total Amount`, 0) <> 7", PLAIN),
    "kept": _rule("title <> 'x'", KEPT),
    "masked": _rule("email not like 'ann%'", MASKED),
    "order_lines": _rule("quantity <> 2", FILTERED),
    "dropped": _rule("happened is not null", DROPPED),
    "judged": _column(JUDGED, "seen_at", format="dd.MM.yyyy"),
    "coded": _column(CODED, "code", expr="nullif(nullif(upper(trim(code)), 'NONE'), 'K1X1')"),
    "clock": _rule("reading <> 1", CLOCK),
}


def _moded(kind: TableKind) -> TableKind:
    oracle = _MODES.get(kind.name)
    return kind if oracle is None else oracle.of(kind)


@pytest.mark.parametrize(
    ("number", "form", "kinds"),
    [pytest.param(n, *_WORLDS[n % len(_WORLDS)], id=f"{_WORLDS[n % len(_WORLDS)][0].name}-{n}") for n in range(WORLDS)],
)
def test_silver_is_the_oracles_table_after_a_replay(
    spark: SparkSession, warehouse: Path, tmp_path: Path, number: int, form: Format, kinds: tuple[TableKind, ...]
) -> None:
    # Of the first world every table gets about half of its rows before the first replay.
    seed = SEED + 100 * number + 1
    world = seeded_world(seed, tuple(map(_moded, kinds)), histories=HISTORIES, per_table=70, runs=RUNS, restarts=1, max_files=1_000)
    merging = Merging(spark, warehouse, tmp_path, world, form)
    mended = merging.config
    merging.config = merging.configured({kind.name: FAULTS[kind.name] for kind in kinds})
    reports = []
    for run in range(RUNS):
        merging.deliver(run)
        if run == RUNS - 1:
            merging.config = mended
            reports.append(_replay(spark, merging, ["cast", "rule: too strict"]))
        reports.append(merging.run())
    reports.append(_replay(spark, merging))
    merging.check_books(reports)
    for kind in world.kinds:
        wrong = _wrong(merging, kind)
        assert not wrong, f"{form.name}, seed {seed}: {len(wrong)} keys differ\n" + "\n".join(
            [*map(str, wrong[:10]), _story(world, kind, wrong)]
        )
    for kind in world.kinds:
        opened = merging.open_reasons(kind)
        assert not opened.keys() & {"older_clock", "not_supplied"}, f"{kind.name}: {opened}"
        assert opened.total() == world.bad_rows(kind), f"{kind.name}: {opened}"
    replayed = [batch for report in reports for table in report.tables.values() for batch in table.batches if batch.files == 0]
    assert sum(batch.applied for batch in replayed) > 10
    assert sum(batch.stale + batch.superseded for batch in replayed) > 0


def _replay(spark: SparkSession, merging: Merging, reasons: list[str] | None = None) -> Any:
    report = replay(spark, merging.config, (), reasons or ())
    errors = {name: table.error for name, table in report.tables.items() if table.error}
    assert not errors, errors
    return report


def _wrong(merging: Merging, kind: TableKind) -> list[Any]:
    oracle: ModeOracle | None = _MODES.get(kind.name)
    return list(merging.differences([kind]) if oracle is None else merging.row_differences(oracle, kinds=[kind]))


def _story(world: World, kind: TableKind, wrong: list[Any]) -> str:
    return world.only(kind, world.owner(kind, HISTORIES)[wrong[0].key]).story()
