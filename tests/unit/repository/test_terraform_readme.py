"""The tables of inputs and outputs in the pages of the Terraform modules."""

from pathlib import Path

import pytest

from tools import terraform_readme as tool

MODULE = """
variable "tags" {
  description = "Tags of everything."
  type        = map(string)
  default     = {}
}
variable "source" {
  description = <<-EOT
    Database to read, that is
    any of ours:
    - `engine`: postgres | mysql
    - `port`: number
  EOT
  type = object({
    engine = string # comment
    port   = optional(number, 5432)
  })
}
variable "tables" {
  description = "Tables."
  type        = map(list(object({ key = list(string) })))
  default     = null
}
variable "long" {
  description = "Long."
  type        = string
  default     = "0123456789012345678901234567890123456789012345678901234567890123456789"
}
variable "mode" {
  description = "Mode."
  default     = "a|b"
}
output "arn" {
  description = "ARN."
  value       = "x"
  sensitive   = true
}
"""
README = f"# Module\n\nWords.\n\n{tool.BEGIN}\nold\n{tool.END}\n\nMore words.\n"
TABLES = """
## Inputs

| name | type | default | meaning |
|---|---|---|---|
| `source` | `object` | required | Database to read, that is any of ours:<br>- `engine`: postgres \\| mysql<br>- `port`: number |
| `tags` | `map(string)` | `{}` | Tags of everything. |
| `tables` | `map(list(object))` | `null` | Tables. |
| `long` | `string` | see description | Long. |
| `mode` | `any` | `"a\\|b"` | Mode. |

## Outputs

| name | meaning |
|---|---|
| `arn` | ARN. Sensitive. |
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "terraform" / "modules" / "lake"
    folder.mkdir(parents=True)
    (folder / "main.tf").write_text(MODULE)
    (folder / "README.md").write_text(README)
    return folder


def test_tables_are_written_between_the_markers(module: Path) -> None:
    assert "make fmt" in (tool.problem(module, write=False) or "")
    assert (module / "README.md").read_text() == README
    assert tool.problem(module, write=True) is None
    assert (module / "README.md").read_text() == f"# Module\n\nWords.\n\n{tool.BEGIN}\n{TABLES}\n{tool.END}\n\nMore words.\n"
    assert tool.problem(module, write=False) is None


def test_root_module_has_a_page_of_its_own(module: Path, tmp_path: Path) -> None:
    page = (module / "README.md").rename(tmp_path / "terraform.md")
    assert "the root module: the tables of terraform.md are not" in (tool.problem(module, write=False, page=page) or "")
    assert tool.problem(module, write=True, page=page) is None
    assert TABLES in page.read_text()
    assert tool.PAGE_OF_THE_ROOT.is_file()


def test_readme_without_markers_is_refused(module: Path) -> None:
    (module / "README.md").write_text(f"{tool.END}\n{tool.BEGIN}\n")
    assert "once each and in this order" in (tool.problem(module, write=True) or "")


def test_only_private_modules_may_lack_a_readme(module: Path) -> None:
    (module / "README.md").unlink()
    assert "terraform/modules/lake: a public module needs a README.md" in (tool.problem(module, write=True) or "")
    assert tool.problem(module.rename(module.with_name("_lake")), write=True) is None


@pytest.mark.parametrize("kind", ["variable", "output"])
def test_description_is_needed(module: Path, kind: str) -> None:
    (module / "more.tf").write_text(f'{kind} "x" {{\n}}\n')
    assert tool.problem(module, write=True) == f"terraform/modules/lake: more.tf: {kind} 'x' has no description"
