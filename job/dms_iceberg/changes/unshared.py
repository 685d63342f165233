"""Columns that do not distinguish two writings of a change, because the files of one writing have no value for them.

A task that starts again writes changes with the columns that the source has by then. A column that was dropped meanwhile, or added, or has
another type, differs in the two writings, though the change is one. So does a column that the configuration leaves out meanwhile.
"""

from collections.abc import Mapping, Sequence

from dms_iceberg.changes.clean import taker
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import SilverColumn, sources_of
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import BronzeFormat


def unshared_columns(shape: Shape, groups: Sequence[ReadGroup], format_: BronzeFormat) -> list[str]:
    """Return the silver columns, without those of the key, that files of some of the ``groups`` have no value for.

    JSON lines may leave out what is NULL, so nothing is known of their columns.
    """
    types = [{name.lower(): type_ for name, type_ in group.columns.source} for group in groups if format_ is not BronzeFormat.JSON]
    values = [column for column in shape.columns if not column.is_key]
    return [column.name for column in values if column.retired or any(_is_lacked(column, shape, one) for one in types)]


def _is_lacked(column: SilverColumn, shape: Shape, types: Mapping[str, str]) -> bool:
    if column.source is not None and len(column.family) > 1 and column.source.lower() in types:
        return column.name != taker(column, types[column.source.lower()], shape.types)
    return any(name.lower() not in types for name in sources_of(column))


def reached_without(
    shape: Shape, groups: Sequence[ReadGroup], format_: BronzeFormat, known: Mapping[str, str], clock: str
) -> dict[str, str]:
    """Return, by silver column, the clock (`identity.clock_prefix`) up to which changes may be merged without a value of it.

    The clock of a column that is copied goes up with each batch that lacks it: such rows have no value, or the same backfill, so nothing is
    lost. That of an expression or of a column that has others beside it for other types stays as it was, because later rows differ in it.

    Args:
        shape: the silver columns of a batch.
        groups: its files, opened.
        format_: their format.
        known: what earlier batches have found (`TargetTable.added_columns`).
        clock: that of the newest change in the batch.
    """
    lacked = set(unshared_columns(shape, groups, format_))
    found = dict(known)
    for column in shape.columns:
        if lacked.isdisjoint({column.name, *column.family}):
            continue
        if column.name in known and not column.retired and (column.source is None or column.family):
            continue
        found[column.name] = max(clock, known.get(column.name, ""))
    return found
