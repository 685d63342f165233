"""Finding Terraform and its AWS provider on this machine, and calling it."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

MINIMUM = (1, 9)
_HOST = "registry.terraform.io"
_IMPLIED = (
    "~/.terraform.d/plugins",
    "~/.local/share/terraform/plugins",
    "~/Library/Application Support/io.terraform/plugins",
    "/usr/local/share/terraform/plugins",
    "/usr/share/terraform/plugins",
)
_SEARCHED = ("/opt", "/usr/share", "/usr/local/share", "~")
_DEPTH = 3


class TerraformError(AssertionError):
    """Terraform ended with an exit code that the test did not expect; the message holds what it said."""


@cache
def missing() -> str | None:
    """Return why tests cannot use Terraform here, or None."""
    if not shutil.which("terraform"):
        return "terraform is not on PATH; the Terraform tests need version 1.9 or newer"
    said = subprocess.run(["terraform", "version", "-json"], capture_output=True, text=True, env=quiet_environment(), check=False)
    version = str(json.loads(said.stdout or "{}").get("terraform_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM:
        return f"terraform {version} is too old; the Terraform tests need version 1.9 or newer"
    return None


def require_terraform() -> None:
    """Skip the test on a machine without Terraform; where it has to be there (CI), fail it."""
    reason = missing()
    if reason is None:
        return
    if os.environ.get("CI") or os.environ.get("DMS_ICEBERG_REQUIRE_TERRAFORM"):
        pytest.fail(f"{reason}, and here they must not be skipped", pytrace=False)
    pytest.skip(reason)


def quiet_environment() -> dict[str, str]:
    """Return this process's variables without its AWS and Terraform settings, so that no test reaches a real account."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TF_"))}
    # Collecting garbage is a third of what Terraform and its provider do here: each command reads the provider's whole schema once.
    return {"GOGC": "400"} | kept | {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", "AWS_EC2_METADATA_DISABLED": "true"}


@cache
def provider_mirror() -> Path | None:
    """Return a directory with a copy of the AWS provider, or None: then Terraform asks the registry.

    Looked for in $TF_PLUGIN_MIRROR, in the directories that Terraform looks in by itself, and a few levels below the usual places of
    programs.
    """
    named = os.environ.get("TF_PLUGIN_MIRROR")
    for folder in ([named] if named else []) + list(_IMPLIED):
        path = Path(folder).expanduser()
        if (path / _HOST / "hashicorp" / "aws").is_dir():
            return path
    return next((found for place in _SEARCHED for found in _below(Path(place).expanduser(), _DEPTH)), None)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """Return the folders at most ``depth`` levels below that hold the provider; hidden and unreadable ones are not entered."""
    if (folder / _HOST / "hashicorp" / "aws").is_dir():
        yield folder
    if depth == 0:
        return
    try:
        children = sorted(
            child for child in folder.iterdir() if child.is_dir() and not child.name.startswith(".") and not child.is_symlink()
        )
    except OSError:
        return
    for child in children:
        yield from _below(child, depth - 1)


def write_cli_configuration(path: Path) -> None:
    """Write the file for $TF_CLI_CONFIG_FILE: the mirror where there is one, else a plugin cache that all runs share."""
    mirror = provider_mirror()
    if mirror:
        include = f'["{_HOST}/*/*"]'
        path.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path    = "{mirror}"\n    include = {include}\n  }}\n}}\n')
        return
    cache_folder = Path(os.environ.get("TF_PLUGIN_CACHE_DIR", "~/.terraform.d/plugin-cache")).expanduser()
    cache_folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f'plugin_cache_dir = "{cache_folder}"\nplugin_cache_may_break_dependency_lock_file = true\n')


def run(folder: Path, *arguments: str, environment: Mapping[str, str], ok: tuple[int, ...] = (0,)) -> "subprocess.CompletedProcess[str]":
    """Run Terraform in a folder.

    Raises:
        TerraformError: the exit code is not among ``ok``.
    """
    done = subprocess.run(
        ["terraform", *arguments], cwd=folder, env=dict(environment), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode not in ok:
        words = " ".join(arguments)
        raise TerraformError(f"terraform {words} in {folder.name}: exit code {done.returncode}\n{_essence(done.stdout)}\n{done.stderr}")
    return done


def _essence(output: str, lines: int = 60) -> str:
    kept = output.rstrip().splitlines()
    return "\n".join(kept if len(kept) <= lines else [f"... {len(kept) - lines} lines ...", *kept[-lines:]])
