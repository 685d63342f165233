"""A copy of the repository's root, as a module that Terraform can call."""

from pathlib import Path

from support.terraform.binary import quiet_environment, run, write_cli_configuration
from support.terraform.provider import attached
from support.terraform.tree import copy_tree

TESTS = "terraform/tests"
"""The folder with the tests of the root module, below it."""


def copy_root(folder: Path) -> Path:
    """Copy the root module and those that it calls to a folder with a configuration of Terraform; return the folder."""
    copy_tree(folder)
    write_cli_configuration(folder / "terraform.rc")
    return folder


def terraform(root: Path, folder: Path, *arguments: str) -> str:
    """Run a command of Terraform that configures no provider in a folder, with the configuration of a copied root; return its output."""
    environment = quiet_environment() | {"TF_CLI_CONFIG_FILE": str(root / "terraform.rc")}
    if arguments[0] != "init":
        environment = attached(folder, environment)
    return run(folder, *arguments, "-no-color", environment=environment).stdout
