"""Names of tables and columns that DMS, the job or Terraform cannot take as they are. Pure."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

from dms_iceberg.bronze.reserved_names import is_reserved
from dms_iceberg.config.check_context import SERVICE_FIELDS
from dms_iceberg.config.image_names import imaged
from dms_iceberg.config.model import Change
from dms_iceberg.discover.catalog import Table
from dms_iceberg.discover.proposal import shown, shown_names

_CHANGE = Change()
_OF_DMS = "awsdms_"
# As the module replication refuses them: DMS takes the first for a wildcard, and the engine that it is made of supports no others.
_NOT_IN_TABLES = "%/\\"
NOT_TRANSFORMED = "#\\/%-"
"""Characters in names of columns that DMS applies no transformation rule to."""


def table_problems(table: Table) -> list[str]:
    """Return why a table cannot be named in a configuration."""
    name, problems = table.full_name, []
    if "." in table.schema:
        problems.append("its schema has a dot, and the first dot of a name ends the schema")
    if not name.isprintable():
        problems.append("its name has characters that cannot be printed, such as a line break")
    if found := sorted({character for character in name if character in _NOT_IN_TABLES}):
        problems.append(f"its name has {' '.join(found)}, which DMS does not take as part of one")
    if any(part.startswith(_OF_DMS) for part in name.lower().split(".")):
        problems.append(f"names that begin with {_OF_DMS} are DMS's own")
    return [f"{problem}. Rename it at the source" for problem in problems] + _column_problems(table)


def _column_problems(table: Table) -> list[str]:
    names = [column.name for column in table.columns]
    services = {str(getattr(_CHANGE, field)).casefold() for field in SERVICE_FIELDS}
    problems = []
    if any(not name.strip() for name in names):
        problems.append("a column has a blank name, which no configuration can name. Rename it at the source")
    folded = Counter(name.casefold() for name in names)
    if same := [name for name in names if folded[name.casefold()] > 1]:
        problems.append(f"columns with one name but for case, which are one to Spark: {shown_names(same)}. Rename them at the source")
    if taken := [name for name in names if name.casefold() in services]:
        problems.append(f"columns named like those that DMS adds: {shown_names(taken)}. Rename them at the source")
    return problems


def key_problems(table: Table, key: Iterable[str]) -> list[str]:
    """Return why the columns of a key cannot be used as such."""
    folded = {name.lower() for name in key}
    reserved = [name for name in key if is_reserved(name)]
    problems = [f"the key column {shown(name)} has a name that Spark or the job needs. Rename it at the source" for name in reserved]
    if images := [column.name for column in table.columns if imaged(_CHANGE, column.name) in folded]:
        problems.append(f"columns named like before-images of the key: {shown_names(images)}. Rename them at the source")
    return problems


def terraform_changes(name: str) -> bool:
    """Whether Terraform would change a name: it keeps every text in Unicode's form NFC."""
    return unicodedata.normalize("NFC", name) != name


def is_image(name: str) -> str | None:
    """Return, in lower case, the column whose before-image the name would be; None if it is no such name."""
    return imaged(_CHANGE, name)
