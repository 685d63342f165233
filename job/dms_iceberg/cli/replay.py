"""``dms-iceberg quarantine list`` and ``quarantine replay``: the commands that call `list_quarantine` and `replay`."""

import json
from typing import Annotated

import typer

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.options import AsJson, ConfigPath, Tables, prepared, starting_session
from dms_iceberg.cli.print_quarantine import place_in, print_quarantine
from dms_iceberg.cli.print_run import print_report
from dms_iceberg.cli.words import INTERRUPTED, Words

quarantine = typer.Typer(no_args_is_help=True, help="List rejected rows, or replay them.")

Reasons = Annotated[
    list[str],
    typer.Option("--reason", "-r", help="Only rows with this reason, alone (cast) or with its detail ('rule: positive'); may be repeated."),
]


@quarantine.command("list")
def list_(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    reason: Reasons = [],  # noqa: B006 - the same
    examples: Annotated[int, typer.Option(min=0, max=1_000, help="Number of rows to show for each reason.")] = 3,
    json_: AsJson = False,
) -> None:
    """Show the open rows of the quarantine by table and reason; of their values only the key, as silver has it."""
    with Words(quiet=json_) as words:
        loaded = prepared(config, table, words)
        started = starting_session(loaded, words, is_brief=True)
        from dms_iceberg.quarantine.listing import list_quarantine

        spark = started()
        words.say(f"reading the quarantine of {counted(len(set(table) or loaded.tables), 'table')}")
        tables = list_quarantine(spark, loaded, table, reason, examples, words.now)
    if json_:
        typer.echo(json.dumps({"tables": {one.table: one.to_document() for one in tables}}))
    else:
        print_quarantine(tables, place_in(loaded.bronze), config)
    raise typer.Exit(1 if any(one.error for one in tables) else 0)


@quarantine.command("replay")
def replay_(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    reason: Reasons = [],  # noqa: B006 - the same
    json_: AsJson = False,
) -> None:
    """Merge the open rows of the quarantine again, in their place in the order of changes; rows that fail again stay open."""
    with Words(quiet=json_) as words:
        loaded = prepared(config, table, words)
        started = starting_session(loaded, words)
        from dms_iceberg.cli.stopping import Stopping
        from dms_iceberg.runs.replay import replay

        spark = started()
        words.say(f"replaying the quarantine of {counted(len(set(table) or loaded.tables), 'table')}")
        with Stopping(words, lambda: spark.sparkContext.setLogLevel("OFF")) as stopping:
            report = replay(spark, loaded, table, reason, stopping)
    if json_:
        # Without the run's id: alarms take the line that has it for the end of a run.
        typer.echo(json.dumps({name: value for name, value in report.to_document().items() if name != "run_id"}))
    else:
        print_report(report, config, is_replay=True)
    raise typer.Exit(INTERRUPTED if stopping.is_stopping else report.exit_code)
