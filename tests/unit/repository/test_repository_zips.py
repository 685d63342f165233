"""The committed zips are what a fresh build gives: Terraform hands them to AWS as they lie in the git ref."""

from pathlib import Path

import pytest

from tools import build_dist

DIST = Path(__file__).resolve().parents[3] / "dist"


@pytest.mark.parametrize("name", build_dist.ZIPS)
def test_committed_zip_is_the_one_that_these_sources_give(name: str, tmp_path: Path) -> None:
    same = (DIST / name).read_bytes() == build_dist.build(name, tmp_path).read_bytes()
    assert same, f"dist/{name} is older than its sources: run `make dist` and commit it"


def test_no_other_zip_is_committed() -> None:
    assert {path.name for path in DIST.iterdir()} == set(build_dist.ZIPS)
