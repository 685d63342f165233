"""Names the columns of CSV without a header, where the source's catalog has those of the table. Pure.

DMS's order is: operation, commit time, the source's columns, then those of ``add-column`` rules, then before-images.
"""

import re
from collections.abc import Collection, Sequence

import attrs

from dms_iceberg.bronze.unnamed_images import OF_DMS
from dms_iceberg.config.model import Change
from dms_iceberg.init.csv_form import WORDS, Records
from dms_iceberg.init.role import Samples
from dms_iceberg.init.roles import find_roles
from dms_iceberg.init.samples import Sample

_CHANGE = Change()
_OP, _TIME = _CHANGE.op_column, str(_CHANGE.timestamp_column)
_SEQUENCE, _STREAM = str(_CHANGE.sequence_column), str(_CHANGE.stream_position_column)
_INTEGER = re.compile(r"-?[0-9]+")


@attrs.frozen(kw_only=True)
class Table:
    """What the catalog says of a table: its columns in order, its key, those with a before-image with ``all``, and the integers."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    imaged: tuple[str, ...]
    integers: frozenset[str] = frozenset()


def name_columns(files: Sequence[tuple[Sample, Records]], table: Table, null: str) -> dict[str, tuple[str, ...]] | str:
    """Return the names of each file's columns, by its key; or why they cannot be told.

    Without a header only the number of columns and their values tell which are the source's, so nothing is named that does not fit.
    """
    widths = {(sample.file.is_cdc, len(row)) for sample, rows in files for row in rows}
    is_even = all(len({width for of, width in widths if of is is_cdc}) < 2 for is_cdc in (False, True))
    ways = [_Way(before, added, images) for before in _BEFORES for added in _ADDED for images in _images(table)]
    fitting = [way for way in ways if is_even and _fits(files, table, way, null)]
    if not fitting and _are_whole(files):
        # Their mapping rule may have come later, or gone. Only the place of the sequence then tells an image from a source column.
        switched = [attrs.evolve(way, optional=True) for way in ways if way.images and _SEQUENCE in way.added]
        fitting = [way for way in switched if _fits(files, table, way, null)]
    if not fitting:
        return _why_none_fits(widths, table)
    changed = any(is_cdc for is_cdc, _ in widths)
    if len(fitting) > 1 and changed:
        shown = " or ".join(f"[{', '.join(way.after)}]" for way in fitting[:3])
        return (
            f"the columns behind those of the source may be {shown}, and the sampled changes agree with each. Run init again when there is "
            "a change file with an insert"
        )
    if len(fitting) > 1:
        return (
            "there are no changes yet, and the empty columns at the end of its loaded rows may be several things. Run init again when "
            "there is a change file"
        )
    return {sample.file.key: fitting[0].names(table, rows) for sample, rows in files}


def _why_none_fits(widths: Collection[tuple[bool, int]], table: Table) -> str:
    for is_cdc in (False, True):
        found = sorted(width for of, width in widths if of is is_cdc)
        if len(found) > 1:
            kind = "change" if is_cdc else "LOAD"
            return (
                f"its {kind} files have rows of {', '.join(map(str, found))} columns, which before-images that some files lack do not "
                "explain, and without a header nothing says which were added or dropped. Let DMS write headers (AddColumnName) or Parquet, "
                "and load the table into a new epoch"
            )
    shown = "; ".join(f"{'changes' if is_cdc else 'loaded rows'}: {width} columns" for is_cdc, width in sorted(widths))
    return (
        f"the catalog has {len(table.columns)} columns, and no combination of operation, commit time, sequence, stream position and "
        f"before-images explains the files ({shown}). If columns were added or dropped since, let DMS write headers (AddColumnName) or "
        "Parquet, and load the table into a new epoch"
    )


_BEFORES = (_OP, _TIME), (_OP,)
_ADDED: tuple[tuple[str, ...], ...] = ((_SEQUENCE, _STREAM), (_STREAM, _SEQUENCE), (_SEQUENCE,), (_STREAM,), ())


def _images(table: Table) -> list[tuple[str, ...]]:
    """Return the before-images that files may have: none, those of the key, or of all columns."""
    images = [
        (),
        tuple(f"{OF_DMS}{name}" for name in table.columns if name in table.key),
        tuple(f"{OF_DMS}{name}" for name in table.imaged),
    ]
    return list(dict.fromkeys(images))


@attrs.frozen
class _Way:
    """One explanation of the files.

    Attributes:
        before: the columns before the source's.
        added: those of ``add-column`` rules behind the source's.
        images: before-images behind these.
        optional: a file has all of ``images`` or none.
    """

    before: tuple[str, ...]
    added: tuple[str, ...]
    images: tuple[str, ...]
    optional: bool = False

    @property
    def after(self) -> tuple[str, ...]:
        """What follows the source's columns."""
        return (*self.added, *self.images)

    def names(self, table: Table, rows: Records) -> tuple[str, ...]:
        """Return the names of a file's columns: LOAD files may lack the operation."""
        bare = (*self.before, *table.columns, *self.added)
        whole = (*bare, *self.images)
        if not rows:
            return whole
        # Between a file without the operation and one without the only image, the first field decides.
        begins = 0 if rows[0][0].casefold() in WORDS else 1
        possible = [whole, *([bare] if self.optional else [])]
        return next(
            (names[skipped:] for skipped in dict.fromkeys((begins, 0)) for names in possible if len(names) - skipped == len(rows[0])), whole
        )


def _are_whole(files: Sequence[tuple[Sample, Records]]) -> bool:
    """Whether the rows of each file have one number of columns."""
    return all(len({len(row) for row in rows}) < 2 for _, rows in files)


def _fits(files: Sequence[tuple[Sample, Records]], table: Table, way: _Way, null: str) -> bool:
    named = []
    for sample, rows in files:
        own = way.names(table, rows)
        if rows and (len(rows[0]) != len(own) or (sample.file.is_cdc and own[: len(way.before)] != way.before)):
            return False
        texts = tuple(tuple(None if cell in ("", null) else cell for cell in row) for row in rows)
        named.append(attrs.evolve(sample, names=own, rows=texts))
    load = tuple(one for one in named if not one.file.is_cdc and one.rows)
    samples = Samples(load=load, changes=tuple(one for one in named if one.file.is_cdc and one.rows))
    roles = find_roles(samples, table.columns)
    changed = bool(samples.changes)
    if changed and roles.op.name != _OP:
        return False
    found = (roles.timestamp.name, roles.sequence.name, roles.stream.name)
    expected = ((_TIME, _TIME in way.before), (_SEQUENCE, _SEQUENCE in way.added and changed), (_STREAM, _STREAM in way.added and changed))
    if found != tuple(name if there else None for name, there in expected):
        return False
    empty_in_loads = way.images if changed else way.after
    if any(value for sample in load for name in empty_in_loads for value in sample.values(name)):
        return False
    return _have_integers(samples, table) and _have_whole_keys(
        samples.changes, [name for name in way.images if name.removeprefix(OF_DMS) in table.key]
    )


def _have_integers(samples: Samples, table: Table) -> bool:
    names = [*table.integers, *(f"{OF_DMS}{name}" for name in table.integers)]
    values = [value for sample in samples.both for name in names if name in sample.names for value in sample.values(name)]
    return all(value is None or _INTEGER.fullmatch(value) for value in values)


def _have_whole_keys(changes: Sequence[Sample], images: Sequence[str]) -> bool:
    """Whether each change has before-images of all columns of the key or of none: a key is never NULL."""
    rows = [row for sample in changes for row in zip(*(sample.values(name) for name in images), strict=True)]
    return all(len({value is None for value in row}) <= 1 for row in rows)
