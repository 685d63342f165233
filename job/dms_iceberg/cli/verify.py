"""``dms-iceberg verify``: the command that calls `verify`."""

import json
from typing import Annotated

import typer

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.options import AsJson, ConfigPath, Tables, percentage, prepared, seconds, starting_session
from dms_iceberg.cli.source_options import SourceSecret, SourceUrl, source_address
from dms_iceberg.cli.terminal import print_verdict
from dms_iceberg.cli.words import Words


def verify(
    config: ConfigPath,
    source: SourceUrl,
    source_secret: SourceSecret = None,
    table: Tables = [],  # noqa: B006 - typer needs a list
    settle: Annotated[str, typer.Option(metavar="DURATION", help="Wait this long before checking differing keys again.")] = "30s",
    tries: Annotated[int, typer.Option(min=0, help="How often to check differing keys again; 0: the source does not change.")] = 5,
    max_rows_per_second: Annotated[
        float | None, typer.Option(min=1, help="Read the source no faster than this.", show_default="no limit")
    ] = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows of the source in memory at once.")] = 100_000,
    without: Annotated[
        list[str], typer.Option(metavar="COLUMN", help="Do not compare this column, which one side may lack; may be repeated.")
    ] = [],  # noqa: B006 - typer needs a list
    repair: Annotated[bool, typer.Option("--repair", help="Write change files for the differences; the next run merges them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --repair: check all, say what would be written, write nothing.")] = False,
    max_repair: Annotated[
        str,
        typer.Option(metavar="SHARE", help="The most rows of a table that a repair may write; 10, or half of fewer than 20, are allowed."),
    ] = "1%",
    insert_missing: Annotated[
        bool,
        typer.Option(
            "--insert-missing", help="Let a repair insert rows that silver lacks: no selection filter of the task keeps them out."
        ),
    ] = False,
    accept_source: Annotated[
        str,
        typer.Option(
            metavar="IDENTITY", help="This is the right source, though earlier comparisons noted none, or another.", show_default=False
        ),
    ] = "",
    json_: AsJson = False,
) -> None:
    """Compare the source database with the silver tables; exit code 1 if differences remain."""
    pause, share = seconds(settle), percentage(max_repair)
    if not repair and (dry_run or insert_missing):
        raise typer.BadParameter("--dry-run and --insert-missing need --repair")
    with Words(quiet=json_) as words:
        loaded = prepared(config, table, words)
        address = source_address(source, source_secret)
        from dms_iceberg.verify import run
        from dms_iceberg.verify.open_source import open_source
        from dms_iceberg.verify.options import Options
        from dms_iceberg.verify.repair import refuse_repair
        from dms_iceberg.verify.source import Throttle

        options = Options(
            tries=tries,
            settle=pause,
            chunk_rows=chunk_rows,
            repair=repair,
            insert_missing=insert_missing,
            max_repair=share,
            dry_run=dry_run,
            without=frozenset(name.lower() for name in without),
            accept_source=accept_source,
            say=words.say,
        )
        if repair:
            refuse_repair(loaded, options)
        words.say("connecting to the source")
        database = open_source(address, Throttle(max_rows_per_second))
        try:
            spark = starting_session(loaded, words)()
            words.say(f"comparing {counted(len(set(table) or loaded.tables), 'table')}")
            verdict = run.verify(spark, loaded, database, table, options, words.read)
        finally:
            database.close()
    if json_:
        typer.echo(json.dumps(verdict.to_document()))
    else:
        print_verdict(verdict)
    raise typer.Exit(verdict.exit_code)
