"""What version 6 of the AWS provider has removed is read by no module: the tests have version 5 only, where it would pass."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted((ROOT / "terraform").rglob("*.tf")) + sorted(ROOT.glob("*.tf"))
_READS = re.compile(r"data\.aws_dms_endpoint\.[^\s,)]*?\.s3_settings")
"""Pull request 42379 of the provider: "r-d/aws_dms_endpoint: remove s3_settings". `try` does not help, as Terraform checks names first."""


def removed(text: str) -> list[str]:
    return _READS.findall(text)


def test_there_are_modules() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_attribute_that_version_6_has_removed(path: Path) -> None:
    assert removed(path.read_text()) == []


def test_one_would_be_found() -> None:
    assert removed("x = try(data.aws_dms_endpoint.existing[0].s3_settings[0], null)") == ["data.aws_dms_endpoint.existing[0].s3_settings"]
