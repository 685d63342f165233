"""Write requirements.lock, or check without a network that it matches pyproject.toml.

The first line of the lock has a digest of every declared requirement. Resolving again would be a more complete check, but it needs a
network and fails when someone publishes a package; the digest fails only when a requirement was changed without a new lock.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
_PREFIX = "# requirements sha256: "
_NOTE = "# Written by `make lock` from pyproject.toml, all extras, for every platform. Never edit by hand.\n"


def digest(pyproject: str) -> str:
    """Return the digest of the requirements that a ``pyproject.toml`` declares; it ignores order and comments."""
    document = tomllib.loads(pyproject)
    project = document["project"]
    declared = {
        "build": sorted(document["build-system"]["requires"]),
        "python": project["requires-python"],
        "run": sorted(project["dependencies"]),
        "extras": {name: sorted(wanted) for name, wanted in project["optional-dependencies"].items()},
    }
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()


def problem(pyproject: str, lock: str) -> str | None:
    """Return why a lock does not match a ``pyproject.toml``, or None."""
    first = lock.split("\n", 1)[0]
    if first == _PREFIX + digest(pyproject):
        return None
    return "requirements.lock was made from other requirements than pyproject.toml has now: run `make lock` and commit both"


def write() -> None:
    """Resolve again, and keep every locked version that still fits. Needs a network.

    Raises:
        CalledProcessError: the requirements contradict each other, or there is no network; uv has printed which.
    """
    command = ["-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--all-extras", "--generate-hashes"]
    command += ["--no-emit-index-url", "--no-header", "--output-file", str(LOCK), "pyproject.toml"]
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - our own arguments
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    LOCK.write_text(_PREFIX + digest(pyproject) + "\n" + _NOTE + LOCK.read_text("utf-8"), "utf-8")


def main() -> int:
    """Write the lock, or only check it (``--check``)."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    found = problem((ROOT / "pyproject.toml").read_text("utf-8"), LOCK.read_text("utf-8"))
    if found:
        sys.stderr.write(found + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
