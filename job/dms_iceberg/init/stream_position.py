"""Finds the stream position among the columns of changes, by its values and its place. Pure."""

import re
from collections.abc import Iterable
from itertools import pairwise

from dms_iceberg.bronze.csv_shapes import STREAM_POSITION
from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.init.role import Role, Samples, Sure, filled
from dms_iceberg.init.samples import Sample, all_names, all_values

# Positions in logs that nothing else looks like: of PostgreSQL, MySQL, SQL Server. An Oracle SCN is only a number.
_LOG_POSITION = re.compile(
    r"[0-9A-F]{1,8}/[0-9A-F]{1,8}(?:[.:].*)?|[\w.-]+[.][0-9]{6}:[0-9]+(?::.*)?|[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:[0-9a-fA-F]{4}.*"
)
# Not of PostgreSQL's in its first moments: a season or a school year is ``2025/2026``.
_LONG_POSITION = re.compile(r"(?![0-9A-F]+/[0-9A-F]{1,4}(?![0-9A-F])).*", re.DOTALL)
_POSITION = re.compile(STREAM_POSITION)


def find_stream(samples: Samples, taken: set[str | None], sequence: str | None) -> tuple[Role, list[str]]:
    """Return the stream position of a table's changes, and what may be one and is taken for a column of the source."""
    doubts = list[str]()
    found: Role | None = None
    for name in all_names(samples.changes):
        values = all_values(samples.changes, name)
        there = filled(values)
        if name in taken or not there or len(there) < len(values) or filled(all_values(samples.load, name)):
            continue
        follows = all(_follows(sample, name, sequence) for sample in samples.changes)
        in_log = all(map(_LOG_POSITION.fullmatch, there))
        rises = _rises(samples, name)
        if follows and in_log:
            why = "a place in the source's log in every change, behind the sequence, and nothing in loaded rows"
            return Role(name=name, sure=Sure.CERTAIN if samples.load else Sure.LIKELY, why=why), []
        if not in_log and (not samples.load or not all(map(_POSITION.fullmatch, there)) or any(map(is_sequence, there))):
            continue
        if follows and not in_log and samples.load and rises and not _is_named_after(name, all_names(samples.changes)):
            # The source's own columns stand before those that rules add.
            why = "a value in every change and in no loaded row that rises with them, in the column behind the sequence"
            found = found or Role(name=name, sure=Sure.LIKELY, why=why)
        elif in_log and samples.load and rises and len(set(there)) > 1 and all(map(_LONG_POSITION.fullmatch, there)):
            why = "a place in the source's log in every change that rises with them, and nothing in loaded rows"
            found = found or Role(name=name, sure=Sure.LIKELY, why=why)
        else:
            form = "" if in_log else ", but not in a form that is known of a source's log"
            where = "" if follows else ", and not behind a sequence, where DMS writes it"
            doubts.append(
                f"{name} has a value in every change and in no loaded row{form}{where}: taken for a column of the source. If a "
                "mapping rule writes $AR_H_STREAM_POSITION there, name it in bronze.change.stream_position_column"
            )
    if found is not None:
        return found, []
    why = "no column has places in a source's log"
    return Role(name=None, sure=Sure.CERTAIN if samples.changes else Sure.DOUBTFUL, why=why), doubts


def _follows(sample: Sample, name: str, sequence: str | None) -> bool:
    return sequence in sample.names and name in sample.names and sample.names.index(name) == sample.names.index(sequence) + 1


def _rises(samples: Samples, name: str) -> bool:
    """Whether the values of a column, by the numbers in them, never fall within a file: DMS writes changes as it reads them in the log."""
    return all(later >= earlier for sample in samples.changes for earlier, later in pairwise(map(_numbers, filled(sample.values(name)))))


def _numbers(position: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in re.findall("[0-9A-Fa-f]+", position))


def _is_named_after(name: str, names: Iterable[str]) -> bool:
    return any(other != name and len(other) > 1 and (name.startswith(other) or name.endswith(other)) for other in names)
