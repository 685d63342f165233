"""The committed zips are what a fresh build gives: Terraform hands them to AWS as they lie in the git ref."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import build_dist

DIST = Path(__file__).resolve().parents[2] / "dist"


@pytest.mark.parametrize(("name", "build"), [("trigger.zip", build_dist.build_trigger), ("job.zip", build_dist.build)])
def test_committed_zip_is_the_one_that_these_sources_give(name: str, build: Callable[[Path], None], tmp_path: Path) -> None:
    build(tmp_path / name)
    same = (DIST / name).read_bytes() == (tmp_path / name).read_bytes()
    assert same, f"dist/{name} is older than its sources: run `make dist` and commit it"
