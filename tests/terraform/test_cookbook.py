"""The cases of docs/cookbook.md: each is a root module that Terraform validates, and plans with a mocked provider."""

import json
import re
from pathlib import Path

import pytest

from support.terraform.binary import quiet_environment, run
from support.terraform.root import copy_root, terraform
from support.terraform.tree import ROOT

pytestmark = pytest.mark.usefixtures("terraform")

PAGE = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
CASES = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```hcl\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
SOURCE = re.compile(r'"git::https://github\.com/OWNER/dms-iceberg\.git(?:/(?P<below>/[\w/-]+))?\?ref=COMMIT"')
VERSIONS = """
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
"""
VALUES = {
    "vpc_id": "vpc-1",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "route_table_ids": ["rtb-1"],
    "database_security_group_id": "sg-1",
    "cluster_identifier": "shop",
    "secret_arn": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf",
    "ca_bundle": "bundle.pem",
    "alarm_emails": ["data@example.org"],
    "python_archive": "archive.tar.gz",
    "lake_account": "210987654321",
    "lake_key_arn": "arn:aws:kms:eu-central-1:210987654321:key/0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f",
    "bronze_bucket": "billing-bronze",
    "silver_bucket": "billing-silver",
    "quarantine_bucket": "billing-quarantine",
    "start": False,
    "chat_role_arn": "arn:aws:iam::123456789012:role/chat",
    "slack_team_id": "T07EA123LEP",
    "slack_channel_id": "C07EZ1ABC23",
    "task_arn": "arn:aws:dms:eu-central-1:123456789012:task:ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "task_id": "legacy",
    "target_endpoint_id": "legacy-s3",
}
PLANNED = {
    "MySQL, existing buckets, two accounts, hourly, Slack": "billing",
    "Aurora, seconds": "shop",
}
"""Cases that a mocked provider can plan, by their pipeline. What a task of somebody else's has must be read from AWS."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_root(tmp_path_factory.mktemp("cookbook"))


def root_module(tree: Path, name: str) -> Path:
    """Write a case as a root module: its variables are declared, and its sources are those of this repository."""
    folder = tree / re.sub(r"\W+", "-", name.lower())
    folder.mkdir()
    code = SOURCE.sub(lambda found: json.dumps(f"..{found['below'] or '/'}"), CASES[name])
    assert "OWNER" not in code
    names = sorted(set(re.findall(r"\bvar\.(\w+)", code)))
    (folder / "main.tf").write_text(code)
    (folder / "rest.tf").write_text(VERSIONS + "".join(f'variable "{one}" {{\n  type = any\n}}\n' for one in names))
    (folder / "terraform.tfvars.json").write_text(json.dumps({one: VALUES[one] for one in names}))
    (folder / "bundle.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (folder / "archive.tar.gz").write_bytes(b"an archive")
    return folder


def test_the_cases_are_found() -> None:
    assert list(CASES) == [*PLANNED, "Somebody else's DMS"]


@pytest.mark.parametrize("name", CASES)
def test_case_is_what_terraform_takes(tree: Path, name: str) -> None:
    folder = root_module(tree, name)
    if name in PLANNED:
        header = (ROOT / "terraform/tests/pipeline.tftest.hcl").read_text("utf-8").split("\nvariables {", 1)[0]
        (folder / "mocked").mkdir()
        (folder / "mocked" / "case.tftest.hcl").write_text(f'{header}\nrun "plan" {{\n  command = plan\n}}\n')
    terraform(tree, folder, "init", "-backend=false", "-input=false", "-test-directory=mocked")
    assert "Success!" in terraform(tree, folder, "validate", "-test-directory=mocked")
    assert run(folder, "fmt", "-check", "-diff", "main.tf", environment=quiet_environment(), ok=(0, 3)).stdout == ""
    if name in PLANNED:
        said = terraform(tree, folder, "test", "-test-directory=mocked")
        assert "Success! 1 passed, 0 failed." in said
