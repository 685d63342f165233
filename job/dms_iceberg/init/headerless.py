"""Names the columns of CSV without a header, where the source's catalog has those of the table. Pure.

DMS's order is: operation, commit time, the source's columns, then those of ``add-column`` rules, then before-images.
"""

import re
from collections.abc import Sequence

import attrs

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
    for is_cdc in (False, True):
        found = sorted(width for of, width in widths if of is is_cdc)
        if len(found) > 1:
            kind = "change" if is_cdc else "LOAD"
            return (
                f"its {kind} files have rows of {', '.join(map(str, found))} columns, and without a header nothing says which were added "
                "or dropped. Let DMS write headers (AddColumnName) or Parquet, and load the table into a new epoch"
            )
    fitting = [(before, after) for before in _befores() for after in _afters(table) if _fits(files, table, before, after, null)]
    if not fitting:
        shown = "; ".join(f"{'changes' if is_cdc else 'loaded rows'}: {width} columns" for is_cdc, width in sorted(widths))
        return (
            f"the catalog has {len(table.columns)} columns, and no combination of operation, commit time, sequence, stream position and "
            f"before-images explains the files ({shown}). If columns were added or dropped since, let DMS write headers (AddColumnName) or "
            "Parquet, and load the table into a new epoch"
        )
    if len(fitting) > 1 and any(is_cdc for is_cdc, _ in widths):
        ways = " or ".join(f"[{', '.join(after)}]" for _, after in fitting[:3])
        return (
            f"the columns behind those of the source may be {ways}, and the sampled changes agree with each. Run init again when there is "
            "a change file with an insert"
        )
    if len(fitting) > 1:
        return (
            "there are no changes yet, and the empty columns at the end of its loaded rows may be several things. Run init again when "
            "there is a change file"
        )
    (before, after) = fitting[0]
    names = (*before, *table.columns, *after)
    return {sample.file.key: _narrowed(names, rows) for sample, rows in files}


def _befores() -> tuple[tuple[str, ...], ...]:
    return (_OP, _TIME), (_OP,)


def _afters(table: Table) -> list[tuple[str, ...]]:
    """Return what may follow the source's columns."""
    images = [(), tuple(f"BI_{name}" for name in table.columns if name in table.key), tuple(f"BI_{name}" for name in table.imaged)]
    added: list[tuple[str, ...]] = [(_SEQUENCE, _STREAM), (_STREAM, _SEQUENCE), (_SEQUENCE,), (_STREAM,), ()]
    return [(*some, *image) for some in added for image in dict.fromkeys(images)]


def _narrowed(names: tuple[str, ...], rows: Records) -> tuple[str, ...]:
    """Return the names of a file's columns: LOAD files may lack the operation."""
    return names[1:] if rows and len(rows[0]) == len(names) - 1 and rows[0][0].casefold() not in WORDS else names


def _fits(files: Sequence[tuple[Sample, Records]], table: Table, before: tuple[str, ...], after: tuple[str, ...], null: str) -> bool:
    names = (*before, *table.columns, *after)
    named = []
    for sample, rows in files:
        own = _narrowed(names, rows)
        if rows and (len(rows[0]) != len(own) or (sample.file.is_cdc and own != names)):
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
    expected = ((_TIME, _TIME in before), (_SEQUENCE, _SEQUENCE in after and changed), (_STREAM, _STREAM in after and changed))
    if found != tuple(name if there else None for name, there in expected):
        return False
    images = [name for name in after if name.startswith("BI_")]
    empty_in_loads = list(after) if not changed else images
    if any(value for sample in load for name in empty_in_loads for value in sample.values(name)):
        return False
    return _have_integers(samples, table) and _have_whole_keys(samples.changes, [name for name in images if name[3:] in table.key])


def _have_integers(samples: Samples, table: Table) -> bool:
    names = [*table.integers, *(f"BI_{name}" for name in table.integers)]
    values = [value for sample in samples.both for name in names if name in sample.names for value in sample.values(name)]
    return all(value is None or _INTEGER.fullmatch(value) for value in values)


def _have_whole_keys(changes: Sequence[Sample], images: Sequence[str]) -> bool:
    """Whether each change has before-images of all columns of the key or of none: a key is never NULL."""
    rows = [row for sample in changes for row in zip(*(sample.values(name) for name in images), strict=True)]
    return all(len({value is None for value in row}) <= 1 for row in rows)
