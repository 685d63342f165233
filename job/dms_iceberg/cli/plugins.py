"""Commands of other packages: the emulated DMS and the demo, where they are installed. Glue has neither, and no need for them."""

from importlib.metadata import entry_points

import typer

GROUP = "dms_iceberg.commands"
"""Entry points of this group are commands; pyproject.toml has them."""


def register(app: typer.Typer) -> None:
    """Add the commands that can be imported here; those whose packages are not installed are left out."""
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            command = entry.load()
        except ModuleNotFoundError:
            continue
        app.command()(command)
