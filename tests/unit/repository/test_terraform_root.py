"""The Terraform files of the repository's root, which pass everything on to the module pipeline."""

import shutil
from pathlib import Path

import pytest

from tools import terraform_root as tool
from tools.terraform_readme import blocks

ROOT = Path(__file__).parents[3]


def test_they_are_what_the_module_asks_for() -> None:
    assert tool.main(["--check"]) == 0


def test_every_input_and_output_is_passed_on() -> None:
    assert set(blocks(ROOT, "variable")) == set(blocks(tool.MODULE, "variable"))
    assert set(blocks(ROOT, "output")) == set(blocks(tool.MODULE, "output"))
    main = (ROOT / "main.tf").read_text("utf-8")
    assert [name for name in blocks(ROOT, "variable") if f"= var.{name}\n" not in main] == []


def test_defaults_and_types_are_the_modules() -> None:
    for name, block in blocks(tool.MODULE, "variable").items():
        kept = {key: value for key, value in block.items() if key != "validation"}
        assert blocks(ROOT, "variable")[name] == kept, name


def test_a_file_that_is_not_up_to_date_is_told_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in tool.FILES:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "outputs.tf").write_text("")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    assert tool.main(["--check"]) == 1
    assert capsys.readouterr().err == "outputs.tf: not what terraform/modules/pipeline asks for; run `make fmt`\n"
    assert tool.main([]) == 0
    assert (tmp_path / "outputs.tf").read_text() == (ROOT / "outputs.tf").read_text("utf-8")


def test_an_output_without_a_description_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outputs.tf").write_text('output "name" {\n  value = 1\n}\n')
    monkeypatch.setattr(tool, "MODULE", tmp_path)
    with pytest.raises(ValueError, match=r"output 'name' of .* does not begin with its description"):
        tool.outputs()
