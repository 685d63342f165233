"""What version 0.1.0 wrote is read and carried on: tables in all modes, quarantine, models, documents and state files.

The same files, merged from the beginning by the code that is here, say what must come out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.baseline import REJECTING, SALT, T, restore
from support.cloud import Cloud, open_cloud
from support.commands import run_command
from support.warm_job import WarmJob

ARCHIVE = Path(__file__).parents[1] / "baselines" / "0.1.0" / "lake.tar.xz"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with open_cloud(tmp_path) as cloud:
        yield cloud


def test_a_lake_of_0_1_0_is_carried_on(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = cloud.environment | SALT
    kept = restore(cloud, ARCHIVE)
    shop, _ = kept.documents()
    found = run_command("status", str(shop), environment=environment)["tables"]
    rejected = {name for name, table in found.items() if table["quarantined"]}
    assert rejected == {f"{T}{name}" for name in REJECTING}
    with WarmJob(environment, cloud.folder) as job:

        def run(paths: Sequence[Path], rebuild: Sequence[str] = ()) -> None:
            for path in paths:
                report = job.run(path, rebuild=rebuild)
                assert report["exit_code"] == 0, (report, job.text())

        def same_as(name: str, *, later: bool) -> None:
            fresh = kept.copied(name)
            run(fresh.documents(later=later))
            for mine, its in zip(kept.tables, fresh.tables, strict=True):
                assert kept.rows(mine) == fresh.rows(its), mine

        for minute in (5, 7):
            kept.change(minute)
        run(kept.documents())
        same_as("fresh", later=False)
        later = kept.documents(later=True)
        run(later)
        replayed = run_command("quarantine", "replay", str(shop), environment=environment)
        assert replayed["tables"][f"{T}mirror"]["applied"] > 0
        run([shop], rebuild=[f"{T}parts", f"{T}hist"])
        same_as("anew", later=True)
