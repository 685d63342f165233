"""What a plan says about tables that are wrong: the place, what was found, what is allowed; everything at once."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dms_iceberg.config.parse import parse_config
from support.terraform.binary import TerraformError, quiet_environment, run, write_cli_configuration
from support.terraform.tree import copy_tree

pytestmark = pytest.mark.usefixtures("terraform")

SALT = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"
Plan = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Plan the module with tables; returns its output."""
    folder = tmp_path_factory.mktemp("tables")
    module = copy_tree(folder) / "modules" / "_table-config"
    write_cli_configuration(folder / "terraform.rc")
    environment = quiet_environment() | {"TF_CLI_CONFIG_FILE": str(folder / "terraform.rc")}
    run(module, "init", "-input=false", environment=environment)

    def planned(tables: object, **others: object) -> dict[str, Any]:
        variables = {"tables": tables, "silver_database": "shop", "quarantine_database": "shop_quarantine", **others}
        (module / "zz.auto.tfvars.json").write_text(json.dumps(variables))
        run(module, "plan", "-input=false", "-no-color", "-out=zz.tfplan", environment=environment)
        shown = json.loads(run(module, "show", "-json", "zz.tfplan", environment=environment).stdout)
        found: dict[str, Any] = shown["planned_values"]["outputs"]["config"]["value"]
        return found

    return planned


def problems(plan: Plan, tables: object, **others: object) -> list[str]:
    with pytest.raises(TerraformError) as caught:
        plan(tables, **others)
    found: list[str] = re.findall(r"^[ │]*- (.*)$", str(caught.value), re.MULTILINE)
    return found


def test_form_and_values(plan: Plan) -> None:
    tables = {
        "public.orders": {
            "kye": ["order_id"],
            "columns": [{"name": "a", "fromm": "b", "type": 3}, {"typ": "int"}],
            "format_version": "2",
            "mode": "mirrored",
            "target_file_size_mb": 0,
            "maintenance": {"snapshots_max_age_hours": 1000000000},
            "rules": [{"name": "r", "expr": "x", "on_fail": "stop"}],
            "load": [],
        },
        "public.lines": {"key": "id"},
        "public.other": 3,
    }
    found = problems(plan, tables, defaults={"key": ["id"]})
    assert [one.split(": ")[0] for one in found if ": unknown key; " in one] == [
        'tables."public.orders".kye',
        "table_defaults.key",
        'tables."public.orders".columns[0].fromm',
        'tables."public.orders".columns[1].typ',
    ]
    said = "\n".join(found)
    for hint in ("kye: unknown key; did you mean 'key'? allowed: columns, drop, ", "did you mean 'from'?"):
        assert hint in said
    for line in (
        'tables."public.other": found 3; expected an object',
        'tables."public.orders".columns[1].name: missing',
        'tables."public.lines".key: found "id"; expected a list',
        'tables."public.orders".format_version: found "2"; expected a whole number',
        'tables."public.orders".mode: found "mirrored"; allowed: "mirror", "soft_delete", "history", "append"',
        'tables."public.orders".target_file_size_mb: found 0; allowed: 1 to 10240',
        'tables."public.orders".maintenance.snapshots_max_age_hours: found 1000000000; allowed: above 0, at most 876000',
        'tables."public.orders".columns[0].type: found 3; expected text',
        'tables."public.orders".load: found []; expected an object',
        'tables."public.orders".rules[0].on_fail: found "stop"; allowed: "quarantine", "drop", "fail"',
    ):
        assert line in found
    assert any(one.startswith('tables."public.orders".key: missing; name the source columns that identify a row.') for one in found)


def test_meaning(plan: Plan) -> None:
    tables = {
        "public.orders": {"key": ["id", "ID"], "partition_by": ["day(at)"]},
        "archive.orders": {"key": ["id"], "columns": [{"name": "a", "type": "varchar"}, {"name": "A", "from": "b", "expr": "c"}]},
        "public.Order Lines": {"key": ["id"], "drop": ["ID"]},
        "public.secret": {"key": ["id"], "columns": [{"name": "m", "mask": "sha256", "mask_salt": "pepper"}]},
        "orders": {"key": ["id"], "target": "shop_quarantine.x"},
    }
    found = problems(plan, tables)
    assert {one.split(": ")[0] for one in found} == {
        'tables."orders"',
        'tables."orders".target',
        'tables."public.Order Lines".target',
        'tables."public.Order Lines".drop',
        'tables."archive.orders", tables."public.orders"',
        'tables."public.orders".key',
        'tables."public.orders".partition_by[0]',
        'tables."archive.orders".columns[0].type',
        'tables."archive.orders".columns[1]',
        'tables."archive.orders".columns',
        'tables."public.secret".columns[0].mask_salt',
    }
    assert "pepper" not in "\n".join(found)


def test_salts_that_are_made_by_the_same_apply_leave_the_rest_checked(tmp_path: Path) -> None:
    root = copy_tree(tmp_path) / "root"
    root.mkdir()
    (root / "main.tf").write_text("""
        resource "terraform_data" "salt" {
          input = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"
        }
        module "config" {
          source              = "../modules/_table-config"
          silver_database     = "shop"
          quarantine_database = "shop_quarantine"
          tables = {
            "public.orders" = {
              key     = ["id"]
              columns = [{ name = "e", mask = "sha256", mask_salt = "secret:${terraform_data.salt.output}" }, { name = "E" }]
            }
            "public.lines"  = { kye = ["id"] }
          }
        }
    """)
    write_cli_configuration(tmp_path / "terraform.rc")
    environment = quiet_environment() | {"TF_CLI_CONFIG_FILE": str(tmp_path / "terraform.rc")}
    run(root, "init", "-input=false", environment=environment)
    with pytest.raises(TerraformError, match="unknown key; did you mean 'key'"):
        run(root, "plan", "-input=false", "-no-color", environment=environment)
    text = (root / "main.tf").read_text().replace("kye", "key")
    (root / "main.tf").write_text(text)
    with pytest.raises(TerraformError, match="a name is there twice"):
        run(root, "plan", "-input=false", "-no-color", environment=environment)
    (root / "main.tf").write_text(text.replace(', { name = "E" }', ""))
    run(root, "apply", "-auto-approve", "-input=false", "-no-color", environment=environment)


def test_the_job_accepts_what_the_module_passes_on(plan: Plan) -> None:
    tables = {
        "public.orders": {
            "key": ["order_id"],
            "mode": None,
            "partition_by": ["bucket(16, order_id)"],
            "columns": [
                {"name": "order_id", "type": "bigint"},
                {"name": "at", "from": "ordered_at", "type": "decimal(10, 2)", "backfill": 0},
                {"name": "city", "expr": "trim(split(location, ',')[0])", "type": "string"},
                {"name": "email", "mask": "sha256", "mask_salt": f"secret:{SALT}"},
            ],
            "drop": ["location"],
            "filter": "deleted_by_app is null AND 1 < 2",
            "rules": [{"name": "amount_not_negative", "expr": "amount >= 0"}],
            "table_properties": {"write.parquet.compression-codec": "gzip"},
            "load": {"parallel": {"type": "partitions-auto"}},
        },
        "public.lines": {"key": ["order_id", "line_no"], "target": "archive.lines"},
    }
    sections = {
        "defaults": {"schema_changes": "strict"},
        "bronze": {"format": "json", "change": {"op_words": {"INSERT": "I", "UPDATE": "U", "DELETE": "D"}}},
        "settings": {"parallelism": 8, "batch": {"look_back_hours": 0.5}},
    }
    config = plan(tables, **sections)
    document = {"version": 1, "pipeline": "shop", "catalog": {"type": "glue", "warehouse": "s3://silver/"}, **config["document"]}
    parsed = parse_config(document | {"bronze": {"uri": "s3://bronze/dms/shop/", **config["document"]["bronze"]}})
    assert {name: table.target for name, table in parsed.tables.items()} == {
        "public.orders": "shop.orders",
        "public.lines": "archive.lines",
    }
    assert (parsed.parallelism, parsed.batch.look_back_hours, parsed.bronze.format) == (8, 0.5, "json")
    assert parsed.tables["public.lines"].schema_changes == "strict"
    assert parsed.tables["public.orders"].filter == "deleted_by_app is null AND 1 < 2"
    assert config["tables"]["public.orders"]["load"] == {"parallel": {"type": "partitions-auto"}}
