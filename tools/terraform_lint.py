"""Check the Terraform code: the lengths of lines, terraform fmt, tflint and checkov.

tflint and checkov are not packages of this project: tflint is a Go program, and checkov pins its own boto3. A tool that is not on PATH is
installed into .tools once: Go builds tflint, and checkov gets a virtual environment. A tool that cannot be installed is reported and
skipped; with CI or DMS_ICEBERG_REQUIRE_TERRAFORM in the environment it is an error.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
TFLINT = "v0.64.0"
CHECKOV = "3.3.30"
LONGEST_LINE = 160
_TFLINT_MODULE = f"github.com/terraform-linters/tflint@{TFLINT}"

_PARSE = """
import sys, hcl2
for path in sys.argv[1:]:
    try:
        hcl2.loads(open(path, encoding="utf-8").read())
    except Exception as error:
        print(f"{path}: {error}".splitlines()[0])
"""
"""Code for checkov's own Python: its parser understands less of the language than Terraform."""


class MissingError(Exception):
    """A tool is missing and cannot be installed; the message says what would help."""


def is_required(environment: Mapping[str, str]) -> bool:
    """Whether a missing tool is an error, as it is in CI."""
    return bool(environment.get("CI") or environment.get("DMS_ICEBERG_REQUIRE_TERRAFORM"))


def _call(command: Sequence[str | Path], **more: str) -> int:
    return subprocess.run(command, cwd=ROOT, env=os.environ | more, check=False).returncode  # noqa: S603 - our own arguments


def terraform() -> Path:
    """Return the path of Terraform.

    Raises:
        MissingError: it is not on PATH.
    """
    found = shutil.which("terraform")
    if not found:
        raise MissingError("terraform is not on PATH: install version 1.9 or newer")
    return Path(found)


def tflint() -> Path:
    """Return the path of tflint in our version; the first time, build it (some minutes).

    Raises:
        MissingError: there is neither tflint nor Go, or Go could not build it.
    """
    built = TOOLS / f"tflint-{TFLINT}" / "tflint"
    if built.exists():
        return built
    found, go = shutil.which("tflint"), shutil.which("go")
    if found:
        return Path(found)
    if not go:
        raise MissingError(f"tflint is not on PATH, and there is no Go to build it: install tflint {TFLINT} or Go")
    sys.stderr.write(f"lint: building tflint {TFLINT} (once; some minutes)\n")
    if _call([go, "install", _TFLINT_MODULE], GOBIN=str(built.parent)) != 0 or not built.exists():
        raise MissingError(f"Go could not build {_TFLINT_MODULE}: see above; the Go module proxy must be reachable this once")
    return built


def checkov() -> Path:
    """Return the path of checkov in our version; the first time, install it (300 MB).

    Raises:
        MissingError: it could not be installed.
    """
    folder = TOOLS / f"checkov-{CHECKOV}"
    program, done = folder / "bin" / "checkov", folder / "done"
    if done.exists():
        return program
    sys.stderr.write(f"lint: installing checkov {CHECKOV} (once; 300 MB, about a minute)\n")
    install: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install"]
    if _call([sys.executable, "-m", "venv", "--clear", folder]) != 0 or _call([*install, f"checkov=={CHECKOV}"]) != 0:
        raise MissingError(f"checkov {CHECKOV} could not be installed: see above; the package index must be reachable this once")
    done.touch()
    return program


def sources() -> list[Path]:
    """Return the Terraform files: those of the root module, of the modules that it calls, and of the examples."""
    return sorted([*ROOT.glob("*.tf"), *(ROOT / "terraform").rglob("*.tf")])


def check_lengths() -> int:
    """Refuse lines that are too long to read beside another file. A reason that checkov is given must stay on its line."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} characters, {LONGEST_LINE} are allowed\n"
        for path in sources()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > LONGEST_LINE and not line.lstrip().startswith("#checkov:skip=")
    ]
    sys.stderr.write("".join(found))
    return int(bool(found))


def check_format() -> int:
    """Run terraform fmt."""
    # Terraform warns about a configuration file that is set and missing; this command needs none.
    command: list[str | Path] = [terraform(), "fmt", "-check", "-diff"]
    return _call(command, TF_CLI_CONFIG_FILE=os.devnull) or _call([*command, "-recursive", "terraform"], TF_CLI_CONFIG_FILE=os.devnull)


def check_tflint() -> int:
    """Run tflint in every folder with Terraform code. Not recursively from the root: it would walk through environments too."""
    command: list[str | Path] = [tflint(), f"--config={ROOT / '.tflint.hcl'}"]
    return _call(command) or _call([*command, "--recursive", "--chdir=terraform"])


def check_checkov() -> int:
    """Run checkov over modules and examples. .checkov.yaml and comments at the resources say which checks are skipped, and why."""
    program = checkov()
    # Checkov skips a file that it cannot parse: nothing in it would be checked.
    unread = subprocess.run(  # noqa: S603 - our own arguments
        [program.with_name("python"), "-c", _PARSE, *sources()], capture_output=True, text=True, check=True
    ).stdout
    if unread:
        sys.stderr.write(f"lint: checkov cannot parse, and so would not check:\n{unread}")
    return _call([program, "--config-file", ROOT / ".checkov.yaml"]) or int(bool(unread))


CHECKS = {"line lengths": check_lengths, "terraform fmt": check_format, "tflint": check_tflint, "checkov": check_checkov}


def main() -> int:
    """Run all of them; the exit code is 1 if one found something or, if it is required, could not run."""
    failed = []
    for name, check in CHECKS.items():
        try:
            if check() != 0:
                failed.append(name)
        except MissingError as error:
            sys.stderr.write(f"lint: {name} was NOT run: {error}\n")
            if is_required(os.environ):
                failed.append(name)
    if failed:
        sys.stderr.write(f"lint: failed: {', '.join(failed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
