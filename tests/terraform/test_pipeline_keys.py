"""The root module knows the inputs of the modules behind it: none is missing at its door, and none is there that they do not have."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import hcl2
import pytest

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "terraform" / "modules"
# What every module has, or the pipeline decides.
SHARED = {"name", "region_suffix", "tags", "permissions_boundary", "log_retention_days", "log_kms_key_arn"}


@cache
def blocks(module: str | None, kind: str) -> dict[str, Any]:
    """The blocks of a kind by name; of the root module with None."""
    found: dict[str, Any] = {}
    for path in sorted((MODULES / module if module else ROOT).glob("*.tf")):
        for block in hcl2.loads(path.read_text("utf-8")).get(kind, []):
            found |= {name.strip('"'): content for name, content in block.items()}
    return found


def allowed(key: str) -> set[str]:
    return {text.strip('"') for text in blocks(None, "locals")["allowed"][key]}


def attributes(module: str, variable: str, *path: str) -> set[str]:
    """The attributes of an object type, or of an object in it."""
    return set(objects(str(blocks(module, "variable")[variable]["type"]), *path))


def objects(text: str, *path: str) -> dict[str, str]:
    """The attributes of the first object type in a text, and the text of each one's type."""
    start = text.index("object(") + len("object(")
    depth, name, found, begin = 0, "", {}, start
    for at in range(start, len(text)):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if depth == 1 and (match := re.match(r'[{,\s]"?(\w+)"?\s*[:=]\s', text[at:])):
            name, begin = match[1], at
            found[name] = ""
        if name and depth >= 1:
            found[name] = text[begin : at + 1]
        if depth < 0 or (depth == 0 and at > start):
            break
    return objects(found[path[0]], *path[1:]) if path else found


@pytest.mark.parametrize(
    ("key", "module", "decided"),
    [
        (
            "merge_job",
            "merge-job",
            {
                "config_json",
                "buckets",
                "bronze_prefix",
                "databases",
                "kms_key_arn",
                "secret_arns",
                "secret_kms_key_arns",
                "further_role_arns",
            },
        ),
        ("trigger", "trigger", {"job", "bronze", "kms_key_arn", "replication", "starts_runs"}),
        ("emr_serverless", "emr-serverless", {"job", "artifacts", "watch", "alarms"}),
        ("network", "_network", {"database_port", "job_security_group_ids"}),
        (
            "replication",
            "replication",
            {
                "source_database",
                "tables",
                "migration_type",
                "load_epoch",
                "bronze",
                "subnet_ids",
                "security_group_ids",
                "account_role_arns",
            },
        ),
    ],
)
def test_inputs_of_a_module_are_the_keys_of_an_object(key: str, module: str, decided: set[str]) -> None:
    # What the pipeline itself makes of a key.
    sections = {"batch", "maintenance", "parallelism", "timestamps", "reach_source"} if key == "merge_job" else set()
    assert allowed(key) - sections == set(blocks(module, "variable")) - SHARED - decided


@pytest.mark.parametrize(
    ("key", "module", "variable", "path"),
    [
        ("tls", "replication", "source_database", ["tls"]),
        ("postgres", "replication", "source_database", ["postgres"]),
        ("mysql", "replication", "source_database", ["mysql"]),
        ("buckets", "lake", "buckets", []),
        ("versioning", "lake", "versioning", []),
        ("access_logs", "lake", "access_logs", []),
        ("retention", "lake", "bronze_retention", []),
        ("bronze_table", "lake", "bronze_tables", []),
        ("thresholds", "observability", "thresholds", []),
        ("package", "merge-job", "package", []),
    ],
)
def test_attributes_of_an_object_are_the_keys_of_an_object(key: str, module: str, variable: str, path: list[str]) -> None:
    assert allowed(key) == attributes(module, variable, *path)


@pytest.mark.parametrize(
    ("key", "module", "variable", "added", "decided"),
    [
        ("source_database", "replication", "source_database", {"port", "identifier"}, set()),
        ("encryption", "lake", "encryption", {"encrypt_logs"}, set()),
        ("lake_formation", "lake", "lake_formation", set(), {"writers"}),
    ],
)
def test_objects_that_are_split(key: str, module: str, variable: str, added: set[str], decided: set[str]) -> None:
    assert allowed(key) - added == attributes(module, variable) - decided


def test_every_object_at_the_door_has_its_keys_listed() -> None:
    types = {name: str(block["type"]).removeprefix("${").removesuffix("}") for name, block in blocks(None, "variable").items()}
    assert [name for name, found in types.items() if "object(" in found] == [], "an object type drops a key that it does not know"
    open_doors = {name for name, found in types.items() if found == "any"}
    assert open_doors - {"tables", "table_defaults", "gold"} == {
        *(
            "source_database",
            "network",
            "replication",
            "bronze",
            "bronze_retention",
            "bronze_tables",
            "buckets",
            "encryption",
        ),
        *("catalog", "lake_formation", "merge_job", "trigger", "emr_serverless", "alarms"),
    }
