"""Lets Spark analyse the configuration's expressions before it reads a row: finds their types, and what is wrong with them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

import attrs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.changes.clean import condition_columns, expression_columns, untyped_expressions
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import SilverColumn, typed_sql
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Mask, Table, Timestamps
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.config.sql_functions import REFUSED_CALLS, is_clock_text
from dms_iceberg.context import RunContext
from dms_iceberg.errors import ConfigError
from dms_iceberg.silver.schema.diff import Types, narrowest
from dms_iceberg.silver.schema.evolve import Evolution, plan_evolution
from dms_iceberg.silver.schema.text_types import are_text, first_types
from dms_iceberg.spark.clock_casts import constant_casts
from dms_iceberg.spark.failures import describe
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, OP, POSITION
from dms_iceberg.sql.quoting import quote
from dms_iceberg.sql.types import VOID, stored

_WITHOUT_CLOCK: "WeakKeyDictionary[SparkSession, set[str]]" = WeakKeyDictionary()
"""What `refuse_clock` has looked at."""
_OWN = {OP: "string", POSITION: "string", COMMITTED_AT: "timestamp"}


@attrs.frozen
class _Text:
    """SQL of the configuration, with its key path and the Spark types of the columns that it may read."""

    path: str
    sql: str
    sees: Mapping[str, str]


def analysed_evolution(
    context: RunContext,
    table: Table,
    groups: Sequence[ReadGroup],
    existing: Types | None,
    texts: Mapping[str, str] | None = None,
    salts: Mapping[str, str] | None = None,
) -> Evolution:
    """Call `plan_evolution` with the types that Spark finds for expressions, and add what masks need; analysis only, no Spark job.

    Args:
        context: the context of the run.
        table: the table's configuration.
        groups: the batch, opened.
        existing: the table's columns, None when it does not exist.
        texts: by silver column in lower case, the type that defines masked texts, where the table remembers it.
        salts: by their references (``mask_salt``).

    Raises:
        ConfigError: Spark refuses an expression.
        SchemaChangeError: see `plan_evolution`.
    """
    ntz = context.config.timestamps is Timestamps.NTZ
    types = _expression_types(context, groups, table)
    found = plan_evolution(table, groups, types, existing, change=context.config.bronze.change, ntz=ntz)
    shape = attrs.evolve(found.shape, texts=_mask_texts(context, groups, table, found.shape, texts or {}), salts=salts or {})
    return attrs.evolve(found, shape=shape)


def _mask_texts(
    context: RunContext, groups: Sequence[ReadGroup], table: Table, shape: Shape, remembered: Mapping[str, str]
) -> dict[str, str]:
    """Return, by silver column, the type that defines masked texts: the declared type, else the remembered one, else that of files.

    Of columns that are text, keys without a mask included, it is the type that their files have beside text, as far as there is one.
    """
    masked = [column for column in shape.columns if column.declared.mask not in (None, Mask.REDACT) and not column.retired]
    texts = {column.name: type_ for column in masked if (type_ := column.declared.type or remembered.get(column.name.lower()))}
    if len(texts) < len(masked):
        found = {name.lower(): type_ for name, type_ in masked_types(context, groups, table).items()}
        texts |= {one.name: found[one.name.lower()] for one in masked if one.name not in texts and one.name.lower() in found}
    as_text = are_text(shape.columns, {name.lower(): type_ for name, type_ in shape.types.items()})
    known = {name: type_ for name, type_ in remembered.items() if type_ != "string"}
    types = first_types(as_text, groups) | known
    return texts | {column.name: types[column.name.lower()] for column in as_text if column.name.lower() in types}


def masked_types(context: RunContext, groups: Sequence[ReadGroup], table: Table) -> Types:
    """Return the types of values that are masked without a declared type, by silver column: those of the first group that has any.

    Raises:
        ConfigError: Spark refuses an expression.
    """
    undeclared = [column for column in table.columns if column.mask not in (None, Mask.REDACT) and column.type is None]
    copies = {column.name: column.source_name.lower() for column in undeclared if column.source_name is not None}
    found: Types = {}
    for group in groups:
        types = {name.lower(): type_ for name, type_ in group.columns.source if type_ != VOID}
        found = {name: types[source] for name, source in copies.items() if source in types} | found
        found = (_expression_types(context, [group], table, masked=True) if len(copies) < len(undeclared) else {}) | found
    return found


def _expression_types(context: RunContext, groups: Sequence[ReadGroup], table: Table, *, masked: bool = False) -> Types:
    """Return the types of expressions without a declared type; leaves out expressions that read a column which no file has.

    Of files with other types each has its own, and the result is the narrowest type that holds them all, as of columns that are copied.
    """
    columns = _source_types(groups)
    present = {name.lower() for name in columns}
    untyped = {
        column.name: (_path(table, index, "expr"), f"({column.expr})")
        for index, column in enumerate(table.columns)
        if column.expr is not None
        and column.type is None
        and (column.mask is not None) is masked
        and all(name.lower() in present for name in referenced_columns(column.expr))
    }
    if not groups or not untyped:
        return {}
    read = {name.lower() for column in table.columns if column.name in untyped for name in referenced_columns(column.expr or "")}
    found: dict[str, dict[str, None]] = {}
    for own in {tuple(one for one in group.columns.source if one[0].lower() in read and one[1] != VOID): None for group in groups}:
        sees = {**columns, **dict(own)}
        analysed = _analyse(context, [_Text(path, sql, sees) for path, sql in untyped.values()])
        for name, frame in zip(untyped, analysed, strict=True):
            found.setdefault(name, {})[frame.dtypes[0][1]] = None
    types = {name: [one for one in found[name] if one != VOID] for name in untyped}
    return {name: one[0] if len(one) == 1 else narrowest([*map(stored, one)]) for name, one in types.items() if one}


def check_expressions(context: RunContext, groups: Sequence[ReadGroup], table: Table, shape: Shape) -> None:
    """Let Spark analyse all SQL of the configuration: expressions, casts, filter and rules; no Spark job.

    Raises:
        ConfigError: Spark refuses some of it. Lists every problem with its key path.
    """
    _analyse(context, _texts(_source_types(groups), table, shape))


def refuse_clock(context: RunContext, groups: Sequence[ReadGroup], table: Table, shape: Shape) -> None:
    """Refuse expressions, a filter and rules in which Spark reads a text as the present time; no Spark job.

    Each group of files is looked at with its own types, once for a session.

    Raises:
        ConfigError: there is such a text.
    """
    if not (table.filter or table.rules or any(column.expr for column in table.columns)):
        return
    known = _WITHOUT_CLOCK.setdefault(context.spark, set())
    every = _source_types(groups)
    for own in {one.columns.source: None for one in groups}:
        source = {**every, **{name: type_ for name, type_ in own if type_ != VOID}}
        looked_at = repr((table, source, sorted(shape.types.items())))
        if looked_at not in known:
            _refuse_clock(context, [one for one in _texts(source, table, shape) if one.path.endswith((".expr", ".filter"))])
            known.add(looked_at)


def _refuse_clock(context: RunContext, texts: Sequence[_Text]) -> None:
    again = REFUSED_CALLS["now"]
    problems = []
    for text in texts:
        # What Spark refuses stops the batch anyway, with all such problems.
        with suppress(ConfigError):
            clocks = [value for value in constant_casts(*_analyse(context, [text])) if is_clock_text(value)]
            problems += [f"{text.path}: {value!r} as a date or time {again}. Write a whole time, or compare texts" for value in clocks]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def _texts(source: Types, table: Table, shape: Shape) -> list[_Text]:
    """Return all SQL of the configuration; ``source`` are the types of the files' columns."""
    source = dict(source)
    kept = {column.copies.lower(): shape.types[column.name] for column in shape.columns if column.copies is not None}
    for name in sorted(expression_columns(table) | condition_columns(table)):
        if name.lower() not in {one.lower() for one in source}:
            source[name] = kept.get(name.lower(), "string")
    live = [column for column in shape.columns if not column.retired]
    silver = {column.name: _unmasked_type(column, source, shape.types[column.name]) for column in live}
    shown = {name.lower() for name in silver}
    seen = silver | {name: type_ for name, type_ in source.items() if name.lower() not in shown}
    declared = {column.declared.name: column for column in live}
    texts = [
        _Text(_path(table, index, "expr" if column.expr else "type"), _value_sql(declared[column.name], source, shape.types), source)
        for index, column in enumerate(table.columns)
        if column.name in declared
    ]
    conditions = [(below(table_path(table), "filter"), table.filter)] if table.filter else []
    conditions += [(f"{item(below(table_path(table), 'rules'), index)}.expr", rule.expr) for index, rule in enumerate(table.rules)]
    return texts + [_Text(path, f"coalesce(({sql}), true)", seen) for path, sql in conditions]


def _value_sql(column: SilverColumn, source: Mapping[str, str], types: Mapping[str, str]) -> str:
    found = {name.lower(): type_ for name, type_ in source.items()}
    if column.source is not None and column.source.lower() not in found:
        return f"CAST(NULL AS {types[column.name]})"
    if untyped_expressions([column]):
        # Its value is converted like a source column's, which Spark never refuses: what has no cast is quarantined.
        return column.base_sql(None)
    return typed_sql(column, found[column.source.lower()] if column.source is not None else None, types[column.name])


def _unmasked_type(column: SilverColumn, source: Mapping[str, str], type_: str) -> str:
    """Return the type of a column as conditions see it: before it is masked."""
    if column.declared.mask is None:
        return type_
    of = next((source[name] for name in source if column.source is not None and name.lower() == column.source.lower()), "string")
    return column.declared.type or of


def _source_types(groups: Sequence[ReadGroup]) -> Types:
    found = [column for group in groups for column in group.columns.source]
    # A group in which a column is always NULL does not show its type.
    return dict(sorted(found, key=lambda column: column[1] != VOID))


def _path(table: Table, index: int, key: str) -> str:
    return f"{item(below(table_path(table), 'columns'), index)}.{key}"


def _analyse(context: RunContext, texts: Iterable[_Text]) -> list[DataFrame]:
    frames: dict[int, DataFrame] = {}
    analysed, problems = [], []
    for text in texts:
        columns = {**text.sees, **_OWN}
        if id(text.sees) not in frames:
            schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in columns.items())
            frames[id(text.sees)] = context.spark.createDataFrame([], schema)
        try:
            analysed.append(frames[id(text.sees)].selectExpr(f"{text.sql} AS result"))
        except AnalysisException as error:
            problems.append(f"{text.path}: Spark refuses it: {describe(error)}")
    if problems:
        raise ConfigError(problems)
    return analysed
