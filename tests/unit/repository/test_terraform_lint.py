"""What the Terraform checks do when a tool is not there."""

import os
from pathlib import Path

import pytest

from tools import terraform_lint as tool


def missing() -> int:
    raise tool.MissingError("install it")


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "DMS_ICEBERG_REQUIRE_TERRAFORM"):
        monkeypatch.delenv(name, raising=False)


def test_missing_tool_is_named_and_the_others_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []
    monkeypatch.setattr(tool, "CHECKS", {"one": missing, "two": lambda: ran.append("two") or 0})
    assert tool.main() == 0
    assert ran == ["two"]
    assert "one was NOT run: install it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["CI", "DMS_ICEBERG_REQUIRE_TERRAFORM"])
def test_missing_tool_is_an_error_in_ci(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "true")
    monkeypatch.setattr(tool, "CHECKS", {"one": missing})
    assert tool.main() == 1


def test_long_lines_are_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert tool.check_lengths() == 0
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    (tmp_path / "main.tf").write_text(f"# {'x' * 158}\n# {'x' * 159}\n  #checkov:skip=CKV_AWS_1: {'x' * 159}\n")
    assert tool.check_lengths() == 1
    assert capsys.readouterr().err == "main.tf:2: 161 characters, 160 are allowed\n"


def test_findings_are_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tool, "CHECKS", {"one": lambda: 2, "two": lambda: 0})
    assert tool.main() == 1
    assert "failed: one" in capsys.readouterr().err


def test_what_would_help_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(tool, "TOOLS", tool.ROOT / "none")
    with pytest.raises(tool.MissingError, match=r"no Go to build it: install tflint v\d"):
        tool.tflint()
    with pytest.raises(tool.MissingError, match=r"install version 1\.9"):
        tool.terraform()
