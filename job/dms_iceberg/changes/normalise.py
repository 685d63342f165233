"""Gives changes of all sources one form: operation, position, commit time, and the old key of a key change as a separate row.

All of this is SQL text over the file's columns, so it needs no additional pass.
"""

from collections.abc import Callable, Collection, Sequence

from dms_iceberg.bronze.columns import SourceColumns
from dms_iceberg.bronze.keys import AHEAD_HOURS
from dms_iceberg.bronze.misread_values import unread_cases
from dms_iceberg.bronze.position import (
    bytes_sql,
    file_position_sql,
    file_time_sql,
    is_sequence_sql,
    load_position_sql,
    sequence_beyond_sql,
    sequence_position_sql,
    timestamp_beyond_sql,
    timestamp_position_sql,
)
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.model import Change, Table
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    FILE,
    FILE_NAME,
    FILE_TIME,
    IMAGED,
    MOVED,
    NOT_TEXT,
    OLD_KEY,
    OP,
    POSITION,
    PROBLEM,
    ROW,
)
from dms_iceberg.sql.quoting import quote, string_literal

_ONLY_INSERTS = "unknown_op: a full load has only inserts; an update or delete in a LOAD file is of something else"
LEAVING_HALVES, ALTERNATIVES = (1, 2), (2, 4)


def is_op_sql(columns: SourceColumns, change: Change, op: str) -> str:
    """SQL that is true for rows of a file with the operation ``op`` (I, U or D)."""
    words = [word for word, meaning in change.op_words.items() if meaning == op]
    if columns.op is None:
        return "false"
    return " OR ".join(f"{quote(columns.op)} = {string_literal(word)}" for word in words) or "false"


def moved_sql(columns: SourceColumns, change: Change, read: Callable[[str], str] = quote) -> str:
    """SQL that is true for an update that moved its row to another key.

    PostgreSQL fills the before-image for key-changing updates only, other sources always: so it must be non-NULL and differ.

    Args:
        read: returns the SQL of a column.
    """
    if not columns.before_image or columns.op is None:
        return "false"
    moved = " OR ".join(f"({read(old)} IS NOT NULL AND NOT ({read(old)} <=> {read(key)}))" for key, old in columns.before_image.items())
    return f"({is_op_sql(columns, change, 'U')}) AND ({moved})"


def half_sql(columns: SourceColumns, change: Change, *, is_cdc: bool, with_images: bool = False) -> str:
    """SQL of the halves of a row with `MOVED`, an explode: 0 is the change itself, 1 the delete of the old key if the row has moved.

    A load moves no key, and an explode would take time for each of its rows.

    Args:
        with_images: rows with `IMAGED` get their images as well: half 1 has the values that the row had before, and so has half 3 of an
            update that stays at its key. 2 and 4 are the same in the other reading, in which an image of NULL means unchanged.
    """
    if not is_cdc or not columns.before_image or columns.op is None:
        return f"0 AS {OLD_KEY}"
    if not with_images or not columns.images:
        return f"explode(CASE WHEN {MOVED} THEN array(0, 1) ELSE array(0) END) AS {OLD_KEY}"
    stays = f"{IMAGED} IS NOT NULL AND ({is_op_sql(columns, change, 'U')})"
    return f"explode(CASE WHEN {MOVED} THEN array(0, 1, 2) WHEN {stays} THEN array(0, 3, 4) ELSE array(0) END) AS {OLD_KEY}"


def imaged_sql(columns: SourceColumns, change: Change, table: Table, sources: Sequence[Collection[str]]) -> str:
    """SQL of a text of 0 and 1 that says which silver columns a row's before-image has; NULL where it has only the key.

    Args:
        sources: for each silver column the source columns that it is computed from.
    """
    if columns.op is None:
        return "CAST(NULL AS string)"
    present = {name.lower(): name for name in columns.names}
    images = {name.lower(): image for name, image in columns.images.items()}
    keys = {name.lower() for name in table.key}
    cases = []
    # A delete has the values of the deleted row, where the source's log has them.
    for op, found in (("D", {name: name for name in present if name not in keys}), ("U", images)):
        bits = "".join("1" if made_of and all(name.lower() in {*found, *keys} for name in made_of) else "0" for made_of in sources)
        some = " OR ".join(f"{quote(present.get(name, name))} IS NOT NULL" for name in found.values())
        if some and "1" in bits:
            cases.append(f"WHEN ({is_op_sql(columns, change, op)}) AND ({some}) THEN '{bits}'")
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS string)"


def normalise_sql(
    group: SchemaGroup, columns: SourceColumns, change: Change, table: Table, load: int, *, with_images: bool = False
) -> list[list[str]]:
    """Return select lists, each over the one before, over a read group with `OLD_KEY`; the last has source columns and ``_cdc_`` columns.

    What several columns are computed from has its own step: otherwise Spark would compute it for each of them.
    The old-key half is a ``D`` whose key is coalesce(before-image, key) per column. `PROBLEM` says why a row cannot be used.

    Args:
        group: the files.
        columns: their columns, classified.
        change: how the files name service columns and operations.
        table: the table's configuration.
        load: number of the load that the files belong to (`Progress.load`).
        with_images: see `half_sql`.
    """
    is_cdc = group.is_cdc
    keys = {key.lower(): key for key in table.key}
    leaving = f"{OLD_KEY} IN (1, 2)" if with_images else f"{OLD_KEY} = 1"
    selected = []
    for name, _ in columns.source:
        old, image, own = columns.before_image.get(keys.get(name.lower(), "")), columns.images.get(name), quote(name)
        if old:
            selected.append(f"CASE WHEN {leaving} THEN coalesce({quote(old)}, {own}) ELSE {own} END AS {own}")
        elif image and with_images:
            before = f"WHEN {OLD_KEY} IN (1, 3) THEN {quote(image)} WHEN {OLD_KEY} IN (2, 4) THEN coalesce({quote(image)}, {own})"
            selected.append(f"CASE {before} ELSE {own} END AS {own}")
        else:
            selected.append(own)
    row_order = "0L" if is_cdc and columns.sequence else ROW
    problem = _problem_sql(columns, change, is_cdc=is_cdc)
    return [
        [
            "*",
            f"CASE WHEN {OLD_KEY} > 0 THEN 'D' ELSE {_op_sql(columns, change)} END AS {OP}",
            f"{_file_time_sql() if is_cdc else string_literal('')} AS {FILE_TIME}",
            f"{_committed_sql(columns, is_cdc=is_cdc)} AS {COMMITTED_AT}",
        ],
        ["*", f"{_position_sql(group, columns, load)} AS {POSITION}"],
        [*selected, OP, POSITION, COMMITTED_AT, f"{problem} AS {PROBLEM}", OLD_KEY, FILE_TIME, f"{row_order} AS {ROW}", FILE_NAME, FILE],
    ]


def _committed_sql(columns: SourceColumns, *, is_cdc: bool) -> str:
    column = columns.timestamp
    if column is None:
        # Without any clock a change was committed before its file was closed, and nothing more is known.
        return file_time_sql(_file_time_sql()) if is_cdc and not columns.has_clock else "CAST(NULL AS timestamp)"
    # Spark adds today's date to a time without a date.
    return f"CASE WHEN instr(CAST({quote(column)} AS string), '-') = 5 THEN try_cast({quote(column)} AS timestamp) END"


def _op_sql(columns: SourceColumns, change: Change) -> str:
    if columns.op is None:
        return "'I'"
    cases = " ".join(f"WHEN {string_literal(word)} THEN '{op}'" for word, op in change.op_words.items())
    return f"CASE {quote(columns.op)} {cases} END"


def _file_time_sql() -> str:
    return f"CAST(concat({bytes_sql(FILE_NAME, 1, 8)}, {bytes_sql(FILE_NAME, 10, 9)}) AS string)"


def _position_sql(group: SchemaGroup, columns: SourceColumns, load: int) -> str:
    if not group.is_cdc:
        # One constant per file, so that the column takes almost no space; the row number breaks ties in the collapse.
        return load_position_sql(load, group.segment, bytes_sql(FILE_NAME, f"instr({FILE_NAME}, 'LOAD') + 4", 8))
    if not columns.has_clock:
        return file_position_sql(load, FILE_TIME, ROW)
    if columns.sequence is None:
        return timestamp_position_sql(load, COMMITTED_AT, FILE_TIME, ROW)
    return sequence_position_sql(load, quote(columns.sequence), FILE_TIME)


def _problem_sql(columns: SourceColumns, change: Change, *, is_cdc: bool) -> str:
    checks = [
        f"WHEN {NOT_TEXT} THEN 'encoding: the row holds bytes that are not UTF-8'",
        *unread_cases(),
    ]
    if columns.op is not None:
        checks.append(f"WHEN {OP} IS NULL THEN {string_literal('unknown_op: allowed are ' + ', '.join(change.op_words))}")
        if not is_cdc:
            checks.append(f"WHEN {OP} <> 'I' THEN {string_literal(_ONLY_INSERTS)}")
    if columns.sequence is not None and not is_cdc:
        # Without a header an added column takes the place of the sequence; only its values show it.
        problem = "malformed: the sequence of a full-load row is neither empty nor 35 digits; if a source column was added, declare it"
        shifted = f"{quote(columns.sequence)} <> '' AND NOT {is_sequence_sql(quote(columns.sequence))}"
        checks.append(f"WHEN {shifted} THEN {string_literal(problem)}")
    checks.append(f"WHEN {POSITION} IS NULL THEN 'no_position: the sequence (or commit time) of the change is missing or impossible'")
    if columns.timestamp:
        checks.append(
            f"WHEN {quote(columns.timestamp)} IS NOT NULL AND {COMMITTED_AT} IS NULL THEN 'bad_timestamp: the commit time is impossible'"
        )
    if is_cdc and columns.has_clock:
        # One such row would raise the table's high-water position, and every change after it would count as late.
        beyond = timestamp_beyond_sql(COMMITTED_AT, FILE_TIME)
        if columns.sequence is not None:
            beyond = sequence_beyond_sql(quote(columns.sequence), FILE_TIME)
        problem = f"future_clock: the sequence (or commit time) lies more than {AHEAD_HOURS} hours after the close of its file"
        checks.append(f"WHEN {beyond} THEN {string_literal(problem)}")
    return f"CASE {' '.join(checks)} END"


AMBIGUOUS = "ambiguous_key_change"
