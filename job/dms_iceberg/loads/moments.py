"""Whether a moment or word of the operator agrees with what is known of the table. Pure.

A moment is certain, impossible or doubtful. Impossible ones are refused with the reason. A doubtful one contradicts nothing, but
nothing proves it either: what it does to the rows is counted, and done once the operator confirms that number (``--confirm-rows``).
"""

from collections.abc import Sequence

import attrs

from dms_iceberg.bronze.keys import SEGMENT_DIGITS, BronzeFile, earlier, shown_time
from dms_iceberg.config.model import Table
from dms_iceberg.config.problems import first_of
from dms_iceberg.context import BranchState
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.loads.zone_names import NEW_EPOCH, refuse_local_names
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress

_UPLOAD_SECONDS = 60
"""How much later than the next file of its folder a LOAD file may be written, as uploads may overlap."""


@attrs.frozen
class Effect:
    """What a truncate or a load does to the rows that the table has now.

    Attributes:
        leave: how many of the present rows leave or end; None where it is known later.
        stay: how many do not.
        known: when ``leave`` is known, for a sentence.
    """

    leave: int | None
    stay: int = 0
    known: str = "the load is built"

    @property
    def rows(self) -> int:
        """How many rows the table has now."""
        return (self.leave or 0) + self.stay

    def text(self, table: Table) -> str:
        """Return the effect as a sentence without its end."""
        if self.leave is None:
            return f"how many rows would leave {table.target} is known once {self.known}"
        return f"{self.leave:,} of the {self.rows:,} rows that {table.target} has now would leave, {self.stay:,} would stay"


UNMERGED = Effect(None, known="the files that were closed before it are merged")
"""What a truncate does to a table while rows of older files are to come."""


def refuse_unconfirmed(table: Table, doubt: str, effect: Effect, confirmed: int | None, option: str = "--confirm-rows ") -> None:
    """Refuse what is doubtful until the operator confirms how many rows leave, and a number that is not the present one.

    Args:
        table: its configuration.
        doubt: why it is doubtful, one or more sentences; "" if it is certain.
        effect: the present effect.
        confirmed: the number of ``--confirm-rows``; None without it.
        option: the words that confirm a number, without the number.

    Raises:
        TargetError: the number is missing or another one.
    """
    if effect.leave is not None and effect.leave == confirmed:
        return
    if effect.leave is None:
        raise TargetError(
            f"{table.source}: {doubt or '--confirm-rows cannot be compared yet.'} {_sentence(effect.text(table))} {_way_to_count(effect)}"
        )
    if confirmed is None:
        raise TargetError(
            f"{table.source}: {doubt} {_sentence(effect.text(table))} None has left. If that is right, say so: "
            f"run with {option}{effect.leave}."
        )
    raise TargetError(
        f"{table.source}: --confirm-rows {confirmed}, but {effect.text(table)}. None has left. Compare with the source, and "
        "confirm the present number if it is right."
    )


def _way_to_count(effect: Effect) -> str:
    if effect == UNMERGED:
        return "Run with --truncate all the same: it merges them, and then shows the number."
    return (
        "Run without --load-complete, which builds it and changes no row that readers see; then plan with --load-complete shows the number."
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def reload_doubt(table: Table, main: Progress, pending: Pending, started: str) -> str:
    """Return why the begin of a reload in place is doubtful, "" if the files prove it.

    Args:
        table: its configuration.
        main: progress of the content that the reload will replace.
        pending: what is listed for the reload.
        started: 17 digits, when the reload began, as the operator stated.

    Raises:
        BronzeError: the files contradict the moment.
    """
    _refuse_too_early(table, main, pending, started)
    refuse_local_names(table, main, pending)
    _refuse_twice(table, main, pending, started)
    left = [file for file in pending.left if file.modified >= main.reloaded_at]
    _refuse_too_late(table, main, left, started)
    nothing = "Bronze has no LOAD file of this reload: the source table is empty, or somebody removed it."
    doubts = [
        _either_load(main, [*left, *pending.loads]),
        _disordered(pending.loads),
        _early_changes(pending, started),
        "" if pending.loads or pending.left else nothing,
    ]
    return " ".join(filter(None, doubts))


def _refuse_too_early(table: Table, main: Progress, pending: Pending, started: str) -> None:
    if main.load_written and started <= main.load_written:
        raise BronzeError(
            f"{table.source}: --reload-started-at {shown_time(started)} is too early: LOAD files of the load before it, which "
            f"{table.target} has, were written until {shown_time(main.load_written)}. State when DMS began to load the table again, with "
            f"its zone (Z is UTC). If that is right, {NEW_EPOCH}."
        )
    merged = [file for file in pending.loads if not main.load_written and main.loads.has_version(file)]
    if merged:
        raise BronzeError(
            f"{table.source}: --reload-started-at {shown_time(started)} is too early: {_files(merged)}, written at "
            f"{shown_time(merged[0].modified)}, was merged in the load before. State a later moment; or {NEW_EPOCH}."
        )


def _refuse_twice(table: Table, main: Progress, pending: Pending, started: str) -> None:
    """Refuse where change files from after the moment are merged into the content that a mode keeps: they would be merged again."""
    if not table_mode(table.mode).keeps_every_change:
        return
    twice = [file for file in pending.files if file.is_cdc and main.has_merged_version(file)]
    if twice:
        last = max(file.order for file in twice)
        raise BronzeError(
            f"{table.source}: {_files(twice)} was closed after --reload-started-at {shown_time(started)}, and is merged already. "
            f"{table.target} (mode {table.mode.value}) keeps what was merged before the reload, so its changes would count twice. If they "
            f"are from before the reload, state a later moment: {shown_time(last)}, when the last of these files was closed, or later, and "
            f"not after the first LOAD file was written. If that is not possible, {NEW_EPOCH}."
        )


def _refuse_too_late(table: Table, main: Progress, left: Sequence[BronzeFile], started: str) -> None:
    """Refuse if a LOAD file that would be left out is not one that was merged."""
    # Beyond some number of files no ETag is known: then the file must not be younger than those that were merged.
    missed = [
        file
        for file in left
        if main.loads.has_version(file) is False
        or (main.loads.has_version(file) is None and main.load_written and file.modified > main.load_written)
    ]
    if missed:
        raise BronzeError(
            f"{table.source}: --reload-started-at {shown_time(started)} is too late: {_files(missed)}, written at "
            f"{shown_time(min(file.modified for file in missed))}, would be left out, and is not the file that was merged in the load "
            "before. It belongs to the new load, or it is left over from one that was never merged. State when DMS began to load the "
            "table again, with its zone (Z is UTC), or move the file out of the table's folder."
        )


def _either_load(main: Progress, files: Sequence[BronzeFile]) -> str:
    """Say which files may be of either load: those merged in the load before, and written since, or not known one by one."""
    if main.load_written:
        either = [file for file in files if main.loads.has_version(file) and file.modified > main.load_written]
    else:
        either = [file for file in files if main.loads.has_version(file) is None]
    if not either:
        return ""
    return (
        f"{_files(either)} may have been merged in the load before: bronze was copied, DMS wrote the same rows again, or the table does "
        "not know each file. So its time does not prove which load it belongs to."
    )


def _disordered(loads: Sequence[BronzeFile]) -> str:
    """Say which file was written before one with a lower number: DMS writes the files of a folder one after the other."""
    newest = dict[str, str]()
    for file in sorted(loads):
        segment = file.order[:SEGMENT_DIGITS]
        if earlier(newest.get(segment, ""), seconds=_UPLOAD_SECONDS) > file.modified:
            return (
                f"{file.key} was written at {shown_time(file.modified)}, before LOAD files with lower numbers: it may be left over from "
                "the load before."
            )
        newest[segment] = max(newest.get(segment, ""), file.modified)
    return ""


def _early_changes(pending: Pending, started: str) -> str:
    first = min((file.modified for file in pending.loads), default="")
    between = [file for file in pending.files if file.is_cdc and started < file.order < first]
    if not between:
        return ""
    return (
        f"{_files(between)} was closed after --reload-started-at {shown_time(started)}, and before the first LOAD file was written "
        f"({shown_time(first)}). Its changes would win over the load, though they may be from before it. If they are, state a later "
        f"moment: after {shown_time(max(file.order for file in between))}, when that change file was closed, and not after the LOAD file."
    )


def refuse_ignored_load(table: Table, found: BranchState, pending: Pending) -> None:
    """Refuse to publish a reload in place without a LOAD file, beside LOAD files that it leaves out.

    Raises:
        BronzeError: there are such files.
    """
    if found.progress.reload and pending.left and not has_load_file(found, pending):
        raise BronzeError(
            f"{table.source}: no LOAD file was written since the reload of {shown_time(found.progress.reloaded_at)} began, and "
            f"{_files(pending.left)} is left out as older, so the reload would empty {table.target}. If the moment is wrong, state it "
            "again with --reload-started-at. If DMS has yet to write, wait. If the source table was empty when it was loaded, move the "
            "older LOAD files out of the table's folder first."
        )


def has_load_file(found: BranchState, pending: Pending) -> bool:
    """Whether a load has any LOAD file, listed or merged."""
    return bool(pending.loads) or found.progress.loads != MergedLoads()


def load_doubt(table: Table, main: BranchState, found: BranchState, pending: Pending) -> str:
    """Return why it is doubtful that a load is the table's new content, "" if its files prove it.

    Args:
        table: its configuration.
        main: the state of the table's content.
        found: the state of the load's branch.
        pending: what is listed for the load.

    Raises:
        BronzeError: the files contradict the moment at which a reload in place began.
    """
    if found.progress.reload:
        return reload_doubt(table, main.progress, pending, found.progress.reloaded_at)
    if has_load_file(found, pending):
        return ""
    return (
        f"Bronze has no LOAD file of the table in load epoch {found.progress.epoch}: the source table was empty when it was loaded, or "
        "bronze.uri is not the folder of its load."
    )


def truncate_doubt(table: Table, progress: Progress, at: str) -> str:
    """Return why a truncate is doubtful. It always is: no file shows that there was one, or when."""
    nothing = f"DMS writes no truncate, so nothing shows that the source table was truncated at {shown_time(at)}."
    if progress.load_written or progress.loads == MergedLoads():
        return nothing
    return (
        f"{nothing} "
        f"{table.target} does not know when its full load was written, so nothing shows whether its rows are from before "
        f"--truncated-at {shown_time(at)}."
    )


def _files(files: Sequence[BronzeFile]) -> str:
    return first_of([file.key for file in files], 1)
