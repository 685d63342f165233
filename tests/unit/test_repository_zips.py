"""The committed zips are what a fresh build gives: Terraform hands them to AWS as they lie in the git ref."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import build_dist

DIST = Path(__file__).resolve().parents[2] / "dist"
NOT_YET = pytest.mark.skipif(not (DIST / "job.zip").exists(), reason="dist/job.zip is not committed yet")


@pytest.mark.parametrize(
    ("name", "build"), [("trigger.zip", build_dist.build_trigger), pytest.param("job.zip", build_dist.build, marks=NOT_YET)]
)
def test_committed_zip_is_the_one_that_these_sources_give(name: str, build: Callable[[Path], None], tmp_path: Path) -> None:
    build(tmp_path / name)
    same = (DIST / name).read_bytes() == (tmp_path / name).read_bytes()
    assert same, f"dist/{name} is older than its sources: run `make dist` and commit it"
