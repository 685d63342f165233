"""Commands that need the ``local`` extra: the emulated DMS and the demo."""

import importlib.util

import typer


def register(app: typer.Typer) -> None:
    """Add ``emulate`` and ``demo`` to the command line.

    Raises:
        ImportError: the ``local`` extra is not installed.
    """
    if importlib.util.find_spec("psycopg") is None:
        raise ImportError("psycopg is not installed: pip install 'dms-iceberg[local]'")
    from dms_iceberg.local.demo.cli import demo
    from dms_iceberg.local.emulator.cli import emulate

    app.command()(emulate)
    app.command()(demo)
