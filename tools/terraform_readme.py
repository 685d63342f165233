"""Write the tables of inputs and outputs into the pages of the Terraform modules, or only check them (``--check``).

The page of the root module is ``docs/terraform.md``. A module whose folder does not begin with an underscore is public and needs a README.
Each has the two markers, and every input and output of any module a description.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
from hcl2 import SerializationOptions

ROOT = Path(__file__).resolve().parent.parent
PAGE_OF_THE_ROOT = ROOT / "docs" / "terraform.md"
BEGIN = "<!-- inputs and outputs: written by `make fmt` -->"
END = "<!-- end of inputs and outputs -->"
_LONGEST_DEFAULT = 60
_AS_TEXT = SerializationOptions(
    with_comments=False, explicit_blocks=False, preserve_heredocs=False, strip_string_quotes=True, wrap_objects=True, wrap_tuples=True
)
_Blocks = dict[str, dict[str, Any]]


class ReadmeError(Exception):
    """A module lacks something that its README needs; the message says which module, and what to do."""


def blocks(module: Path, kind: str) -> _Blocks:
    """Return the ``variable`` or ``output`` blocks of a module by name, in the order of files and lines.

    Raises:
        ReadmeError: one has no description.
    """
    found: _Blocks = {}
    for path in sorted(module.glob("*.tf")):
        document = hcl2.loads(path.read_text("utf-8"), serialization_options=_AS_TEXT)
        for block in document.get(kind, []):
            for name, content in block.items():
                if not content.get("description"):
                    raise ReadmeError(f"{path.name}: {kind} '{name}' has no description")
                found[name] = content
    return found


def expression(value: object) -> str:
    """Return a value as Terraform code."""
    if isinstance(value, str):
        return value[2:-1] if value.startswith("${") else json.dumps(value)
    return json.dumps(value)


def short_type(value: str) -> str:
    """Return a type as ``map(object)``, without the attributes of its objects, which the description lists."""
    text = value[2:-1] if value.startswith("${") else value
    outer = re.match(r"((?:\w+\()*)(object|tuple)\(", text)
    return f"{outer[1]}{outer[2]}{')' * outer[1].count('(')}" if outer else text


def cell(text: str) -> str:
    """Return a description as one cell: lines that begin with a dash or a back-tick stay lines, wrapped and indented text is joined."""
    # What is read of a heredoc has its quotes escaped.
    joined = re.sub(r"\n(?=[-`])", "<br>", text.strip().replace('\\"', '"'))
    return re.sub(r"\s*\n\s*", " ", joined).replace("|", "\\|")


def default(variable: dict[str, Any]) -> str:
    """Return the cell with the default of an input."""
    if "default" not in variable:
        return "required"
    text = expression(variable["default"]).replace("|", "\\|")
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else "see description"


def rows(variables: _Blocks, outputs: _Blocks) -> Iterator[str]:
    """Yield the lines of both tables."""
    yield from ("## Inputs", "", "| name | type | default | meaning |", "|---|---|---|---|")
    for name, content in sorted(variables.items(), key=lambda item: "default" in item[1]):
        kind = short_type(str(content.get("type", "any")))
        yield f"| `{name}` | `{kind}` | {default(content)} | {cell(content['description'])} |"
    yield from ("", "## Outputs", "", "| name | meaning |", "|---|---|")
    for name, content in outputs.items():
        secret = " Sensitive." if content.get("sensitive") else ""
        yield f"| `{name}` | {cell(content['description'])}{secret} |"


def filled(readme: str, tables: str) -> str:
    """Return a README with the tables between the markers.

    Raises:
        ReadmeError: it does not have exactly one pair of markers.
    """
    if (readme.count(BEGIN), readme.count(END)) != (1, 1) or readme.index(BEGIN) > readme.index(END):
        raise ReadmeError(f"the lines\n  {BEGIN}\n  {END}\nare not there, once each and in this order")
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.split(END)[1]}"


def problem(module: Path, write: bool, page: Path | None = None) -> str | None:
    """Update a module's page, its README by default, or only check it if ``write`` is false; return what is wrong with it, or None."""
    name = f"{module.parent.parent.name}/{module.parent.name}/{module.name}" if page is None else "the root module"
    try:
        tables = "\n".join(rows(blocks(module, "variable"), blocks(module, "output")))
        if module.name.startswith("_"):
            return None
        path = page or module / "README.md"
        if not path.exists():
            return f"{name}: a public module needs a {path.name} with the lines\n  {BEGIN}\n  {END}"
        readme = path.read_text("utf-8")
        wanted = filled(readme, tables)
    except ReadmeError as error:
        return f"{name}: {error}"
    if wanted == readme:
        return None
    if write:
        path.write_text(wanted, "utf-8")
        return None
    return f"{name}: the tables of {path.name} are not those of the module: run `make fmt`"


def main() -> int:
    """Write or check every module's page."""
    write = "--check" not in sys.argv[1:]
    modules = sorted({path.parent for path in (ROOT / "terraform" / "modules").glob("*/*.tf")})
    found = [problem(ROOT, write, PAGE_OF_THE_ROOT), *(problem(module, write) for module in modules)]
    problems = [one for one in found if one]
    sys.stderr.write("".join(f"{one}\n" for one in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
