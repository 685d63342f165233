"""Write the Terraform files of the repository's root, or only check them (``--check``).

The root is the module ``pipeline``, where a Terraform registry and ``git::...`` without a sub-directory look for one:
its inputs passed on, its outputs passed back. The module stays their owner: it checks the values, and this program
copies the rest.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "terraform" / "modules" / "pipeline"
_HEAD = "# Written by `make fmt` from terraform/modules/pipeline, which checks the values.\n"
_BLOCK = re.compile(r'^(variable|output) "(\w+)" \{\n(.*?)^\}\n', re.MULTILINE | re.DOTALL)
_CHECKS = re.compile(r"^  (?:validation|precondition) \{\n.*?^  \}\n", re.MULTILINE | re.DOTALL)
_DESCRIPTION = re.compile(r"^  description = (?:<<-EOT\n.*?^  EOT\n|.*?\n)", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> dict[str, str]:
    """Return the module's ``variable`` or ``output`` blocks by name, without what is around them."""
    texts = (path.read_text("utf-8") for path in sorted(MODULE.glob("*.tf")))
    return {name: body for text in texts for found, name, body in _BLOCK.findall(text) if found == kind}


def variables() -> str:
    """Return the text of ``variables.tf``."""
    bodies = {name: re.sub(r"\n+\Z", "\n", _CHECKS.sub("", body)) for name, body in blocks("variable").items()}
    required = sorted(bodies, key=lambda name: ("\n  default" in bodies[name], list(bodies).index(name)))
    return _HEAD + "".join(f'\nvariable "{name}" {{\n{bodies[name]}}}\n' for name in required)


def main_file() -> str:
    """Return the text of ``main.tf``."""
    width = max(len(name) for name in blocks("variable"))
    arguments = "".join(f"  {name.ljust(width)} = var.{name}\n" for name in sorted(blocks("variable")))
    return f'{_HEAD}module "pipeline" {{\n  source = "./terraform/modules/pipeline"\n\n{arguments}}}\n'


def outputs() -> str:
    """Return the text of ``outputs.tf``.

    Raises:
        ValueError: an output has no description.
    """
    found = []
    for name, body in blocks("output").items():
        description = _DESCRIPTION.match(body)
        if description is None:
            raise ValueError(f"output '{name}' of {MODULE.name} does not begin with its description: write it first")
        found.append(f'\noutput "{name}" {{\n{description[0]}  value       = module.pipeline.{name}\n}}\n')
    return _HEAD + "".join(found)


def versions() -> str:
    """Return the text of ``versions.tf``."""
    return _HEAD + (MODULE / "versions.tf").read_text("utf-8")


FILES = {"main.tf": main_file, "variables.tf": variables, "outputs.tf": outputs, "versions.tf": versions}


def main(arguments: list[str]) -> int:
    """Write the files; with ``--check`` the exit code is 1 if one of them is not what would be written."""
    stale = [name for name, text in FILES.items() if not (ROOT / name).exists() or (ROOT / name).read_text("utf-8") != text()]
    if "--check" in arguments:
        for name in stale:
            sys.stderr.write(f"{name}: not what terraform/modules/pipeline asks for; run `make fmt`\n")
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(FILES[name](), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
