"""Commands of other packages, if they are installed: the emulated DMS and the demo. Glue has neither and needs neither."""

from importlib.metadata import entry_points

import typer

GROUP = "dms_iceberg.commands"
"""Group of the entry points that are commands; they are in pyproject.toml."""


def register(app: typer.Typer) -> None:
    """Add the commands that can be imported; those of packages that are not installed are left out."""
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            command = entry.load()
        except ModuleNotFoundError:
            continue
        app.command()(command)
