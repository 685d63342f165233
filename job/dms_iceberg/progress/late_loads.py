"""LOAD files that appear after the load of which they seem to be was complete. Pure.

A task writes a table's change files once its load is complete, and two tasks do not share a table's folder, so a merged change shows the
end of the load. Where bronze is copied, the files come in another order, one soon after the other. So a file that is written soon after
the load's newest one may be one of it, as may one whose number is missing among them.

A later file is one of a reload in place that overwrites no other, one that was restored, copied or touched, or one of a task that stood
still in between. Nothing tells which, and each asks for other content. The operator has to say.
"""

from collections.abc import Sequence

from dms_iceberg.bronze.keys import BronzeFile, earlier, shown_time
from dms_iceberg.config.model import Table
from dms_iceberg.config.problems import first_of
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.load_gaps import fills_gap
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.progress import Progress

LATE_HOURS = 1
"""How much later than the LOAD file before it one of a load may be written, once changes are merged. The largest have a gigabyte."""
_SHOWN = 3


def late_loads(loads: Sequence[BronzeFile], progress: Progress) -> list[BronzeFile]:
    """Return the LOAD files that are not merged, and appeared after the load of a table's content was complete.

    Args:
        loads: every LOAD file that is listed.
        progress: of the table's content.
    """
    new = [file for file in loads if not progress.loads.has(file)]
    if progress.reload or _is_told_without_file(progress):
        # Somebody has said that the load is complete.
        return new
    if not progress.frontier or not progress.load_written:
        return []
    written = progress.load_written
    for file in sorted(new, key=lambda one: one.modified):
        # Each may be the one before the next: the runs may be hours apart.
        if file.modified <= earlier(written, hours=-LATE_HOURS):
            written = max(written, file.modified)
    merged = [file for file in loads if progress.loads.has(file)]
    return [file for file in new if file.modified > written and not fills_gap(file, merged)]


def _is_told_without_file(progress: Progress) -> bool:
    return progress.load_told and progress.loads == MergedLoads() and bool(progress.frontier)


def of_former_load(loads: Sequence[BronzeFile], progress: Progress) -> list[BronzeFile]:
    """Return the LOAD files, by name and ETag, of a load that a reload in place has replaced; they were written again since."""
    return [file for file in loads if not progress.loads.has(file) and progress.former_loads.has(file)]


def former_warning(table: str, files: Sequence[BronzeFile], reloaded_at: str) -> str:
    """Return the warning that files of a former load are left out."""
    return (
        f"{table}: {first_of([file.key for file in files], _SHOWN)}: left out, as the load before the reload of {shown_time(reloaded_at)} "
        "had the same (name and ETag), though it was written again since: restored, copied or touched. Move it out of the table's folder."
    )


def refuse_late_loads(table: Table, progress: Progress, late: Sequence[BronzeFile], confirmed: int | None) -> None:
    """Refuse LOAD files that appeared after the load was complete, unless the operator says that they belong to it.

    Args:
        table: its configuration.
        progress: of the table's content.
        late: the files, as `late_loads` returns them.
        confirmed: the number of ``--confirm-rows`` that the operator gave with ``--load-complete``; None without both. A file that
            belongs to the load takes no row away, so the number must be 0.

    Raises:
        BronzeError: there are such files.
    """
    if not late or confirmed == 0:
        return
    name = table.source
    wrong = f" --confirm-rows {confirmed} is wrong: no row would leave." if confirmed is not None else ""
    raise BronzeError(
        f"{name}: full-load file {first_of([file.key for file in late], _SHOWN)} was written at "
        f"{shown_time(min(file.modified for file in late))}, after the load of {table.target} was complete: {_known(progress)}. Nothing "
        "tells what it is, so nothing of the table is merged. If DMS loads the table again, in place, say when that began: run with "
        f"--table {name} --reload-started-at <time>, and with --load-complete {name} once it is done; better, into a folder of its own "
        "(load_epoch). If it was restored, copied or touched, and its rows are gone at the source or in the load, move it out of the "
        f"table's folder. If it is one of the load (a task that stood still, a file that was missing): run with --load-complete {name} "
        f"--confirm-rows {name}=0, as it takes no row away.{wrong}"
    )


def _known(progress: Progress) -> str:
    if progress.reload:
        return f"so it was said of the reload of {shown_time(progress.reloaded_at)}"
    if progress.loads == MergedLoads():
        return "so it was said, without any LOAD file, and changes are merged"
    return f"its newest file was written at {shown_time(progress.load_written)}, and changes are merged"
