"""The repository's root as a module: examples can call it instead of the module pipeline, and it passes everything on.

The plan is one without any AWS, as docs/deploy.md tells readers to make it: a mocked provider, in the words of the module's own test.
"""

from pathlib import Path

import pytest

from support.terraform.binary import quiet_environment, run
from support.terraform.root import copy_root, terraform
from support.terraform.tree import ROOT, examples

pytestmark = pytest.mark.usefixtures("terraform")

RUNS = """
run "few_inputs" {
  command = plan
  assert {
    condition     = output.targets == { "public.orders" = "shop.orders" } && jsondecode(output.config_json).bronze.uri == output.bronze_uri
    error_message = "inputs arrive and outputs come back: ${output.config_json}"
  }
  assert {
    condition     = output.buckets.silver.name == "shop-silver-123456789012" && contains(keys(output.alarms.names), "slot-lag")
    error_message = "found ${jsonencode(output.buckets)}"
  }
}

run "null_that_is_written_in_the_call" {
  command = plan
  variables {
    source_database = {
      engine     = "postgres"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-AbCdEf"
      identifier = null
      tls        = { mode = "require" }
    }
    region_suffix = "use1"
  }
  assert {
    condition     = !contains(keys(output.alarms.names), "slot-lag") && output.buckets.silver.name == "shop-silver-123456789012-use1"
    error_message = "a null inside of an object is passed on"
  }
}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_root(tmp_path_factory.mktemp("root"))


def test_format() -> None:
    done = run(ROOT, "fmt", "-check", "-diff", environment=quiet_environment(), ok=(0, 3))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "minimal" else pytest.mark.long) for name in examples()])
def test_examples_can_call_the_root(tree: Path, name: str) -> None:
    folder = tree / "terraform" / "examples" / name
    main = folder / "main.tf"
    assert main.read_text().count('source = "../../modules/pipeline"') == 1
    main.write_text(main.read_text().replace('source = "../../modules/pipeline"', 'source = "../../.."'))
    terraform(tree, folder, "init", "-backend=false", "-input=false")
    assert "Success!" in terraform(tree, folder, "validate")


def test_plan_without_aws(tree: Path) -> None:
    header = (ROOT / "terraform/modules/pipeline/tests/pipeline.tftest.hcl").read_text("utf-8").split("\nrun ", 1)[0]
    (tree / "mocked").mkdir()
    (tree / "mocked" / "root.tftest.hcl").write_text(header + RUNS)
    terraform(tree, tree, "init", "-backend=false", "-input=false", "-test-directory=mocked")
    assert "Success! 2 passed, 0 failed." in terraform(tree, tree, "test", "-test-directory=mocked")
