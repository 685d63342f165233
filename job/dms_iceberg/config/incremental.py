"""Which gold models can be refreshed group by group: one SELECT over one table, whose groups depend only on their own rows."""

from collections.abc import Collection, Iterator
from itertools import chain

import attrs
from sqlglot import exp

from dms_iceberg.config.check_context import ICEBERG_COLUMNS
from dms_iceberg.config.constant_texts import constant_texts
from dms_iceberg.config.model_sql import Reference, parse_query, references, words
from dms_iceberg.config.sql_functions import CHANGEABLE_CALLS, GENERATORS, REFUSED_WORDS, UNIX_TIMESTAMP, is_clock_text

KEY, PRESENT = "_key_", "_present"
"""Names of columns that a refresh adds to those of the model: the values of a changed group, and whether it has rows."""
_REFUSED_NODES: dict[type | tuple[type, ...], str] = {
    exp.Window: "a window (OVER) looks at rows of several groups",
    (exp.Subquery, exp.Exists, exp.Query): "a subquery may read rows of several groups",
    exp.TableSample: "TABLESAMPLE takes other rows of a group each time",
}


@attrs.frozen
class GroupColumn:
    """A column that a model groups by.

    Attributes:
        source: its name in the table that the model reads.
        output: its name in the model.
    """

    source: str
    output: str


def group_columns(sql: str) -> tuple[GroupColumn, ...]:
    """Return the columns that an incremental model groups by; for SQL that passes `incremental_problems`."""
    tree = parse_query(sql)
    outputs = {select.unalias().name.lower(): select.alias_or_name for select in tree.expressions if _is_column(select.unalias())}
    return tuple(GroupColumn(column.name, outputs[column.name.lower()]) for column in tree.args["group"].expressions)


def incremental_problems(sql: str, models: Collection[str] = ()) -> list[str]:
    """Return why a model cannot be refreshed group by group; empty if it can.

    Args:
        sql: its query.
        models: names of all models.

    Raises:
        ModelSqlError: see `references`.
    """
    named = {one.casefold(): one for one in models}
    read = [named[one.name] for one in references(sql) if one.name in named]
    return [*_query_problems(sql), *(f"it reads the model '{one}'; only changes of a silver table are known row by row" for one in read)]


def _query_problems(sql: str) -> list[str]:
    tree = parse_query(sql)
    tables = references(sql)
    if not isinstance(tree, exp.Select) or len(tables) != 1 or any(tree.args.get(key) for key in ("joins", "laterals", "with_", "with")):
        return ["it must be one SELECT over one table, without WITH, joins, LATERAL VIEW and set operations"]
    parts = (_clause_problems(tree), _group_problems(tree, tables[0]), _node_problems(tree), _output_problems(tree), _call_problems(sql))
    return list(dict.fromkeys(chain(*parts)))


def _clause_problems(tree: exp.Select) -> Iterator[str]:
    for key, clause in (("distinct", "DISTINCT"), ("limit", "LIMIT"), ("offset", "OFFSET"), ("order", "ORDER BY"), ("sort", "SORT BY")):
        if tree.args.get(key):
            yield f"{clause} concerns rows of several groups; leave it out"
    source = tree.args.get("from_") or tree.args.get("from")
    if source is None or not isinstance(source.this, exp.Table) or any(source.this.args.get(key) for key in ("pivots", "joins")):
        yield "FROM must be the table alone, without a subquery or PIVOT"
    elif source.this.args.get("alias") and source.this.args["alias"].columns:
        yield "give the table an alias, but not its columns"


def _group_problems(tree: exp.Select, table: Reference) -> Iterator[str]:
    group = tree.args.get("group")
    if group is None or not group.expressions or any(value for key, value in group.args.items() if key != "expressions"):
        yield "it needs GROUP BY with columns, and nothing else (no ALL, ROLLUP, CUBE or GROUPING SETS)"
        return
    selected = {select.unalias().name.lower() for select in tree.expressions if _is_column(select.unalias())}
    for column in group.expressions:
        if not _is_column(column):
            yield f"GROUP BY {column.sql(dialect='spark')}: group by columns of the table, not by expressions or numbers"
        elif column.name.lower() not in selected:
            yield f"GROUP BY {column.name}: select the column too, so that its group can be found in the model"
    for column in tree.find_all(exp.Column):
        if column.args.get("db") or (column.table and column.table.casefold() != table.alias.casefold()):
            yield f"{column.sql(dialect='spark')}: name columns alone, or after '{table.alias}.'"


def _node_problems(tree: exp.Select) -> Iterator[str]:
    for node in tree.walk():
        if node is not tree and (why := next((text for kinds, text in _REFUSED_NODES.items() if isinstance(node, kinds)), None)):
            yield why
        elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            yield "'*': name the columns"
        elif isinstance(node, exp.Column) and node.name.casefold() in ICEBERG_COLUMNS:
            yield f"{node.name} tells of files, which change without their rows"
    for text in constant_texts(tree):
        if text is None or is_clock_text(text):
            what = "a text that is computed from constants" if text is None else f"'{text}'"
            yield f"{what} may be taken for a time of the clock, so a refresh of some groups would differ from one of all"


def _output_problems(tree: exp.Select) -> Iterator[str]:
    outputs = [select.alias_or_name.lower() for select in tree.expressions]
    for name in sorted({name for name in outputs if name and outputs.count(name) > 1}):
        yield f"two columns are called {name}"
    for name in sorted({name for name in outputs if name == PRESENT or name.startswith(KEY)}):
        yield f"a column cannot be called {name}, which is needed for the refresh"


def _call_problems(sql: str) -> Iterator[str]:
    for word, is_call, _ in words(sql):
        if is_call and word in GENERATORS:
            yield f"{word}(): makes several rows of a group"
        elif is_call and word == UNIX_TIMESTAMP:
            yield f"{word}(): without an argument it tells the clock; write CAST(... AS bigint) of a timestamp"
        elif word in CHANGEABLE_CALLS and (is_call or word in REFUSED_WORDS):
            yield f"{word}(): {CHANGEABLE_CALLS[word]}, so a refresh of some groups would differ from one of all"


def _is_column(node: "exp.Expr") -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)
