"""Cleaning: casts, expressions, renames, masks, filter and rules, as select lists over normalised changes.

The columns of a delete (``D``) besides its key are not data, so filters, rules and casts of other columns are never applied to it. A row
that leaves the filter becomes a delete at its position.
"""

from collections.abc import Iterable, Mapping, Sequence

from dms_iceberg.changes.mapping import SilverColumn, backfill_text, is_json, masked_sql, salt_names, typed_sql
from dms_iceberg.changes.partition_values import partition_problems
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import OnFail, Table
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    FAILED_RULE,
    FILE,
    FILE_NAME,
    FILE_TIME,
    FILTERED,
    KEY_TEXT,
    OLD_KEY,
    OP,
    POSITION,
    PROBLEM,
    ROW,
    VALUE_PROBLEM,
)
from dms_iceberg.sql.mask_text import text_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import VOID, canonical, decimal_of, fits, is_castable, keeps_all, stored

_VALUE = "_cdc_value_"
_CARRIED = (OP, POSITION, COMMITTED_AT, OLD_KEY, FILE_TIME, ROW, FILE_NAME, FILE)


def typed_steps(
    table: Table,
    shape: Shape,
    source_types: Mapping[str, str],
    carried: Sequence[str] = (),
    *,
    expressions: Mapping[str, str] | None = None,
    sparse: bool = False,
) -> list[list[str]]:
    """Return the first two select lists: computed values; then unmasked silver columns in their types, and what conditions read besides.

    A value and its problem are read from one column, so that Spark computes the value once.

    A number must survive its cast with every digit, because SQL's own casts round silently. The result of an expression whose type is
    declared is cast as SQL does: nobody has asked for another type where none is declared.

    Retired columns come last, in `masked_select`: a filter that reads a dropped column sees the source's, not the table's.

    Args:
        table: the table's configuration.
        shape: its silver columns.
        source_types: Spark type by source column; a silver column whose source column is not in the files is NULL.
        carried: further columns to pass through.
        expressions: Spark type by silver column that is an expression without a declared type.
        sparse: a row may leave out a column that another row of its file has.
    """
    columns, first, target_types = _live(shape.columns), shape.first_seen, shape.types
    # Files that are read again for a late change may spell a name in another case than those of the batch.
    present = {name.lower(): type_ for name, type_ in source_types.items()}
    deciding = {name.lower() for name in _outside_columns(table)}
    computed: list[str] = []
    selected: list[str] = []
    problems, value_problems = list[str](), list[str]()
    for column in columns:
        type_ = target_types[column.name]
        if column.source is not None and column.source.lower() not in present:
            selected.append(f"{_absent_sql(column, type_, first)} AS {quote(column.name)}")
            continue
        source_type = present[column.source.lower()] if column.source is not None else (expressions or {}).get(column.name)
        if column.family and column.name != taker(column, source_type, target_types):
            selected.append(f"CAST(NULL AS {type_}) AS {quote(column.name)}")
            continue
        sql, base = typed_sql(column, source_type, type_, shape.texts.get(column.name)), column.base_sql(source_type)
        value = sql if sql == base else f"{_VALUE}{len(computed)}"
        if sql != base:
            computed.append(f"{sql} AS {value}")
        given = value
        if sparse and column.source is not None and first.get(column.name.lower()):
            given = f"CASE WHEN {quote(column.source)} IS NULL THEN {_absent_sql(column, type_, first)} ELSE {value} END"
        selected.append(f"{given} AS {quote(column.name)}")
        found = [_cast_problem(column, value, type_, source_type, exact=column.name in shape.exact)]
        found += partition_problems(table, column, value, type_)
        decides = column.is_key or column.name.lower() in deciding
        (problems if decides else value_problems).extend(filter(None, found))
        if column.is_key:
            problems.append(f"WHEN {value} IS NULL THEN {string_literal(_null_key(column, source_type))}")
    shadowed = {column.name.lower() for column in columns}
    needed = {name.lower() for name in condition_columns(table)}
    selected += [quote(name) for name in source_types if name.lower() in needed and name.lower() not in shadowed]
    value_problem = f"CASE {' '.join(value_problems)} END" if value_problems else "CAST(NULL AS string)"
    problem = f"{else_problem(problems)} AS {PROBLEM}"
    return [["*", *computed], [*selected, *_CARRIED, *carried, problem, f"{value_problem} AS {VALUE_PROBLEM}"]]


def else_problem(cases: Sequence[str]) -> str:
    """SQL of `PROBLEM`, or for a change without one the result of ``cases`` (WHEN ... THEN ...).

    The SQL has `PROBLEM` only once: the optimizer inlines each step into the next, so a second one would double the SQL with every step.
    """
    return f"coalesce({PROBLEM}, CASE {' '.join(cases)} END)" if cases else PROBLEM


def _null_key(column: SilverColumn, source_type: str | None) -> str:
    text = f"null_key: key column {column.name} is NULL"
    if column.source is None:
        return f"{text} by its expr"
    # In text formats only declared types are known.
    declared = canonical(column.declared.type) if source_type == "string" and column.declared.type else source_type
    if declared is not None and decimal_of(declared):
        # PostgreSQL's numeric has NaN and infinity; no other value of a key becomes NULL.
        return f"{text} in the file, where DMS writes NULL also for a numeric that is NaN or infinite"
    return text


def taker(column: SilverColumn, source_type: str | None, target_types: Mapping[str, str]) -> str:
    """Return which column of a family takes values of a type; the first one if no column was added for the type."""
    clocks = {"timestamp", "timestamp_ntz"}
    of = stored(source_type or VOID)
    return next(
        (name for name in column.family if fits(of, target_types[name]) or {of, target_types[name]} == clocks),
        column.family[0],
    )


def _live(columns: Sequence[SilverColumn]) -> list[SilverColumn]:
    return [column for column in columns if not column.retired]


def _absent_sql(column: SilverColumn, type_: str, first: Mapping[str, str | None]) -> str:
    """The value of a column that a file lacks: the backfill for changes from before the source added the column, else NULL."""
    backfill, since = column.declared.backfill, first.get(column.name.lower(), "")
    if backfill is None or since is None:
        return f"CAST(NULL AS {type_})"
    value = f"CAST({string_literal(backfill_text(backfill))} AS {type_})"
    return f"CASE WHEN {POSITION} < {string_literal(since)} THEN {value} END" if since else value


def _cast_problem(column: SilverColumn, value: str, type_: str, source_type: str | None, *, exact: bool) -> str | None:
    base = column.base_sql(source_type)
    if value == base or source_type == VOID:
        return None
    to = canonical(column.declared.type) if column.declared.mask and column.declared.type else type_
    lost = f"{base} IS NOT NULL AND {value} IS NULL"
    if source_type is not None and is_castable(source_type, to) and (exact or not keeps_all(source_type, to)):
        kept = f"try_cast({value} AS {source_type}) = {base}"
        if {"bigint"} < {source_type, to} <= {"bigint", "float", "double"}:
            # Java casts the floating number 2^63 to the bigint 2^63 - 1, and this to 2^63 again.
            kept += f" AND {base if to == 'bigint' else value} < 9223372036854775808D"
        lost = f"{base} IS NOT NULL AND NOT coalesce({kept}, false)"
    elif is_json(source_type, to):
        lost += f" AND trim({base}) <> 'null'"
    guard = "" if column.is_key else f"{OP} <> 'D' AND "
    wanted = column.declared.type or type_
    text = f"cast: {column.name} does not fit {wanted}" + (f" in format {column.declared.format}" if column.declared.format else "")
    return f"WHEN {guard}{lost} THEN {string_literal(text)}"


def condition_columns(table: Table) -> set[str]:
    """Return the columns that the filter and the rules read."""
    conditions = [table.filter, *(rule.expr for rule in table.rules)]
    return {name for condition in conditions if condition for name in referenced_columns(condition)}


def untyped_expressions(columns: Iterable[SilverColumn]) -> list[SilverColumn]:
    """Return the columns that are an expression and whose type is that of the expression."""
    return [column for column in columns if column.source is None and column.declared.expr and column.type is None]


def expression_columns(table: Table) -> set[str]:
    """Return the columns that expressions of columns read."""
    return {name for column in table.columns if column.expr for name in referenced_columns(column.expr)}


def _outside_columns(table: Table) -> set[str]:
    conditions = [table.filter, *(rule.expr for rule in table.rules if rule.on_fail is OnFail.DROP)]
    return {name for condition in conditions if condition for name in referenced_columns(condition)}


def checked_select(table: Table, columns: Sequence[SilverColumn], carried: Sequence[str] = ()) -> list[str]:
    """Return the next select list: the same silver columns, `FILTERED`, `FAILED_RULE` and the final `PROBLEM`.

    A filter keeps rows for which it is true; a row breaks a rule that is false for it (NULL passes, as in an SQL CHECK).
    A row outside the filter leaves silver even when another of its values does not fit: silver is the source WHERE filter.
    """
    checkable = f"{OP} <> 'D' AND {PROBLEM} IS NULL"
    quarantines = [rule for rule in table.rules if rule.on_fail is OnFail.QUARANTINE]
    drops = [f"NOT coalesce(({rule.expr}), true)" for rule in table.rules if rule.on_fail is OnFail.DROP]
    fails = [rule for rule in table.rules if rule.on_fail is OnFail.FAIL]
    outside = [*drops, *([f"NOT coalesce(({table.filter}), false)"] if table.filter else [])]
    leaves = f"{checkable} AND ({' OR '.join(outside)})" if outside else "false"
    # A row outside the filter cannot break a rule: rules are for rows of silver.
    inside = f"{checkable} AND NOT ({' OR '.join(outside)})" if outside else checkable
    broken = " ".join(f"WHEN NOT coalesce(({rule.expr}), true) THEN {string_literal('rule: ' + rule.name)}" for rule in quarantines)
    unfit = f"coalesce({VALUE_PROBLEM}, CASE {broken} END)" if broken else VALUE_PROBLEM
    belongs = f"{OP} <> 'D' AND NOT ({' OR '.join(outside)})" if outside else f"{OP} <> 'D'"
    failed = " ".join(
        f"WHEN {inside} AND {VALUE_PROBLEM} IS NULL AND NOT coalesce(({rule.expr}), true) THEN {string_literal(rule.name)}"
        for rule in fails
    )
    return [
        *(quote(column.name) for column in _live(columns)),
        *_CARRIED,
        *carried,
        f"{leaves} AS {FILTERED}",
        f"{else_problem([f'WHEN {belongs} THEN {unfit}'])} AS {PROBLEM}",
        f"{f'CASE {failed} END' if failed else 'CAST(NULL AS string)'} AS {FAILED_RULE}",
    ]


def masked_select(
    columns: Sequence[SilverColumn],
    carried: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the last select list: silver columns with their masks applied, and the ``_cdc_`` columns.

    Args:
        columns: silver columns.
        carried: further columns to pass through.
        types: Spark types of the values to be masked, where they may differ from those of ``texts``.
        texts: the type that defines masked texts (`sql.mask_text`), by silver column.
    """
    types, texts = types or {}, texts or {}
    salts = salt_names(columns)
    selected = []
    for column in columns:
        mask, name = column.declared.mask, quote(column.name)
        if column.retired:
            selected.append(f"CAST(NULL AS {column.declared.type}) AS {name}")
            continue
        salt = salts.get(column.declared.mask_salt or "")
        text = text_sql(name, types[column.name], texts[column.name]) if column.name in types and column.name in texts else None
        selected.append(f"{masked_sql(column.name, mask, salt, text)} AS {name}" if mask else name)
    further = [_masked_key_text(columns, salts) if name == KEY_TEXT else name for name in carried]
    return [*selected, *_CARRIED, *further, FILTERED, PROBLEM, FAILED_RULE]


def _masked_key_text(columns: Sequence[SilverColumn], salts: Mapping[str, str]) -> str:
    """SQL of `KEY_TEXT` with the masks of its columns applied: also a text that does not fit its column is not shown."""
    parts = []
    for column in columns:
        if column.is_key:
            text, mask = f"{KEY_TEXT}.{quote(column.name)}", column.declared.mask
            masked = masked_sql(column.name, mask, salts.get(column.declared.mask_salt or ""), text) if mask else text
            parts.append(f"{masked} AS {quote(column.name)}")
    return f"struct({', '.join(parts)}) AS {KEY_TEXT}"
