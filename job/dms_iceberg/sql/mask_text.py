"""The text that a mask is computed from: the same for equal values, whatever type a file gives them.

`CAST(value AS string)` shows the type as well: 1 is `1`, `1.00` or `1.0`, so a masked key would no longer find its row once files
have another type. So each masked column has one type that defines its texts: the declared type, or that of the first merged file, which the
table remembers. A value of another type has the text that it has in that type, if that type can hold it. Otherwise it has a text that no
value of that type has.
"""

from dms_iceberg.sql.types import decimal_of

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_CLOCKS = ("timestamp", "timestamp_ntz")
_FLOATING = ("float", "double")
_DIGITS = 38
# Decimals of these scales together hold every double that equals a decimal of any scale.
_SCALES = (0, 18, _DIGITS)


def is_plain(type_: str, of: str) -> bool:
    """Whether Spark's cast already gives values of ``type_`` their text, in a column whose texts are those of type ``of``."""
    if type_ == of or (type_ in _CLOCKS and of != "date") or (type_ == "date" and of not in _CLOCKS):
        return True
    scale = _scale(type_)
    if scale is None:
        return type_ not in (*_FLOATING, "date", *_CLOCKS)
    return scale == (_scale(of) or 0) and of not in _FLOATING


def text_sql(value: str, type_: str, of: str) -> str:
    """SQL of the text of ``value``.

    Args:
        value: SQL.
        type_: its Spark type.
        of: the type that defines the column's texts.
    """
    if type_ in _FLOATING:
        # -0.0 equals 0.0, though its text differs.
        value = f"({value} + {_cast('0', type_)})"
    if is_plain(type_, of):
        return _cast(value, "string")
    if type_ == "date":
        return _cast(_cast(value, "timestamp_ntz"), "string")
    if type_ in _CLOCKS:
        day = _cast(value, "date")
        return f"CASE WHEN {value} = {_cast(day, type_)} THEN {_cast(day, 'string')} ELSE {_cast(value, 'string')} END"
    # A float has the text of the double of the same value.
    return _floating_text(_cast(value, "double"), of) if type_ in _FLOATING else _exact_text(value, type_, of)


def _cast(value: str, type_: str) -> str:
    return f"CAST({value} AS {type_})"


def _scale(type_: str) -> int | None:
    """Digits after the decimal point of an integer or decimal type, None for another type."""
    found = decimal_of(type_)
    return 0 if type_ in _WHOLE else found[1] if found else None


def _exact_text(value: str, type_: str, of: str) -> str:
    """SQL of the text of an integer or decimal."""
    there = _as_decimal(value, _scale(of) or 0)
    held, text = f"{there} = {value}", _cast(there, "string")
    if of in _FLOATING:
        near = _cast(value, "double")
        held, text = f"try_cast({near} AS {type_}) = {value}", _floating_text(near, of)
    return f"CASE WHEN {value} IS NULL THEN NULL WHEN {held} THEN {text} ELSE {_beside(_shortest(value), of)} END"


def _floating_text(value: str, of: str) -> str:
    """SQL of the text of a double."""
    if of == "double":
        return _cast(value, "string")
    # Pairs of a cast that may hold the value (it does if the cast back to double returns the value), and the text that the value has then.
    held: list[tuple[str, str]] = []
    if of == "float":
        held.append((_cast(value, "float"), _cast(_cast(value, "float"), "string")))
    elif (scale := _scale(of)) is not None:
        held.append((_as_decimal(value, scale), _cast(_as_decimal(value, scale), "string")))
    held += [(there, _beside(_shortest(there), of)) for there in (_as_decimal(value, scale) for scale in _SCALES)]
    cases = [f"WHEN {_cast(there, 'double')} = {value} THEN {text}" for there, text in held]
    return f"CASE {' '.join(cases)} ELSE {_beside(_cast(value, 'string'), of)} END"


def _as_decimal(value: str, scale: int) -> str:
    return f"try_cast({value} AS decimal({_DIGITS},{scale}))"


def _beside(text: str, of: str) -> str:
    """A text for a value that type ``of`` cannot hold. Only float needs a suffix: it shows some values by the text of a neighbour: 0.1."""
    return f"concat({text}, 'd')" if of == "float" else text


def _shortest(value: str) -> str:
    """SQL of the text of an integer or decimal without trailing zeros. Spark writes 0.00000010 as `1.0E-7`, its zero as `0E-8`."""
    short = _cast(value, "string")
    for pattern, left in (("([.][0-9]*?)0+(?=E|$)", "$1"), ("[.](?=E|$)", "")):
        short = f"regexp_replace({short}, '{pattern}', '{left}')"
    return f"CASE WHEN {value} = 0 THEN '0' ELSE {short} END"
