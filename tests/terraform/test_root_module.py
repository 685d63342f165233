"""The repository's root as a module: the call that the README shows, from a git ref, and plans without any AWS.

docs/deploy.md tells readers to make such a plan: a mocked provider, in the words of the module's own test.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.terraform.root import TESTS, copy_root, terraform
from support.terraform.tree import ROOT

pytestmark = pytest.mark.usefixtures("terraform")

SOURCE = "git::https://github.com/OWNER/dms-iceberg.git?ref=COMMIT"
VALUES = {
    "database_identifier": "shop-db",
    "secret_arn": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf",
    "ca_bundle": "bundle.pem",
    "vpc_id": "vpc-1",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "route_table_ids": ["rtb-1"],
    "database_security_group_id": "sg-1",
    "alarm_emails": ["data@example.org"],
}
"""Of the README's call."""
RUN = """
run "plan" {
  command = plan
  assert {
    condition     = module.pipeline.targets["public.order_lines"] == "shop.order_lines"
    error_message = "found ${jsonencode(module.pipeline.targets)}"
  }
  assert {
    condition     = contains(keys(module.pipeline.alarms.names), "slot-lag")
    error_message = "found ${join(", ", keys(module.pipeline.alarms.names))}"
  }
  assert {
    condition     = module.pipeline.buckets.silver.name == "shop-silver-123456789012"
    error_message = "found ${jsonencode(module.pipeline.buckets)}"
  }
}
"""


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """The source of the root module as it is committed to a git repository: what the README's call gets."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--", "*.tf", "terraform", "dist", "docs/*.json", "job/*.py"], cwd=ROOT, capture_output=True, check=True
    )
    repository = tmp_path / "repository"
    repository.mkdir()
    for name in tracked.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_bytes((ROOT / name).read_bytes())
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    return f"git::file://{repository}?ref={head}"


def test_call_of_the_readme_plans_from_a_git_ref_without_aws(commit: str, tmp_path: Path) -> None:
    (call,) = re.findall(r"```hcl\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert call.count(SOURCE) == 1
    stack = copy_root(tmp_path / "copy") / "stack"
    (stack / "mocked").mkdir(parents=True)
    names = sorted(set(re.findall(r"\bvar\.(\w+)", call)))
    (stack / "main.tf").write_text(call.replace(SOURCE, commit))
    (stack / "variables.tf").write_text("".join(f'variable "{name}" {{\n  type = any\n}}\n' for name in names))
    # A mocked provider needs its source in the module that is tested.
    (stack / "versions.tf").write_text('terraform {\n  required_providers {\n    aws = { source = "hashicorp/aws" }\n  }\n}\n')
    (stack / "terraform.tfvars.json").write_text(json.dumps({name: VALUES[name] for name in names}))
    (stack / "bundle.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    header = (ROOT / TESTS / "pipeline.tftest.hcl").read_text("utf-8").split("\nvariables {", 1)[0]
    (stack / "mocked" / "call.tftest.hcl").write_text(header + RUN)
    terraform(tmp_path / "copy", stack, "init", "-backend=false", "-input=false", "-test-directory=mocked")
    assert "Success! 1 passed, 0 failed." in terraform(tmp_path / "copy", stack, "test", "-test-directory=mocked")
