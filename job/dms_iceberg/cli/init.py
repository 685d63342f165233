"""``dms-iceberg init``: the command that calls `examine` and prints or writes what follows from it."""

import shlex
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from dms_iceberg.cli.discover import check_namespace
from dms_iceberg.cli.source_options import SourceSecret, source_address
from dms_iceberg.cli.words import Words
from dms_iceberg.config.paths import check_uri
from dms_iceberg.config.problems import Problems
from dms_iceberg.errors import ConfigError

_ENDINGS = (".yaml", ".yml", ".json")
_DEFAULT_NAMESPACE = "silver"


def init(
    uri: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where DMS writes: s3://bucket/folder/, file:// or a path.", show_default=False)
    ],
    source: Annotated[
        str | None,
        typer.Option(help="Database to take keys and types from: postgresql:// or mysql://, as of discover.", show_default=False),
    ] = None,
    source_secret: SourceSecret = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the document to this new file (.yaml or .json).", show_default="standard output"),
    ] = None,
    table: Annotated[
        list[str], typer.Option("--table", "-t", metavar="PATTERN", help="Only tables schema.table like this (* and ?); may be repeated.")
    ] = [],  # noqa: B006 - typer needs a list
    namespace: Annotated[
        str | None,
        typer.Option(help="Glue database of the targets.", show_default=f"{_DEFAULT_NAMESPACE}; with --hcl the module's own"),
    ] = None,
    hcl: Annotated[bool, typer.Option("--hcl", help="Print the input tables of the Terraform module instead.")] = False,
) -> None:
    """Look at the files of a DMS task and write a configuration with which run works: their form, columns, keys, and the reasons.

    Reads samples of the files, and writes nothing but FILE. Exit code 1 if no table can be merged as it is.
    """
    _check(uri, namespace, out, hcl=hcl)
    address = None if source is None else source_address(source, source_secret)
    with Words() as words:
        catalog = None
        if address is not None:
            words.say("reading the source's catalog")
            from dms_iceberg.discover.read import read_catalog

            catalog = read_catalog(address)
        words.show(f"looking at {uri}")
        from dms_iceberg.discover.proposal import Entry
        from dms_iceberg.init.document import json_document, problems_of, terraform_tables, yaml_document
        from dms_iceberg.init.report import Written, report
        from dms_iceberg.init.run import examine

        found = examine(uri, catalog, _chooser(table), words)
    if hcl:
        text = terraform_tables(found, namespace)
    elif out is not None and out.suffix == ".json":
        text = json_document(found, namespace or _DEFAULT_NAMESPACE)
    else:
        text = yaml_document(found, namespace or _DEFAULT_NAMESPACE)
    has_entries = any(isinstance(one, Entry) for one in found.proposals)
    problems = problems_of(found, namespace or _DEFAULT_NAMESPACE) if has_entries else []
    if out is None:
        usual = "tables.tf" if hcl else "shop.yaml"
        options = {"--source": source, "--source-secret": source_secret, "--namespace": namespace, "--out": usual}
        given = [part for option, value in options.items() if value is not None for part in (option, value)]
        again = shlex.join(["dms-iceberg", "init", uri, *(part for one in table for part in ("--table", one)), *["--hcl"] * hcl, *given])
        typer.echo(text, nl=False)
        typer.echo(report(found, Written(usual, again, hcl), problems), err=True, nl=False)
    else:
        if has_entries:
            _write(out, text)
        typer.echo(report(found, Written(str(out), is_terraform=hcl), problems), nl=False)
    raise typer.Exit(0 if has_entries else 1)


def _check(uri: str, namespace: str | None, out: Path | None, *, hcl: bool) -> None:
    """Refuse what cannot be written, before anything is read; raise `ConfigError`."""
    problems = Problems()
    try:
        check_uri(uri)
    except ValueError as error:
        problems.add("FOLDER", str(error))
    check_namespace(namespace, problems)
    if out is not None and not hcl and out.suffix not in _ENDINGS:
        problems.add("--out", f"'{out}' must end in {', '.join(_ENDINGS)}, by which commands know its form")
    if out is not None and out.exists():
        problems.add("--out", _there(out))
    elif out is not None and not out.parent.is_dir():
        problems.add("--out", f"there is no folder {out.parent}; make it, or name another")
    if problems.lines:
        raise ConfigError(problems.lines, "usage")


def _there(out: Path) -> str:
    return f"'{out}' is there already, and is not overwritten; name another file, or move it away"


def _write(out: Path, text: str) -> None:
    try:
        # Another process may have made it in the meantime.
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError([f"--out: {_there(out)}"], "usage") from error
    except OSError as error:
        raise ConfigError([f"--out: '{out}' cannot be written: {error.strerror}"], "usage") from error


def _chooser(patterns: Sequence[str]) -> Callable[[Sequence[str]], Sequence[str]]:
    def chosen(names: Sequence[str]) -> Sequence[str]:
        fitting = {pattern: [name for name in names if name == pattern or fnmatchcase(name, pattern)] for pattern in patterns}
        if unfit := [pattern for pattern, found in fitting.items() if not found]:
            shown = ", ".join(names[:10])
            raise ConfigError(
                [f"--table {pattern!r}: no folder <schema>/<table>/ is like this; there are {shown}" for pattern in unfit], "usage"
            )
        return names if not patterns else [name for found in fitting.values() for name in found]

    return chosen
