"""What `discover --hcl` prints is what Terraform reads: the same names, whatever is in them, in the form of `terraform fmt`."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.document import document
from dms_iceberg.discover.hcl import for_terraform, print_hcl, print_tables
from dms_iceberg.discover.proposal import Declared, Entry, LeftOut, Proposal
from dms_iceberg.discover.propose import propose
from dms_iceberg.discover.targets import targets
from support.catalogs import AWKWARD, plain_catalog
from support.terraform.binary import quiet_environment, run
from support.terraform.tree import copy_tree

pytestmark = pytest.mark.usefixtures("terraform")

ROOT = """
module "tables" {{
  source              = "../modules/_table-config"
  silver_database     = "silver"
  quarantine_database = "quarantine"

{tables}}}

output "documents" {{
  value = jsonencode(module.tables.config.document.tables)
}}

module "rules" {{
  source = "./rules"
  tables = {{ for name, table in module.tables.config.tables : name => {{ key = table.key, load = table.load }} }}
}}

output "problems" {{
  value = jsonencode(module.rules.problems)
}}

output "loads" {{
  value = jsonencode({{ for name, table in module.tables.config.tables : name => table.load if table.load != null }})
}}
"""
# What the module replication makes of the tables needs no provider: these files of it, with what they use of the others.
RULES = ("mappings.tf", "table_checks.tf")
AROUND_RULES = """
variable "tables" { type = any }
variable "before_images" { default = "pk-only" }
locals {
  is_postgres     = true
  service_columns = { sequence_column = "s", stream_position_column = "p", before_image_prefix = "BI_" }
}
output "problems" { value = local.table_problems }
"""
_PARTS = ("$", "{", "}", "%", '"', "\\", "\n", "#", "'", "`", " ", ".", "é", "e\u0301", "\u2028", "🙂", "a", "B", "7", "/", "-")


def names() -> tuple[str, ...]:
    chance = random.Random(20)
    made = ["".join(chance.choices(_PARTS, k=chance.randint(1, 6))) for _ in range(150)]
    made += ["".join(chr(chance.randrange(1, 0xD800)) for _ in range(3)) for _ in range(50)]
    return (*AWKWARD, *dict.fromkeys(made))


@pytest.fixture(scope="module")
def proposals() -> tuple[Proposal, ...]:
    catalog = plain_catalog(names())
    return for_terraform(propose(catalog, catalog.tables))


@pytest.fixture(scope="module")
def printed(proposals: tuple[Proposal, ...]) -> str:
    return print_hcl(plain_catalog(("x",)), proposals, None)


@pytest.fixture(scope="module")
def read(printed: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outputs of one plan: `terraform console` gives the same, and shows less of an error."""
    folder = copy_tree(tmp_path_factory.mktemp("discovered")) / "root"
    (folder / "rules").mkdir(parents=True)
    for name in RULES:
        shutil.copy(folder.parent / "modules/replication" / name, folder / "rules")
    (folder / "rules/around.tf").write_text(AROUND_RULES)
    (folder / "main.tf").write_text(ROOT.format(tables=printed), "utf-8")
    environment = quiet_environment()
    run(folder, "init", "-input=false", "-backend=false", environment=environment)
    run(folder, "plan", "-input=false", "-out=plan", environment=environment)
    planned = json.loads(run(folder, "show", "-json", "plan", environment=environment).stdout)["planned_values"]["outputs"]
    return {name: json.loads(output["value"]) for name, output in planned.items()}


def test_terraform_reads_the_same_names(proposals: tuple[Proposal, ...], read: dict[str, Any]) -> None:
    entries = [one for one in proposals if isinstance(one, Entry)]
    assert len(entries) > 500
    named = targets((entry.table for entry in entries), "silver")
    assert read["documents"] == document(plain_catalog(("x",)), entries, named)["tables"]
    assert read["loads"] == {entry.table: {"columns_as_text": [name for name, _ in entry.as_text]} for entry in entries if entry.as_text}


def test_dms_can_be_told_of_each_table(read: dict[str, Any]) -> None:
    """By the checks of the module replication, on names that the job alone would take."""
    assert read["problems"] == []


def test_names_that_terraform_would_change_are_left_out(proposals: tuple[Proposal, ...]) -> None:
    left = [one for one in proposals if isinstance(one, LeftOut) and "NFC" in one.reasons[0]]
    assert {"k.t" + str(AWKWARD.index("e\u0301")), "c.t" + str(AWKWARD.index("e\u0301"))} <= {one.table for one in left}


def test_it_has_the_form_of_terraform_fmt(printed: str, tmp_path: Path) -> None:
    path = tmp_path / "tables.tf"
    path.write_text(_indented(printed), "utf-8")
    run(tmp_path, "fmt", "-check", "-diff", "tables.tf", environment=quiet_environment())


@pytest.mark.parametrize("declared", [(), (Declared(name="at", type="timestamp_ntz", why="a wall clock"),)], ids=["none", "one"])
@pytest.mark.parametrize("namespace", [None, "silver"])
def test_what_init_proposes_has_that_form_too(namespace: str | None, declared: tuple[Declared, ...], tmp_path: Path) -> None:
    suggested = (Declared(name="paid", type="boolean", why="true and false only"), Declared(name="n", type="bigint", why="a number"))
    entry = Entry(
        table="shop.orders",
        key=("id",),
        key_from="proposed",
        key_confirmed=False,
        source_columns=("id", "at", "paid", "n"),
        declared=declared,
        suggested=suggested,
        dropped=(("opens", "a TIME"),),
    )
    path = tmp_path / "tables.tf"
    path.write_text(_indented(print_tables(["as init does"], [entry], namespace)), "utf-8")
    run(tmp_path, "fmt", "-check", "-diff", "tables.tf", environment=quiet_environment())
    text = path.read_text("utf-8")
    assert re.search(r"key_confirmed += false", text)
    assert '# { name = "paid", type = "boolean" },' in re.sub("# +", "# ", text)


def _indented(printed: str) -> str:
    body = "\n".join(f"  {line}" if line else line for line in printed.rstrip("\n").split("\n"))
    return f"locals {{\n{body}\n}}\n"


def test_a_catalog_whose_tables_are_all_left_out_prints_none() -> None:
    catalog = Catalog(engine=plain_catalog(("x",)).engine, database="shop", tables=())
    assert "tables = {\n}" in print_hcl(catalog, (), None)
