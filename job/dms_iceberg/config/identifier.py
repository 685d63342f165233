"""Names that a catalog accepts."""

import re

from dms_iceberg.config.choices import CatalogType
from dms_iceberg.config.model import Config
from dms_iceberg.config.problems import Problems

REPLAYS_SUFFIX = "__replays"
"""Ends the name of the table that records which rows of a quarantine replays have resolved; the rest is the name of the quarantine."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9_]{1,255}")
_GLUE_IDENTIFIER = re.compile(r"[a-z0-9_]{1,255}")


def check_identifier(name: str, path: str, catalog: CatalogType, problems: Problems) -> None:
    """Record a name that the catalog or Spark would not accept."""
    if catalog is CatalogType.GLUE and not _GLUE_IDENTIFIER.fullmatch(name):
        problems.add(path, f"'{name}' is no Glue name; use lower-case letters, digits and '_', at most 255")
    elif not _IDENTIFIER.fullmatch(name):
        problems.add(path, f"'{name}' is no name; use letters, digits and '_', at most 255")


def check_table_name(name: str, path: str, config: Config, problems: Problems) -> bool:
    """Record what is wrong with the name of a table that the job makes; return whether it has the form ``namespace.table``."""
    if name.count(".") != 1:
        problems.add(path, f"expected namespace.table, found '{name}'")
        return False
    namespace, _, short = name.partition(".")
    for part in (namespace, short):
        check_identifier(part, path, config.catalog.type, problems)
    if namespace.lower() == config.quarantine.namespace.lower():
        problems.add(path, f"namespace '{namespace}' is the quarantine's, which holds unmasked rows; use another")
    return True


def quarantine_names(target: str) -> tuple[str, str]:
    """Return the names, in the quarantine's namespace, of a target's two tables: its rejected rows, and which of them replays resolved."""
    name = target.replace(".", "__")
    return name, f"{name}{REPLAYS_SUFFIX}"
