"""The command line. Exit codes: 0 done, 1 a table failed, 2 bad configuration or usage."""

import json
import sys
from typing import Annotated

import attrs
import typer
from rich.console import Console

from dms_iceberg import __version__
from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.discover import discover
from dms_iceberg.cli.doctor import doctor
from dms_iceberg.cli.init import init
from dms_iceberg.cli.maintain import maintain
from dms_iceberg.cli.options import (
    AsJson,
    ConfigPath,
    ConfirmRows,
    LoadComplete,
    Rebuild,
    ReloadStarted,
    Tables,
    TakeOver,
    Truncate,
    TruncatedAt,
    prepared,
    run_request,
    starting_session,
    taking_over,
    warn_of_order,
    warn_of_salts,
    words_of,
)
from dms_iceberg.cli.plugins import register
from dms_iceberg.cli.print_plan import print_plan
from dms_iceberg.cli.print_run import print_report
from dms_iceberg.cli.replay import quarantine
from dms_iceberg.cli.terminal import print_status
from dms_iceberg.cli.verify import verify
from dms_iceberg.cli.watch import watch
from dms_iceberg.cli.words import INTERRUPTED, Words
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
    with Words(quiet=json_) as words:
        try:
            words.show(f"reading the document {config}")
            from dms_iceberg.config.load import load_config

            loaded = load_config(config)
        except ConfigError as error:
            if json_:
                typer.echo(json.dumps({"valid": False, "problems": error.problems}))
                raise typer.Exit(2) from None
            raise
        from dms_iceberg.config.advice import advice

        warnings = advice(loaded)
    if json_:
        typer.echo(json.dumps({"valid": True, "problems": []} | ({"warnings": warnings} if warnings else {})))
        return
    typer.echo(f"{config}: valid, {counted(len(loaded.tables), 'table')}")
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
    confirm_rows: ConfirmRows = [],  # noqa: B006 - the same
    take_over: TakeOver = [],  # noqa: B006 - the same
    json_: AsJson = False,
) -> None:
    """Merge all new files, once."""
    with Words(quiet=json_) as words:
        request = taking_over(run_request(load_complete, reload_started_at, truncate, truncated_at, rebuild, confirm_rows), take_over)
        loaded = prepared(config, table, words, request)
        warn_of_salts(loaded, table)
        started = starting_session(loaded, words)
        from dms_iceberg.cli.stopping import Stopping
        from dms_iceberg.runs import run as runner

        spark = started()
        words.say(f"merging {counted(len(set(table) or loaded.tables), 'table')}")
        with Stopping(words, lambda: spark.sparkContext.setLogLevel("OFF")) as stopping:
            report = runner.run(spark, loaded, table, stopping.merged, request, stopping)
    if json_:
        typer.echo(json.dumps(report.to_document()))
    else:
        print_report(report, config, is_stopping=stopping.is_stopping)
    raise typer.Exit(INTERRUPTED if stopping.is_stopping else report.exit_code)


@app.command()
def plan(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    load_complete: LoadComplete = [],  # noqa: B006 - the same
    reload_started_at: ReloadStarted = None,
    truncate: Truncate = [],  # noqa: B006 - the same
    truncated_at: TruncatedAt = None,
    confirm_rows: ConfirmRows = [],  # noqa: B006 - the same
    rebuild: Rebuild = [],  # noqa: B006 - the same
    take_over: TakeOver = [],  # noqa: B006 - the same
    sql: Annotated[bool, typer.Option("--sql", help="Also print long SQL statements, such as those that create tables.")] = False,
    json_: AsJson = False,
) -> None:
    """Show what a run would do: files, rows, steps, schema changes as SQL, and gold models to refresh. Changes nothing."""
    with Words(quiet=json_) as words:
        request = taking_over(run_request(load_complete, reload_started_at, truncate, truncated_at, rebuild, confirm_rows), take_over)
        loaded = prepared(config, table, words, request)
        warn_of_order(loaded, words)
        started = starting_session(loaded, words)
        from dms_iceberg.gold.preview import preview_models
        from dms_iceberg.gold.status import model_statuses
        from dms_iceberg.runs.preview import preview

        spark = started()
        words.say(f"planning {counted(len(set(table) or loaded.tables), 'table')}")
        previews = preview(spark, loaded, table, request, words.now)
        changing = [loaded.tables[one.table].target for one in previews if one.changes_rows]
        renamed = {loaded.tables[one.table].target: one.renamed for one in previews}
        # A table with a step is taken over by the first one; one without is refused before.
        taken = set(take_over) - {one.table for one in previews if one.error is not None and not one.steps}
        statuses = model_statuses(spark, loaded, with_maintenance=False, take_over=taken)
        models = preview_models(loaded, statuses, changing, renamed)
    if json_:
        documents = {one.table: one.to_document() for one in previews}
        typer.echo(json.dumps({"tables": documents, "models": {one.model: one.to_document() for one in models}}))
    else:
        uncertain = {one.table: one.leaving for one in previews if one.leaving and one.leaving != request.confirm_rows.get(one.table)}
        confirming = attrs.evolve(request, confirm_rows={**request.confirm_rows, **uncertain})
        again = words_of(config, table, confirming) if uncertain else ""
        print_plan(previews, models, words_of(config, table, request), with_sql=sql, confirming=again)
    failing = any(one.is_bad for one in previews) or any(one.error for one in models)
    raise typer.Exit(1 if failing else 0)


@app.command()
def status(config: ConfigPath, table: Tables = [], json_: AsJson = False) -> None:  # noqa: B006 - typer needs a list
    """Show per table: frontier, rows, lag, snapshots, delete files, quarantine, last error; and which gold models are out of date."""
    with Words(quiet=json_) as words:
        loaded = prepared(config, table, words)
        warn_of_order(loaded, words)
        started = starting_session(loaded, words, is_brief=True)
        from dms_iceberg.gold.status import model_statuses
        from dms_iceberg.runs.status import table_statuses

        spark = started()
        words.say(f"looking at {counted(len(set(table) or loaded.tables), 'table')}")
        statuses = table_statuses(spark, loaded, table, words.now)
        models = [] if table else model_statuses(spark, loaded)
    if json_:
        documents = {one.table: one.to_document() for one in statuses}
        typer.echo(json.dumps({"tables": documents, "models": {one.model: one.to_document() for one in models}}))
    else:
        print_status(statuses, models, config)


app.command()(watch)
app.command()(verify)
app.command()(maintain)
app.command()(doctor)
app.command()(discover)
app.command()(init)
app.add_typer(quarantine, name="quarantine")


def _own_commands() -> set[str]:
    """Return the names of this package's commands and groups."""
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    return names | {str(group.name) for group in app.registered_groups}


def _console() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else arguments
    # Commands of other packages take long to import: only for these commands themselves, and for what lists all of them.
    wanted = next((word for word in given if not word.startswith("-")), "")
    if wanted not in _own_commands():
        register(app, wanted)
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
