"""The command ``dms-iceberg demo``."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from dms_iceberg.logs import configure_logs

if TYPE_CHECKING:
    from dms_demo.database import Database
    from dms_demo.report import DemoReport
    from dms_demo.screen import Screen

_INTERRUPTED: Final = 130


class DemoSource(StrEnum):
    """The databases that the demo can run on."""

    POSTGRES = "postgres"
    MYSQL = "mysql"


def demo(
    source: Annotated[
        DemoSource, typer.Option(envvar="DEMO_SOURCE", help="The source database; mysql is a MariaDB, on Linux x86-64 only.")
    ] = DemoSource.POSTGRES,
    seconds: Annotated[float, typer.Option(envvar="DEMO_SECONDS", min=1, help="Seconds for which the writers write to the shop.")] = 60.0,
    directory: Annotated[Path, typer.Option(help="Folder for all results; replaces an earlier demo.")] = Path("build/demo"),
) -> None:
    """Mirror a shop's PostgreSQL or MariaDB into Iceberg on this machine, live, and report.

    Exit code 1 if a table does not equal its source in the end.
    """
    from dms_demo.screen import Screen

    configure_logs(terminal=True)
    console = Console(highlight=False)
    with Screen(console) as screen:
        screen.now("importing Spark, the database and the emulated DMS ...")
        report = _run(source, directory, seconds, screen)
    from dms_demo.page import write_page
    from dms_demo.summary import print_summary

    (directory / "report.json").write_text(json.dumps(report.to_document(), indent=2) + "\n")
    write_page(report, directory / "report.html")
    print_summary(report, directory, console)
    raise typer.Exit(0 if report.equal else 1)


def _run(source: DemoSource, directory: Path, seconds: float, screen: "Screen") -> "DemoReport":
    """Run the demo; end the command on an interrupt."""
    # Spark and the database are imported only when the demo runs, and after the first word: the other commands start without them.
    from dms_demo.pipeline import run_demo
    from dms_emulator.stop_request import Stopped, StopRequest

    try:
        with StopRequest() as stop:
            try:
                report = run_demo(_database(source), directory, seconds, screen, stop)
            except Exception:
                # Ctrl-C on a terminal may have ended a child process, too.
                stop.check()
                raise
            stop.check()
            return report
    except Stopped as stopped:
        failed = stopped.__context__
        rest = "everything is stopped; what was written so far is left" if failed is None else f"what failed meanwhile: {failed}"
        screen.console.print(f"interrupted: {rest}", markup=False, soft_wrap=True)
        raise typer.Exit(stopped.exit_code) from None
    except KeyboardInterrupt:
        screen.console.print("interrupted twice: what was written so far is left", markup=False)
        raise typer.Exit(_INTERRUPTED) from None


def _database(source: DemoSource) -> "Database":
    if source is DemoSource.MYSQL:
        from dms_demo.mariadb_database import MariaDbDatabase

        return MariaDbDatabase()
    from dms_demo.postgres_database import PostgresDatabase

    return PostgresDatabase()
