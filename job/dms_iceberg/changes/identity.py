"""Recognises a change that DMS writes a second time. SQL text and plain arithmetic.

A position is a change's place, not its identity: after a restart the task writes the same change into a later file, often with another
counter. What stays the same is its place in the source's log, where the files have it, its operation, key, commit time and values: these
together are the change's identity. Within one file equal identities are different changes (a row written twice with the same values in one
transaction); in two files they are one change and its repetition. So identities are compared as a multiset per file: the n-th of one file
is the n-th of each other file.
"""

from collections.abc import Iterable, Mapping, Sequence

from dms_iceberg.bronze.position import CLOCK_DIGITS, COUNTER_DIGITS, FILE_DIGITS, load_prefix
from dms_iceberg.config.model import Change, Table
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.progress import Progress
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, OP, POSITION, STREAM
from dms_iceberg.sql.json_text import TIMES, options_sql
from dms_iceberg.sql.quoting import quote

_CLOSED = f"substr({POSITION}, -{FILE_DIGITS + COUNTER_DIGITS}, {FILE_DIGITS})"


def is_identified(table: Table) -> bool:
    """Whether the table's mode must recognise repeated changes."""
    return table_mode(table.mode).keeps_every_change


def stream_sql(columns: Iterable[str], change: Change) -> str:
    """SQL of a change's place in the source's log, NULL where files do not have it; ``columns`` are those of the files."""
    wanted = (change.stream_position_column or "").lower()
    found = next((name for name in columns if wanted and name.lower() == wanted), None)
    return f"nullif(CAST({quote(found)} AS string), '')" if found else "CAST(NULL AS string)"


def identity_sql(columns: Sequence[str], load: int, added: Mapping[str, str]) -> str:
    """SQL of a change's identity.

    Args:
        columns: all silver columns.
        load: number of the load. A row of the full load that is written twice may have been read at two times, so its time does not count.
        added: by column that the table got later, the clock (`clock_prefix`) that it had reached then.

    JSON omits fields that are NULL, so a column that is added later changes no identity by that alone. But it may have a value in one
    writing and none, or its backfill, in a row that was merged before. So it does not distinguish changes from before it was added: both
    writings of a change have one clock, so whichever is merged first, both are compared in the same columns.
    """
    clocks = {name.lower(): clock for name, clock in added.items()}
    compared = ", ".join(
        f"CASE WHEN {POSITION} >= '{clocks[name.lower()]}:' THEN {quote(name)} END AS {quote(name)}"
        if name.lower() in clocks
        else quote(name)
        for name in columns
    )
    loaded = f"{POSITION} LIKE '{clock_prefix('', load)}%'"
    fields = [f"{OP} AS op", f"CASE WHEN NOT {loaded} THEN unix_micros({COMMITTED_AT}) END AS at", f"{STREAM} AS stream"]
    return f"md5(to_json(struct({', '.join(fields)}, struct({compared}) AS row), {options_sql(TIMES)}))"


def place_sql(key: Sequence[str]) -> str:
    """SQL of a change's place: what is at one place, with one operation and key, is one change whatever its values.

    A file that is uploaded again may have other values there: a column that the table has got meanwhile, or corrected ones.
    """
    place = f"{POSITION} AS position, {OP} AS op, {STREAM} AS stream"
    return f"md5(to_json(struct({place}, struct({', '.join(map(quote, key))}) AS key), {options_sql(TIMES)}))"


def file_sql(load: int) -> str:
    """SQL of the part of a position that identifies the file: the close time, or the order of a LOAD file."""
    loaded = len(clock_prefix("", load)) + FILE_DIGITS
    return f"CASE WHEN length({POSITION}) = {loaded} THEN right({POSITION}, {FILE_DIGITS}) ELSE {_CLOSED} END"


def clock_prefix(position: str, load: int) -> str:
    """Return the part of a position up to its clock; for "", that of loaded rows."""
    prefix = load_prefix(load)
    return position[: len(prefix) + CLOCK_DIGITS] if position else prefix + "0" * CLOCK_DIGITS


def known_clock(progress: Progress) -> str:
    """Return the clock (`clock_prefix`) of the newest change that was merged, "" before the first."""
    return "" if progress.is_empty else clock_prefix(progress.high_water, progress.load)


def repeated_clocks(files: Iterable[tuple[str, str, str]], high_water: str, load: int) -> tuple[str, str] | None:
    """Return the range of clocks in which changes may be repetitions, None when there is none.

    Args:
        files: close time, lowest and highest position of each file of the batch; a LOAD file has no close time.
        high_water: the highest position ever applied, "" for none.
        load: number of the load of both.

    Returns:
        Two position prefixes (`clock_prefix`), the first and the last, inclusive.

    DMS writes in the order of clocks until it restarts from an earlier point. So a change can be a repetition only if an earlier file, or
    the table, reaches its clock. All loaded rows have the same clock.
    """
    seen = clock_prefix(high_water, load) if high_water else ""
    found = []
    for _, low, high in sorted(files):
        first, last = clock_prefix(low, load), clock_prefix(high, load)
        if first <= seen:
            found.append((first, min(last, seen)))
        seen = max(seen, last)
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def between_clocks(clocks: tuple[str, str]) -> str:
    """SQL that is true for positions in a range of clocks; it prunes files by their bounds."""
    # A colon sorts after every digit.
    return f"({POSITION} >= '{clocks[0]}' AND {POSITION} < '{clocks[1]}:')"
