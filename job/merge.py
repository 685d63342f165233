"""The script that Glue and spark-submit start: turns job arguments into the dms-iceberg command line.

Glue passes every argument as ``--name value`` and adds its own, which the script ignores. A switch such as ``--json`` takes true
or false. Quote a command of two words: ``--command "quarantine replay"``.

The code is in two zips, ``job.zip`` and ``requirements.zip``.
"""

import argparse
import sys
from contextlib import redirect_stderr
from typing import Any

try:
    import typer
    import typer.core

    from dms_iceberg.cli.app import app, main
except ModuleNotFoundError as missing:
    if missing.name in ("typer", "dms_iceberg"):
        missing.add_note("The job's code is in two zips. Give both, its own first: --py-files job.zip,requirements.zip")
    raise


def command_line(arguments: list[str]) -> list[str]:
    """Return the command line for job arguments; without ``--command`` it is `run`."""
    commands = _commands()
    chooser = argparse.ArgumentParser(allow_abbrev=False)
    chooser.add_argument("--command", default="run", choices=sorted(commands))
    chooser.add_argument("--config")
    known, rest = chooser.parse_known_args(arguments)
    parameters = commands[known.command].params
    options = [parameter for parameter in parameters if isinstance(parameter, typer.core.TyperOption)]
    # Only `discover` has no document: it prints one. A Glue job has one for all commands.
    takes_config = len(options) < len(parameters)
    if takes_config and known.config is None:
        chooser.error("the following arguments are required: --config")
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in options:
        name, target = option.opts[0], str(option.name)
        if option.is_flag:
            parser.add_argument(name, dest=target, action="append", default=[], nargs="?", const="true", choices=["true", "false"])
        else:
            parser.add_argument(name, dest=target, action="append", default=[])
    given = vars(parser.parse_known_args(rest)[0])
    words = [*known.command.split(), *([known.config] if takes_config else [])]
    for option in options:
        for value in given[str(option.name)]:
            words += [option.opts[0], value] if not option.is_flag else [option.opts[0]] * (value == "true")
    return words


def _commands() -> dict[str, Any]:
    """Return the commands by name; the name of a command in a group begins with the group's name."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        group = getattr(command, "commands", None)
        found.update({name: command} if group is None else {f"{name} {one}": of for one, of in group.items()})
    return found


if __name__ == "__main__":
    try:
        # Glue keeps a log group for each stream, and Spark's logs fill that of stderr. Metric filters and alarms read the one of stdout.
        with redirect_stderr(sys.stdout):
            main(command_line(sys.argv[1:]))
    except SystemExit as end:  # Glue treats any SystemExit as a failure, even with exit code 0.
        if end.code:
            raise
