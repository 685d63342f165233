"""``dms-iceberg discover``: the command that calls `read_catalog` and prints what follows from it."""

import json
from typing import Annotated

import typer

from dms_iceberg.cli.source_options import SourceSecret, SourceUrl, source_address
from dms_iceberg.cli.words import Words
from dms_iceberg.config.choices import CatalogType
from dms_iceberg.config.identifier import check_identifier
from dms_iceberg.config.model import Quarantine
from dms_iceberg.config.problems import Problems
from dms_iceberg.errors import ConfigError
from dms_iceberg.source.errors import SourceError

_DEFAULT_NAMESPACE = "silver"


def discover(
    source: SourceUrl,
    source_secret: SourceSecret = None,
    table: Annotated[
        list[str], typer.Option("--table", "-t", metavar="PATTERN", help="Only tables schema.table like this (* and ?); may be repeated.")
    ] = [],  # noqa: B006 - typer needs a list
    schema: Annotated[
        list[str], typer.Option("--schema", metavar="PATTERN", help="Only schemas like this (* and ?); may be repeated.")
    ] = [],  # noqa: B006 - the same
    namespace: Annotated[
        str | None,
        typer.Option(help="Glue database of the targets.", show_default=f"{_DEFAULT_NAMESPACE}; with --hcl the module's own"),
    ] = None,
    hcl: Annotated[bool, typer.Option("--hcl", help="Print the input tables of the Terraform module: the default.")] = False,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print a configuration document as YAML.")] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print a configuration document as JSON; the reasons go to standard error.")
    ] = False,
) -> None:
    """Read the source's catalog and print the configuration of its tables: keys, types to declare, and the reasons as comments.

    Reads only, and no row of any table. Exit code 1 if no table can be replicated as it is.
    """
    _check(namespace, hcl + yaml + json_)
    address = source_address(source, source_secret)
    from dms_iceberg.discover.document import document, reasons
    from dms_iceberg.discover.hcl import for_terraform, print_hcl
    from dms_iceberg.discover.patterns import chosen
    from dms_iceberg.discover.proposal import Entry
    from dms_iceberg.discover.propose import propose
    from dms_iceberg.discover.read import read_catalog
    from dms_iceberg.discover.targets import targets
    from dms_iceberg.discover.yaml_text import print_yaml

    with Words() as words:
        words.show("reading the source's catalog")
        catalog = read_catalog(address)
    if not catalog.tables:
        raise SourceError(
            "source: there is no table, or the user may see none. Name the database that has them in the URL; with MySQL grant SELECT on "
            "them."
        )
    proposals = propose(catalog, chosen(catalog.tables, schema, table))
    if not (yaml or json_):
        proposals = for_terraform(proposals)
    entries = [one for one in proposals if isinstance(one, Entry)]
    if json_:
        named = targets((entry.table for entry in entries), namespace or _DEFAULT_NAMESPACE)
        typer.echo(json.dumps(document(catalog, entries, named), ensure_ascii=False, indent=2))
        typer.echo("\n".join(reasons(proposals)), err=True)
    elif yaml:
        typer.echo(print_yaml(catalog, proposals, namespace or _DEFAULT_NAMESPACE), nl=False)
    else:
        typer.echo(print_hcl(catalog, proposals, namespace), nl=False)
    raise typer.Exit(0 if entries else 1)


def _check(namespace: str | None, forms: int) -> None:
    """Refuse what cannot be printed, before the source is asked; raise `ConfigError`."""
    problems = Problems()
    if forms > 1:
        problems.add("", "--hcl, --yaml and --json are three forms of one thing; choose one")
    check_namespace(namespace, problems)
    if problems.lines:
        raise ConfigError(problems.lines, "usage")


def check_namespace(namespace: str | None, problems: Problems) -> None:
    """Record what is wrong with the namespace of the targets."""
    if namespace is not None:
        check_identifier(namespace, "--namespace", CatalogType.GLUE, problems)
        if namespace == Quarantine().namespace:
            problems.add("--namespace", f"'{namespace}' is the quarantine's, which holds unmasked rows; use another")
