"""``dms-iceberg maintain``: the command that calls `maintain`."""

import json
from typing import Annotated

import typer

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.options import AsJson, ConfigPath, Tables, prepared, seconds, starting_session
from dms_iceberg.cli.terminal import print_maintenance
from dms_iceberg.cli.words import Words


def maintain(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Begin no further step for a table after this time.", show_default="maintenance.budget_seconds"
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Maintain tables as needed: compact files, rewrite manifests, expire snapshots, delete orphan files. Batches may be merged meanwhile.

    Gold models are maintained only without --table.
    """
    limit = None if budget is None else seconds(budget)
    with Words(quiet=json_) as words:
        loaded = prepared(config, table, words)
        started = starting_session(loaded, words)
        from dms_iceberg.changes.partial_updates import tables_with_kept_positions
        from dms_iceberg.maintenance.run import maintain

        spark = started()
        chosen = tables_with_kept_positions(loaded, table)
        models = [] if table else list(loaded.gold)
        words.say(f"maintaining {counted(len(chosen) + len(models), 'table')}")
        report = maintain(spark, loaded, chosen, models, limit)
    if json_:
        typer.echo(json.dumps(report.to_document()))
    else:
        print_maintenance(report, config)
    raise typer.Exit(report.exit_code)
