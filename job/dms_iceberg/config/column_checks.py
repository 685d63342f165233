"""Checks of the entries of ``columns``."""

import re

from dms_iceberg.config.check_context import ICEBERG_COLUMNS, TAKEN_COLUMNS, Place
from dms_iceberg.config.datetime_pattern import pattern_problem, zone_letters
from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.model import Column, Mask, NullInUpdate, TypeChanges
from dms_iceberg.config.problems import item
from dms_iceberg.config.types import TypeTextError, canonical_type, value_problem

DEFAULT_MASK_SALT = "env:DMS_ICEBERG_MASK_SALT"
"""The default of ``mask_salt``: where the salt of ``sha256`` is."""

_SALT = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|secret:arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:[^\s:]+")
_LOCAL_TYPES = ("date", "timestamp_ntz")
_TIME_TYPES = (*_LOCAL_TYPES, "timestamp")


def check_columns(place: Place) -> None:
    """Record what is wrong with a table's declared columns."""
    first: dict[str, int] = {}
    for index, column in enumerate(place.table.columns):
        path = item(place.at("columns"), index)
        if column.name:
            _check_name(place, f"{path}.name", column.name)
            other = first.setdefault(column.name.casefold(), index)
            if other != index:
                place.problems.add(f"{path}.name", f"'{column.name}' is also the name of {item('columns', other)} (case does not count)")
        _check_origin(place, path, column)
        _check_rename(place, path, column)
        type_ = _check_type(place, path, column)
        _check_format(place, path, column, type_)
        _check_mask(place, path, column)
        _check_backfill(place, path, column, type_)
        _check_type_changes(place, path, column)


def _check_name(place: Place, path: str, name: str) -> None:
    place.check_reserved(path, name)
    if name.casefold() in TAKEN_COLUMNS:
        owner = "Iceberg" if name.casefold() in ICEBERG_COLUMNS else "Spark"
        place.problems.add(path, f"'{name}' is a name of {owner}'s own columns; choose another one and write the source's with from")
    if not name.strip() or not name.isprintable() or len(name) > 255:
        place.problems.add(path, "must be 1 to 255 printable characters")


def _check_origin(place: Place, path: str, column: Column) -> None:
    if column.expr is not None:
        if column.source is not None:
            place.problems.add(path, "has both from and expr; a column copies a source column or computes one, remove one of them")
        place.check_expression("column's expr", f"{path}.expr", column.expr, silver=False)
        return
    if column.source is not None:
        where = f"{path}.from"
        if not column.source.strip():
            place.problems.add(where, "must not be empty; leave it out when the source column has the same name")
            return
        place.check_reserved(where, column.source)
        place.check_source_exists(where, column.source)
    else:
        place.check_source_exists(f"{path}.name", column.name)


def _check_rename(place: Place, path: str, column: Column) -> None:
    if column.renamed_from is None:
        return
    path, old = f"{path}.renamed_from", column.renamed_from.casefold()
    place.check_reserved(path, column.renamed_from)
    others = [one for one in place.table.columns if one is not column]
    taken = next((one for one in others if old in {(text or "").casefold() for text in (one.name, one.source, one.renamed_from)}), None)
    if not old.strip():
        place.problems.add(path, "must not be empty; it is the name that the column had before")
    elif old == column.name.casefold() and (column.source_name or "").casefold() in ("", old):
        place.problems.add(path, f"'{column.renamed_from}' is the name it has; remove it, or write the source's new name with from")
    elif taken is not None:
        place.problems.add(path, f"'{column.renamed_from}' belongs to column '{taken.name}' as well; only one of them can have been it")
    elif old != column.name.casefold() and (
        column.null_in_update is NullInUpdate.KEEP or place.config.bronze.csv.no_supplement is not None
    ):
        place.problems.add(
            path, "updates may leave this column out, and the table notes the places of its values by name; keep the name, and write from"
        )


def _check_type(place: Place, path: str, column: Column) -> str | None:
    """Return the canonical type, None if there is none or it is wrong."""
    if column.type is None:
        return None
    try:
        return canonical_type(column.type)
    except TypeTextError as error:
        place.problems.add(f"{path}.type", str(error))
        return None


def _check_format(place: Place, path: str, column: Column, type_: str | None) -> None:
    if column.format is None:
        return
    if type_ not in _TIME_TYPES and (type_ is not None or column.type is None):
        found = f"type is {type_}" if type_ else "there is no type"
        place.problems.add(f"{path}.format", f"needs type date, timestamp or timestamp_ntz; {found}")
    problem = pattern_problem(column.format)
    zone = zone_letters(column.format)
    if problem is not None:
        place.problems.add(f"{path}.format", problem)
    elif zone and type_ in _LOCAL_TYPES:
        place.problems.add(
            f"{path}.format",
            f"{zone!r} reads an offset, and a {type_} has none: nothing shows whether the text's own time or that of UTC is meant; "
            "use type timestamp, or cut the text with expr",
        )


def _check_mask(place: Place, path: str, column: Column) -> None:
    if column.mask_salt is None:
        return
    if column.mask is not Mask.SHA256:
        place.problems.add(f"{path}.mask_salt", 'is used with "mask": "sha256" only; remove it, or add the mask')
    elif not _SALT.fullmatch(column.mask_salt):
        place.problems.add(
            f"{path}.mask_salt",
            "must say where the salt is: env:NAME or secret:ARN (a Secrets Manager ARN), never the salt itself; value not shown",
        )


def _check_backfill(place: Place, path: str, column: Column, type_: str | None) -> None:
    if column.backfill is None:
        return
    if column.mask is not None:
        place.problems.add(f"{path}.backfill", "cannot be given for a masked column: it would be stored unmasked")
    elif type_ is not None and (problem := value_problem(column.backfill, type_)) is not None:
        place.problems.add(f"{path}.backfill", problem)


def _check_type_changes(place: Place, path: str, column: Column) -> None:
    if column.type_changes is not TypeChanges.NEW_COLUMN:
        return
    path = f"{path}.type_changes"
    for key, has in (("type", column.type), ("expr", column.expr), ("mask", column.mask)):
        if has is not None:
            place.problems.add(path, f"found 'new_column' beside {key}, which gives every value the same type; remove one of them")
    if column.null_in_update is NullInUpdate.KEEP:
        place.problems.add(
            path, "found 'new_column' beside null_in_update 'keep': a value in one column would leave an old one in the other"
        )
    if column.name.casefold() in {name.casefold() for name in place.table.track_columns}:
        place.problems.add(path, "found 'new_column' for one of track_columns: a value in the further column would make no version")
    if any(key_column(place.table, name) is column for name in place.table.key):
        place.problems.add(path, "found 'new_column' for a key column, whose values have one place")
    if column.name.casefold() in {name.casefold() for name in _condition_columns(place)}:
        place.problems.add(
            path, "found 'new_column' for a column that the filter or a rule reads, which would be NULL there; read it by expr"
        )


def _condition_columns(place: Place) -> set[str]:
    texts = [place.table.filter, *(rule.expr for rule in place.table.rules)]
    return {name for text in texts for name in place.references(text) or ()}
