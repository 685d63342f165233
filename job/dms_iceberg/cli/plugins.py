"""Commands that need the ``local`` extra: the emulated DMS and the demo."""

import importlib.util

import typer


def register(app: typer.Typer) -> None:
    """Add ``emulate`` and ``demo`` to the command line."""
    if importlib.util.find_spec("dms_iceberg.local.emulator.cli") is not None:
        from dms_iceberg.local.emulator.cli import emulate

        app.command()(emulate)
    if importlib.util.find_spec("dms_iceberg.local.demo") is not None:
        from dms_iceberg.local.demo.cli import demo

        app.command()(demo)
