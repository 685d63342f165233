"""SQL that converts JSON text to a value of a nested type, or to NULL where the text is not exactly such a value.

`from_json` alone returns NULL for whatever does not fit, rounds decimals, takes ``2026-03-01 garbage`` for a date and a whole number for
the seconds of a time, and passes numbers that a string type asks for through a double. So this module asks it for strings only, with marked
numbers (`json_numbers`), and converts the members like any other text (`text_values`).
"""

from collections.abc import Callable, Iterator, Mapping

import attrs

from dms_iceberg.sql.json_numbers import STRICT, has_half_character_sql, mark_sql, marked_sql, plain_member_sql
from dms_iceberg.sql.json_text import options_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.text_values import text_value_sql
from dms_iceberg.sql.types import decimal_of

_MARK, _WRAPPED, _PARSED = "_cdc_mark", "_cdc_wrapped", "_cdc_parsed"
_CORRUPT = "_cdc_corrupt"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_AS_SPARK_READS_THEM = ("boolean", "binary")
_NO_NUMBER = "'^(?:NaN|[+-]?Infinity)$'"


@attrs.frozen
class _Type:
    """A type as a tree: ``array``, ``map`` (of its values) and ``struct`` have members, others have none."""

    text: str
    kind: str = ""
    members: tuple[tuple[str, "_Type"], ...] = ()


def is_nested(type_: str) -> bool:
    """Whether values of a type are read from JSON text."""
    return type_.startswith(("array<", "struct<", "map<"))


def quoted_type(type_: str) -> str:
    """Return a type with the names of fields quoted, as Spark's parser needs names that are not plain identifiers."""
    return _written(_tree(type_), str)


def full_names(columns: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the full name that Iceberg gives each column and each member of nested ones, such as ``a.element.b``, with its column.

    Args:
        columns: Spark types by column.
    """
    for column, type_ in columns.items():
        for name in _full_names(column, _tree(type_)):
            yield name, column


def _full_names(name: str, type_: _Type) -> Iterator[str]:
    yield name
    if type_.kind == "map":
        yield f"{name}.key"
    of = {"array": "element", "map": "value"}.get(type_.kind)
    for member, inner in type_.members:
        yield from _full_names(f"{name}.{of or member}", inner)


def document_sql(json: str, type_: str) -> str:
    """SQL of the value of a nested type that the text of the SQL expression ``json`` represents, NULL where there is none.

    The mark also shows that nothing follows the value: after it comes a second and last member, with the mark as its name.
    """
    tree = _tree(type_)
    wrapped = f"concat('{{\"v\":[', {marked_sql(json, _MARK)}, '],\"', {_MARK}, '\":0}}')"
    schema = string_literal(f"v array<{_texts_type(tree)}>, {_CORRUPT} string")
    parsed = f"from_json({_WRAPPED}, {schema}, {options_sql({**STRICT, 'columnNameOfCorruptRecord': _CORRUPT})})"
    value = f"{_PARSED}.v[0]"
    whole = f"{_PARSED}.{_CORRUPT} IS NULL AND json_object_keys({_WRAPPED}) = array('v', {_MARK}) AND size({_PARSED}.v) = 1"
    conditions = [whole, *([fits] if (fits := _fits_sql(value, tree, 0)) else [])]
    read = f"CASE WHEN {' AND '.join(conditions)} THEN {_value_sql(value, tree, 0)} END"
    converted = _let(_MARK, mark_sql(json), _let(_WRAPPED, wrapped, _let(_PARSED, parsed, read)))
    return f"CASE WHEN NOT {has_half_character_sql(json)} THEN {converted} END"


def _let(name: str, value: str, body: str) -> str:
    """SQL that computes ``value`` once for a ``body`` that uses it several times."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _tree(type_: str) -> _Type:
    kind, _, inner = type_.partition("<")
    if not is_nested(type_):
        return _Type(type_)
    parts = _split(inner.removesuffix(">"), ",")
    if kind == "array":
        return _Type(type_, kind, (("", _tree(parts[0])),))
    if kind == "map":
        return _Type(type_, kind, (("", _tree(parts[1])),))
    fields = [_split(part, ":", most=1) for part in parts]
    return _Type(type_, kind, tuple((_unquoted(name), _tree(of)) for name, of in fields))


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    """Split at separators outside brackets and back quotes."""
    parts = list[str]()
    depth, quoted, start = 0, False, 0
    for at, char in enumerate(text):
        if char == "`":
            quoted = not quoted
        elif not quoted:
            depth += (char in "<(") - (char in ">)")
            if char == separator and depth == 0 and len(parts) != most:
                parts.append(text[start:at].strip())
                start = at + 1
    return [*parts, text[start:].strip()]


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _texts_type(type_: _Type) -> str:
    """The type with strings in the place of values, in the syntax of Spark's parser."""
    return _written(type_, lambda leaf: leaf if leaf in _AS_SPARK_READS_THEM else "string")


def _written(type_: _Type, leaf: Callable[[str], str]) -> str:
    inner = [_written(of, leaf) for _, of in type_.members]
    match type_.kind:
        case "array":
            return f"array<{inner[0]}>"
        case "map":
            return f"map<string,{inner[0]}>"
        case "struct":
            return f"struct<{','.join(f'{quote(name)}:{of}' for (name, _), of in zip(type_.members, inner, strict=True))}>"
    return leaf(type_.text)


def _member_sql(text: str, type_: str) -> str:
    """SQL of a value that is not nested. A JSON string is no number, except for a decimal, and for NaN and infinity, which JSON lacks."""
    is_number, plain = f"startswith({text}, {_MARK})", plain_member_sql(text, _MARK)
    if type_ == "string":
        return plain
    if type_ in _INTEGERS:
        return f"CASE WHEN {is_number} THEN {text_value_sql(plain, type_)} END"
    if type_ in ("float", "double"):
        return f"CASE WHEN {is_number} OR {text} RLIKE {_NO_NUMBER} THEN {text_value_sql(plain, type_)} END"
    return text_value_sql(plain if decimal_of(type_) else text, type_)


def _value_sql(sql: str, type_: _Type, depth: int) -> str:
    """SQL of a value of ``type_`` from a value of `_texts_type`."""
    if not type_.kind:
        return sql if type_.text in _AS_SPARK_READS_THEM else _member_sql(sql, type_.text)
    one = f"_cdc_{depth}"
    if type_.kind == "array":
        return f"transform({sql}, {one} -> {_value_sql(one, type_.members[0][1], depth + 1)})"
    if type_.kind == "map":
        return f"transform_values({sql}, (_cdc_key, {one}) -> {_value_sql(one, type_.members[0][1], depth + 1)})"
    fields = ", ".join(f"{string_literal(name)}, {_value_sql(f'{sql}.{quote(name)}', of, depth)}" for name, of in type_.members)
    return f"CASE WHEN {sql} IS NOT NULL THEN named_struct({fields}) END"


def _fits_sql(sql: str, type_: _Type, depth: int) -> str | None:
    """SQL that is true where every text is a value of its type; None where any text is one."""
    if not type_.kind:
        always = type_.text == "string" or type_.text in _AS_SPARK_READS_THEM
        return None if always else f"({sql} IS NULL OR {_member_sql(sql, type_.text)} IS NOT NULL)"
    one = f"_cdc_{depth}"
    if type_.kind == "struct":
        every = [fits for name, of in type_.members if (fits := _fits_sql(f"{sql}.{quote(name)}", of, depth))]
        return f"({' AND '.join(every)})" if every else None
    inner = _fits_sql(one, type_.members[0][1], depth + 1)
    if type_.kind == "array":
        return f"coalesce(forall({sql}, {one} -> {inner}), true)" if inner else None
    # Spark would build a map that has a key twice, which no reader expects.
    once = f"coalesce(size(array_distinct(map_keys({sql}))) = size({sql}), true)"
    return f"{once} AND coalesce(forall(map_values({sql}), {one} -> {inner}), true)" if inner else once
