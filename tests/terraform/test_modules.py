"""Every module by itself passes its own tests (`terraform test` with a mocked provider, which validates first); examples are valid."""

from collections.abc import Callable

import pytest

from support.terraform.binary import quiet_environment, run, write_cli_configuration
from support.terraform.provider import attached
from support.terraform.tree import ROOT, copy_tree, examples, modules

pytestmark = pytest.mark.usefixtures("terraform")

Terraform = Callable[..., str]


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Run Terraform in a folder below ``terraform/`` of a copy; the provider and all modules are there."""
    folder = tmp_path_factory.mktemp("modules")
    tree = copy_tree(folder)
    write_cli_configuration(folder / "terraform.rc")
    environment = quiet_environment() | {"TF_CLI_CONFIG_FILE": str(folder / "terraform.rc")}

    def terraform(path: str, *arguments: str) -> str:
        if not (tree / path / ".terraform").exists():
            run(tree / path, "init", "-backend=false", "-input=false", "-no-color", environment=environment)
        return run(tree / path, *arguments, "-no-color", environment=attached(tree / path, environment)).stdout

    return terraform


def test_there_are_modules() -> None:
    assert modules()


def test_format() -> None:
    for folder, options in ((ROOT / "terraform", ["-recursive"]), (ROOT, [])):
        done = run(folder, "fmt", "-check", "-diff", *options, environment=quiet_environment(), ok=(0, 3))
        assert done.returncode == 0, f"run `make fmt`\n{done.stdout}"


@pytest.mark.parametrize("name", examples())
def test_valid(initialised: Terraform, name: str) -> None:
    initialised(f"examples/{name}", "validate")


@pytest.mark.long
# Those of the root module are run by test_pipeline_document.py, which needs their plans.
@pytest.mark.parametrize("name", modules())
def test_own_tests(initialised: Terraform, name: str) -> None:
    """A module without tests of its own fails."""
    said = initialised(f"modules/{name}", "test")
    assert "Success!" in said, said
    assert " 0 passed" not in said, said
