"""Random histories with maintenance after every batch: silver is what it is without.

Late, copied, re-emitted, split and regrouped files as in `test_modes`; snapshots expire and files are compacted as soon as they
may be. ``PROPERTY_SEED`` looks further.
"""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.parse import parse_config
from dms_iceberg.maintenance.report import MaintenanceReport
from dms_iceberg.maintenance.run import maintain
from dms_iceberg.runs.report import BatchReport, RunReport
from dms_iceberg.runs.run import run
from properties.merging import Merging
from support.bronze_writer import FORMATS
from support.histories import SEED, seeded_world
from support.maintained import EAGER, let_hours_pass
from support.mode_oracles import APPEND, HISTORY, SOFT_DELETE, ModeOracle
from support.table_kind import TableKind
from support.table_kinds import CODED, DROPPED, FILTERED, JUDGED, MOVED

_KINDS: dict[ModeOracle | None, tuple[TableKind, ...]] = {
    None: (FILTERED, MOVED),
    SOFT_DELETE: (JUDGED, DROPPED),
    HISTORY: (FILTERED, CODED),
    APPEND: (JUDGED, CODED),
}


class Maintained(Merging):
    """The job with maintenance after every batch of every table."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.config = parse_config({**self._document, "maintenance": EAGER})
        self.done: list[MaintenanceReport] = []

    def run(self) -> RunReport:
        """One run; neither it nor any maintenance may fail."""

        def after(table: str, batch: BatchReport) -> None:
            self.done += maintain(self._spark, self.config, [self.config.tables[table]]).tables.values()

        report = run(self._spark, self.config, listener=after)
        errors = [one.error for one in (*report.tables.values(), *self.done) if one.error]
        assert not errors, errors
        return report

    def check_books(self, reports: Any) -> None:
        """Most of the snapshots that have them are gone."""


@pytest.mark.release
@pytest.mark.parametrize("oracle", _KINDS, ids=lambda oracle: oracle.mode if oracle else "mirror")
def test_silver_is_the_same_with_maintenance_after_every_batch(
    spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_hours_pass(monkeypatch)
    one, other = (kind if oracle is None else oracle.of(kind) for kind in _KINDS[oracle])
    kinds = (one, other.with_entry({"format_version": 3}))
    world = seeded_world(SEED + 11, kinds, histories=12, per_table=80, runs=3, restarts=1, max_files=12)
    merging = Maintained(spark, warehouse, tmp_path, world, FORMATS[0])
    merging.run_all()
    taken = {step.step for report in merging.done for step in report.steps if step.outcome.value == "done"}
    assert {"compact", "progress", "expire", "orphan_files"} <= taken
    wrong = merging.differences() if oracle is None else merging.row_differences(oracle)
    assert not wrong, "\n".join(map(str, wrong[:10]))
    assert not any(table.batches for table in merging.run().tables.values())
    assert all(len(snapshots) <= 4 for snapshots in merging.snapshots().values())
