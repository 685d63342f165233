"""What changed in the course of a table's files: a task of which a setting was changed half way. Pure."""

from collections.abc import Iterator, Sequence

from dms_iceberg.init.folders import TableFiles
from dms_iceberg.init.images import FoundImages
from dms_iceberg.init.operation import is_without_operation
from dms_iceberg.init.role import Roles, Samples
from dms_iceberg.init.samples import Sample

_NEW_EPOCH = "Load the table again into a new load epoch (bucket folder epoch-N), where all files are alike"


def format_of(extension: str) -> str:
    """Return the value of ``bronze.format`` for an extension of a file."""
    return next(one for one in ("parquet", "csv", "json") if extension.startswith(one))


def several_formats(files: TableFiles) -> str:
    """Return why files of several formats cannot be read as one table, "" if there is one."""
    every = (*files.load, *files.changes)
    formats = list(dict.fromkeys(format_of(one.extension) for one in every))
    if len(formats) < 2:
        return ""
    first = next(one for one in every if format_of(one.extension) == formats[1])
    return f"its files are {' and '.join(formats)}: {first.key} is the first sampled one of the second kind. {_NEW_EPOCH}"


def order_problem(samples: Samples, roles: Roles) -> str:
    """Return why a table has not one order of changes, "" if it has one (or none at all, which is one as well)."""
    ordering = [name for name in (roles.sequence.name, roles.timestamp.name) if name is not None]
    without = [one for one in samples.changes if not any(name in one.names for name in ordering)]
    if not ordering or not without:
        return ""
    return (
        f"{_which(samples.changes, without)} neither a sequence nor a commit time, and others have {' and '.join(ordering)}: a table keeps "
        f"one order of changes. {_NEW_EPOCH}"
    )


def history_notes(samples: Samples, roles: Roles, images: FoundImages) -> Iterator[str]:
    """Yield what only some files have, and what becomes of the others."""
    if roles.sequence.name is not None:
        without = [one for one in samples.changes if roles.sequence.name not in one.names]
        if without:
            yield (
                f"{_which(samples.changes, without)} no {roles.sequence.name}: the order of their changes is the commit time, the file and "
                "the place in it"
            )
    for name, loss in (
        (roles.timestamp.name, "their changes have no commit time but that in the sequence"),
        (roles.stream.name, "a change that DMS writes twice there is known again by its values only"),
    ):
        without = [one for one in samples.changes if name is not None and name not in one.names]
        if without:
            yield f"{_which(samples.changes, without)} no {name}: {loss}"
    if images.affix is not None and (without := [one for one in samples.changes if images.names.isdisjoint(one.names)]):
        yield f"{_which(samples.changes, without)} no before-images: an update of a key there leaves the old row"
    if roles.op.name is not None:
        lacking = [one for one in samples.load if roles.op.name not in one.names]
        empty = [one for one in samples.load if one not in lacking and is_without_operation(one, roles.op.name)]
        for without, what in ((lacking, f"no {roles.op.name}"), (empty, f"no value in {roles.op.name}")):
            if without:
                whole = "the LOAD files have" if len(without) == len(samples.load) else f"LOAD files such as {without[0].file.key} have"
                yield f"{whole} {what}: their rows are inserts (load_without_op)"


def _which(samples: Sequence[Sample], some: Sequence[Sample]) -> str:
    """Return which of the sampled change files these are, as the subject of a sentence with "have"."""
    if list(samples[: len(some)]) == list(some) and len(some) < len(samples):
        return f"change files up to at least {some[-1].file.key} (not {samples[len(some)].file.key}) have"
    if list(samples[-len(some) :]) == list(some) and len(some) < len(samples):
        return f"change files from at latest {some[0].file.key} on (not {samples[-len(some) - 1].file.key}) have"
    return f"change files such as {some[0].file.key} have"
