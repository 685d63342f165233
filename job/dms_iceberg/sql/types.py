"""Spark types as text: which are the same, and which widen into which without losing a value (Iceberg spec, "Schema Evolution")."""

import re

_SHORT = re.compile(r"(?:^|(?<=[<:,]))(?:tinyint|smallint)(?=[>,]|$)")
"""Matches these words as types, also within nested types; a field of a struct may have such a name."""
_WORD = re.compile(r"`(?:[^`]|``)*`|[^<>,:()`]+:?")
"""A field's name ends with a colon."""
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_SYNONYMS = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "decimal": "decimal(10,0)",
    "numeric": "decimal(10,0)",
    "dec": "decimal(10,0)",
}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}


def canonical(type_: str) -> str:
    """Return the canonical spelling of a type: Spark's ``simpleString``. Names of fields keep their case, as JSON members have it."""
    text = re.sub(r"\s*([,():<>])\s*", r"\1", type_.strip())
    text = _WORD.sub(lambda word: word[0] if word[0].endswith((":", "`")) else word[0].lower(), text)
    text = re.sub(r"^(numeric|dec)\(", "decimal(", text)
    text = re.sub(r"^(decimal\(\d+)\)", r"\1,0)", text)
    return _SYNONYMS.get(text, text)


def stored(type_: str) -> str:
    """Return the type an Iceberg column of ``type_`` has when Spark reads it back (Iceberg has no 8- and 16-bit integers)."""
    return _SHORT.sub("int", type_)


def decimal_of(type_: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type, None for another."""
    found = _DECIMAL.fullmatch(type_)
    return (int(found[1]), int(found[2])) if found else None


def is_number(type_: str) -> bool:
    """Whether a type is an integer, decimal or floating point type."""
    return type_ in (*_INTEGERS, "float", "double") or decimal_of(type_) is not None


_CLOCKS = ("timestamp", "timestamp_ntz")
_NO_CAST = {
    "number": ("binary", "date", "timestamp_ntz"),
    "boolean": ("binary", "date", *_CLOCKS),
    "binary": ("number", "boolean", "date", *_CLOCKS),
    "date": ("number", "boolean", "binary"),
    "timestamp": ("boolean", "binary"),
    "timestamp_ntz": ("number", "boolean", "binary"),
}


def is_castable(from_type: str, to_type: str) -> bool:
    """Whether Spark has a cast between two types at all; without one, the whole statement fails."""
    if ("<" in from_type) != ("<" in to_type):
        return canonical(to_type) == "string"
    kinds = ["number" if is_number(type_) else type_ for type_ in (canonical(from_type), canonical(to_type))]
    return kinds[1] not in _NO_CAST.get(kinds[0], ())


def guesses_unit(from_type: str, to_type: str) -> bool:
    """Whether Spark's cast reads a number as the seconds of a time, or returns a time in seconds: milliseconds are as common."""
    numbers = [is_number(canonical(type_)) for type_ in (from_type, to_type)]
    return any(numbers) and "timestamp" in (canonical(from_type), canonical(to_type))


def widens(old: str, new: str) -> bool:
    """Whether Iceberg can promote a column of type ``old`` to ``new``: int to bigint, float to double, a decimal's precision."""
    if (old, new) in {("int", "bigint"), ("float", "double")}:
        return True
    before, after = decimal_of(old), decimal_of(new)
    return bool(before and after and before[1] == after[1] and before[0] < after[0])


def common(left: str, right: str) -> str | None:
    """Return the narrowest type that holds every value of both, None when only text can hold them."""
    if left == right:
        return left
    if left in _INTEGERS and right in _INTEGERS:
        return max(left, right, key=_INTEGERS.index)
    if {left, right} == {"float", "double"}:
        return "double"
    left, right = _as_decimal(left), _as_decimal(right)
    first, second = decimal_of(left), decimal_of(right)
    if first and second:
        scale = max(first[1], second[1])
        precision = max(first[0] - first[1], second[0] - second[1]) + scale
        return f"decimal({precision},{scale})" if precision <= 38 else None
    return None


def _as_decimal(type_: str) -> str:
    return f"decimal({_INTEGER_DIGITS[type_]},0)" if type_ in _INTEGER_DIGITS else type_


def fits(value_type: str, column_type: str) -> bool:
    """Whether every value of ``value_type`` can be stored in a column of ``column_type`` unchanged. The case of names does not count."""
    return value_type.lower() == column_type.lower() or common(value_type, column_type) == column_type


def keeps_all(from_type: str, to_type: str) -> bool:
    """Whether a cast between these types of files and tables keeps every value for which it does not return NULL.

    A timestamp that becomes a date loses its time of day, as declared.
    """
    clocks = ("timestamp", "timestamp_ntz")
    if is_number(from_type):
        whole = from_type in _INTEGERS
        return not (to_type == "boolean" or (to_type in clocks and not whole) or (is_number(to_type) and not fits(from_type, to_type)))
    return not (from_type in clocks and is_number(to_type))


VOID = "void"
"""Spark's type of a column that holds only NULL: such a file does not show the type of the column's values."""
