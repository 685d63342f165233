"""Random histories in files with neither commit time nor sequence, as DMS writes them by default: silver is the oracle's table.

What is written again is written to the end of the stream (`make_world`): in between, older changes win. Two rows never have one key at a
time: nothing tells where a transaction ends.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.merging import Merging
from support.bronze_writer import FORMATS, Format
from support.histories import NUMBERS, SEED, seeded_world
from support.table_kind import TableKind
from support.table_kinds import CLOCK, CODED, FILTERED, JUDGED, MASKED, MOVED, PLAIN

_KINDS: dict[str, tuple[TableKind, ...]] = {
    "parquet": (PLAIN, CLOCK, JUDGED, MOVED),
    "csv": (JUDGED, CLOCK, MASKED),
    "csv-headerless": (CLOCK, FILTERED),
    "json": (CODED, JUDGED, MOVED),
}
_FORMS = [pytest.param(form, id=form.name) for form in FORMATS if form.name in _KINDS]


# What each rule of this order does, `tests/spark/progress/test_file_order_runs.py` shows in the main suite.
@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("form", _FORMS)
def test_silver_is_the_oracles_table(spark: SparkSession, warehouse: Path, tmp_path: Path, form: Format, number: int) -> None:
    kinds = _KINDS[form.name]
    seed = SEED + 100 * number + 70 + FORMATS.index(form)
    world = seeded_world(seed, kinds, histories=6, per_table=40, by_file=True, runs=3, restarts=2, max_files=20)
    merging = Merging(spark, warehouse, tmp_path, world, form.by_file())
    reports = merging.run_all()
    wrong = merging.differences()
    assert not wrong, f"{len(wrong)} rows differ ({form.name}, seed {seed})\n" + "\n".join([*map(str, wrong[:10]), world.story()])
    for kind in kinds:
        files = [file for file in world.files if file.table == kind.name] + world.uploaded(kind)
        tables = [report.tables[kind.source] for report in reports]
        assert sum(table.rows_read for table in tables) == sum(len(file.rows) for file in files), kind.name
        quarantined = merging.quarantined(kind)
        quarantined.pop("not_supplied", 0)
        assert quarantined.total() == world.bad_rows(kind, files), f"{kind.name}: {quarantined}"
