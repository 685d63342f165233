"""The command line. Exit codes: 0 done, 1 a table failed, 2 bad configuration or usage."""

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

from dms_iceberg import __version__
from dms_iceberg.cli.discover import discover
from dms_iceberg.cli.doctor import doctor
from dms_iceberg.cli.init import init
from dms_iceberg.cli.maintain import maintain
from dms_iceberg.cli.options import (
    AsJson,
    ConfigPath,
    LoadComplete,
    Rebuild,
    ReloadStarted,
    Tables,
    Truncate,
    TruncatedAt,
    prepared,
    run_request,
    warn_of_order,
    warn_of_salts,
)
from dms_iceberg.cli.plugins import register
from dms_iceberg.cli.replay import quarantine
from dms_iceberg.cli.terminal import TableProgress, print_plan, print_report, print_status
from dms_iceberg.cli.verify import verify
from dms_iceberg.cli.watch import watch
from dms_iceberg.config.advice import advice
from dms_iceberg.config.load import load_config
from dms_iceberg.errors import ConfigError, DmsIcebergError

app = typer.Typer(
    name="dms-iceberg", help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Merge what AWS DMS writes to S3 into Apache Iceberg tables."""


@app.command()
def validate(config: ConfigPath, json_: AsJson = False) -> None:
    """Check the configuration document; print all problems at once, and warnings about what is probably a mistake."""
    try:
        loaded = load_config(config)
    except ConfigError as error:
        if json_:
            typer.echo(json.dumps({"valid": False, "problems": error.problems}))
            raise typer.Exit(2) from None
        raise
    warnings = advice(loaded)
    if json_:
        typer.echo(json.dumps({"valid": True, "problems": []} | ({"warnings": warnings} if warnings else {})))
        return
    typer.echo(f"{config}: valid, {len(loaded.tables)} tables")
    for warning in warnings:
        typer.echo(f"warning: {warning}")


@app.command()
def run(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    rebuild: Rebuild = [],  # noqa: B006 - the same
    load_complete: LoadComplete = [],  # noqa: B006 - the same
    reload_started_at: ReloadStarted = None,
    truncate: Truncate = [],  # noqa: B006 - the same
    truncated_at: TruncatedAt = None,
    json_: AsJson = False,
) -> None:
    """Merge all new files, once."""
    request = run_request(load_complete, reload_started_at, truncate, truncated_at, rebuild)
    loaded = prepared(config, table, request, quiet=json_)
    warn_of_salts(loaded, table)
    from dms_iceberg.runs import run as runner
    from dms_iceberg.spark.session import open_session

    with TableProgress(enabled=not json_) as progress:
        report = runner.run(open_session(loaded), loaded, table, progress.merged, request)
    if json_:
        typer.echo(json.dumps(report.to_document()))
    else:
        print_report(report)
    raise typer.Exit(report.exit_code)


@app.command()
def plan(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    load_complete: LoadComplete = [],  # noqa: B006 - the same
    reload_started_at: ReloadStarted = None,
    truncate: Truncate = [],  # noqa: B006 - the same
    truncated_at: TruncatedAt = None,
    rebuild: Rebuild = [],  # noqa: B006 - the same
    json_: AsJson = False,
) -> None:
    """Show what a run would do: its steps, files, rows, schema changes as SQL, and gold models to refresh. Changes nothing."""
    request = run_request(load_complete, reload_started_at, truncate, truncated_at, rebuild)
    loaded = prepared(config, table, request, quiet=json_)
    from dms_iceberg.gold.preview import preview_models
    from dms_iceberg.gold.status import model_statuses
    from dms_iceberg.runs.preview import preview
    from dms_iceberg.spark.session import open_session

    warn_of_order(loaded)
    spark = open_session(loaded)
    previews = preview(spark, loaded, table, request)
    changing = [loaded.tables[one.table].target for one in previews if one.changes_rows]
    models = preview_models(loaded, model_statuses(spark, loaded, with_maintenance=False), changing)
    if json_:
        documents = {one.table: one.to_document() for one in previews}
        typer.echo(json.dumps({"tables": documents, "models": {one.model: one.to_document() for one in models}}))
    else:
        print_plan(previews, models)
    failing = any(one.is_bad for one in previews) or any(one.error for one in models)
    raise typer.Exit(1 if failing else 0)


@app.command()
def status(config: ConfigPath, table: Tables = [], json_: AsJson = False) -> None:  # noqa: B006 - typer needs a list
    """Show per table: frontier, rows, lag, snapshots, delete files, quarantine, last error; and which gold models are out of date."""
    loaded = prepared(config, table, quiet=json_)
    from dms_iceberg.gold.status import model_statuses
    from dms_iceberg.runs.status import table_statuses
    from dms_iceberg.spark.session import open_session

    warn_of_order(loaded)
    spark = open_session(loaded)
    statuses = table_statuses(spark, loaded, table)
    models = [] if table else model_statuses(spark, loaded)
    if json_:
        documents = {one.table: one.to_document() for one in statuses}
        typer.echo(json.dumps({"tables": documents, "models": {one.model: one.to_document() for one in models}}))
    else:
        print_status(statuses, models)


app.command()(watch)
app.command()(verify)
app.command()(maintain)
app.command()(doctor)
app.command()(discover)
app.command()(init)
app.add_typer(quarantine, name="quarantine")


def _console() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    register(app)
    try:
        app(arguments)
    except ConfigError as error:
        _console().print(str(error))
        sys.exit(2)
    except DmsIcebergError as error:
        _console().print(f"error: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
