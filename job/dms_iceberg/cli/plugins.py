"""Commands of other packages, if they are installed: the emulated DMS and the demo. Glue has neither and needs neither."""

from importlib.metadata import entry_points

import typer

GROUP = "dms_iceberg.commands"
"""Group of the entry points that are commands; they are in pyproject.toml."""


def register(app: typer.Typer, wanted: str = "") -> None:
    """Add the commands that can be imported; those of packages that are not installed are left out.

    Their packages take long to import, so only ``wanted`` is added if it is one of them.
    """
    entries = sorted(entry_points(group=GROUP), key=lambda one: one.name)
    for entry in [one for one in entries if one.name == wanted] or entries:
        try:
            command = entry.load()
        except ModuleNotFoundError:
            continue
        app.command()(command)
