"""A copy of everything Terraform reads, so that no test writes into the repository."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[3]
_LEFT_OUT = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "*.tfstate*", "*.tfplan", "tf_resources.json")


def copy_tree(target: Path) -> Path:
    """Copy ``terraform/`` and the root module to ``target``, link what they reach by relative paths; returns the copy of ``terraform/``."""
    shutil.copytree(ROOT / "terraform", target / "terraform", ignore=_LEFT_OUT)
    for path in ROOT.glob("*.tf"):
        shutil.copy(path, target)
    for name in ("dist", "docs", "job", "lambda"):
        if (ROOT / name).exists():
            (target / name).symlink_to(ROOT / name)
    return target / "terraform"


def modules() -> list[str]:
    """Return the names of all modules below the root module."""
    return sorted(path.name for path in (ROOT / "terraform" / "modules").glob("*") if list(path.glob("*.tf")))


def examples() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.name for path in (ROOT / "terraform" / "examples").glob("*") if list(path.glob("*.tf")))
