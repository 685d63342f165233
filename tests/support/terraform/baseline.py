"""The state of a released version's stack, kept as a file: a plan of the modules that are here must keep its resources.

Values of the world in which it was applied (account, network, secret) are placeholders in the file. It has the certificate of that
world's CA, of which names in the stack are hashes.
"""

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.terraform.lives import Life


def save(life: "Life", file: Path) -> None:
    """Write the state of an applied example. A release does it once."""
    bundle = Path(life.stack.variables()["ca_bundle"]).read_text("utf-8")
    text = json.dumps({"bundle": bundle, "state": life.stack.state()}, indent=0, sort_keys=True)
    for placeholder, value in _values(life).items():
        text = text.replace(value, placeholder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lzma.compress(text.encode()))


def actions(life: "Life", file: Path) -> dict[str, list[str]]:
    """Return what a plan of the example would do to each managed resource of the state in the file, by its address there.

    AWS is not asked for these resources, which it does not have.
    """
    text = lzma.decompress(file.read_bytes()).decode()
    for placeholder, value in _values(life).items():
        text = text.replace(placeholder, value)
    kept = json.loads(text)
    bundle = life.world.folder / "baseline.pem"
    bundle.write_text(kept["bundle"])
    return {former: done for former, (_, done) in life.stack.planned_on(kept["state"], f"-var=ca_bundle={bundle}").items()}


def _values(life: "Life") -> dict[str, str]:
    """Return the values of an example's world by their placeholders, such that no value is a part of a later one."""
    values = {"@folder@": str(life.world.folder), "@account@": life.world.account}
    for name, given in life.stack.variables().items():
        one: list[Any] = given if isinstance(given, list) else [given]
        values |= {f"@{name}.{number}@": value for number, value in enumerate(one) if isinstance(value, str) and len(value) > 8}
    return dict(sorted(values.items(), key=lambda pair: -len(pair[1])))
