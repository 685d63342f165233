"""Checks of columns that an update may leave out; they refuse before a run what cannot be right."""

from dms_iceberg.config.check_context import Place
from dms_iceberg.config.model import BronzeFormat, Column, NullInUpdate, Table
from dms_iceberg.config.problems import item
from dms_iceberg.modes.lookup import table_mode


def check_kept(place: Place) -> None:
    """Record what is wrong with a table's ``null_in_update: keep``.

    A filter, rule or expression would see NULL instead of the value that the row keeps, and evaluate to a wrong result.
    """
    is_allowed = table_mode(place.table.mode).takes_partial_updates
    for index, column in enumerate(place.table.columns):
        if column.null_in_update is NullInUpdate.KEEP:
            path = f"{item(place.at('columns'), index)}.null_in_update"
            _check_column(place, path, column)
            if not is_allowed:
                place.problems.add(path, f"found 'keep' with mode '{place.table.mode}'; allowed with it: 'set'. 'keep' needs mode 'mirror'")
    bronze = place.config.bronze
    if not is_allowed and bronze.format is BronzeFormat.CSV and bronze.csv.no_supplement is not None:
        place.add(
            "mode",
            f"found '{place.table.mode}' with bronze.csv.no_supplement; allowed with that: 'mirror'. Set the endpoint's "
            "UseCsvNoSupValue to false and no_supplement to null, or use Parquet",
        )


def _check_column(place: Place, path: str, column: Column) -> None:
    table = place.table
    if column.expr is not None:
        place.problems.add(path, f"'{column.name}' has an expr; 'keep' is for columns that copy a source column")
        return
    names = {column.name.casefold(), (column.source or column.name).casefold()}
    for where, text in _expressions(place, table):
        used = sorted(name for name in place.references(text) or () if name.casefold() in names)
        if used:
            place.problems.add(
                path,
                f"{where} reads '{used[0]}', which is NULL in an update that does not supply it; leave it out of there, or remove 'keep'",
            )
    for index, other in enumerate(table.columns):
        copies = other.expr is None and (other.source or other.name).casefold() == (column.source or column.name).casefold()
        if copies and other.null_in_update is not NullInUpdate.KEEP:
            place.problems.add(path, f"{item('columns', index)} copies the same source column without 'keep'; declare both alike")


def _expressions(place: Place, table: Table) -> list[tuple[str, str]]:
    found = [(item("columns", index), column.expr) for index, column in enumerate(table.columns) if column.expr]
    found += [("filter", table.filter)] if table.filter else []
    return found + [(item("rules", index), rule.expr) for index, rule in enumerate(table.rules)]
