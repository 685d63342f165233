"""``dms-iceberg doctor``: the command that calls `examine`."""

import json
from typing import Annotated

import typer

from dms_iceberg.cli.options import AsJson, ConfigPath, prepared
from dms_iceberg.cli.words import Words


def doctor(
    config: ConfigPath,
    queue: Annotated[
        str | None,
        typer.Option(metavar="URL", help="SQS queue that a watch receives from: look at one message.", show_default=False),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Try what the job needs, where it runs: packages, bronze, state, salts, queue, Spark, catalog, clock. Exit code 1 if one is wrong.

    It writes and deletes small objects where the job writes, and changes nothing else.
    """
    with Words(quiet=json_) as words:
        loaded = prepared(config, (), words)
        from dms_iceberg.doctor.finding import exit_code, to_document
        from dms_iceberg.doctor.run import examine

        words.say("trying what a run needs")
        findings = []
        for finding in examine(loaded, queue):
            findings.append(finding)
            if not json_:
                words.print(f"{finding.verdict:<5}  {finding.subject}: {finding.found}")
                if finding.advice:
                    words.print(f"       {finding.advice}")
    if json_:
        typer.echo(json.dumps(to_document(findings)))
    raise typer.Exit(exit_code(findings))
