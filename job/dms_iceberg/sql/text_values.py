"""SQL that converts text to a value of another type, or to NULL where the text is not exactly such a value.

Spark's own casts accept more: ``2026-03-01 garbage`` as a date, ``+02`` at a wall clock, ``2026`` as the first of January, ``1d``,
``0x1p3`` and ``1e400`` as doubles, a time without a date as one of today. Here the whole text must have the form of a value. Spark's casts
decide only what the form does not show, such as the days of a month. ``docs/configuration.md`` says which texts are values of which type.
"""

from collections.abc import Sequence
from itertools import chain

from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import decimal_of

_BETWEEN = "'\\n'"
# White space and control characters, which Spark's casts ignore at both ends.
_EDGE = r"[\x00-\x20]*"
# Not $, which also matches before a line feed at the end.
_END = r"\z"
_DATE = r"[+-]?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}"
_MINUTES = r"[ T][0-9]{1,2}:[0-9]{1,2}"
# Spark would drop digits after the microseconds.
_SECONDS = r":[0-9]{1,2}(?:[.][0-9]{0,6}0*)?"
_ANY_SECONDS = r":[0-9]{1,2}(?:[.][0-9]*)?"
_OFFSET = r" ?(?:Z|UTC|GMT|(?:UTC|GMT)?[+-](?:[0-9]{1,2}(?::[0-9]{2}(?::[0-9]{2})?)?|[0-9]{4}|[0-9]{6}))"
# A wall clock with another offset may mean that clock or the instant: nothing shows which.
_NO_OFFSET = r" ?(?:Z|UTC|GMT|(?:UTC|GMT)?[+-](?:00?(?::00(?::00)?)?|0000|000000))"
_NUMBER = r"[+-]?(?=[.]?[0-9])[0-9]*(?:[.][0-9]*)?(?:[eE][+-]?[0-9]+)?"
_WITH_EXPONENT = r"[+-]?(?=[.]?[0-9])[0-9]*(?:[.][0-9]*)?[eE][+-]?[0-9]{1,9}"
_INFINITE = r"[+-]?(?i:inf(?:inity)?)"
_NAN = r"[+-]?(?i:nan)"
# Numbers that can neither overflow nor underflow the type.
_PLAIN_NUMBER = {
    "double": r"[+-]?(?=[.]?[0-9])[0-9]{0,99}(?:[.][0-9]{0,99})?(?:[eE][+-]?[0-9]{1,2})?",
    "float": r"[+-]?(?=[.]?[0-9])[0-9]{0,8}(?:[.][0-9]{0,12})?(?:[eE][+-]?[0-2]?[0-9])?",
}


def text_value_sql(text: str, type_: str) -> str:
    """SQL of the value of ``type_`` that the SQL ``text`` represents, with all its digits; NULL where it is not exactly a value."""
    value = f"try_cast({text} AS {type_})"
    if type_ == "date":
        with_time = _is(text, _moment(_ANY_SECONDS, _NO_OFFSET))
        return f"CASE WHEN {_is(text, _DATE)} THEN {value} WHEN {with_time} THEN CAST(try_cast({text} AS timestamp_ntz) AS date) END"
    if type_ in ("timestamp", "timestamp_ntz"):
        moment = _moment(_SECONDS, _OFFSET if type_ == "timestamp" else _NO_OFFSET)
        return f"CASE WHEN {_is(text, f'{_DATE}|{moment}')} THEN {value} END"
    if type_ in _PLAIN_NUMBER:
        finite = f"abs({value}) < CAST('Infinity' AS double)"
        # A number other than zero must not become zero.
        shown = f"({value} <> 0 OR NOT {text} RLIKE '^[^eE]*[1-9]')"
        return (
            f"CASE WHEN {_is(text, _PLAIN_NUMBER[type_])} THEN {value} WHEN {_is(text, _NUMBER)} THEN CASE WHEN {finite} AND {shown} "
            f"THEN {value} END WHEN {_is(text, _INFINITE)} THEN {value} WHEN {_is(text, _NAN)} THEN CAST('NaN' AS {type_}) END"
        )
    if decimal := decimal_of(type_):
        return _decimal_sql(text, type_, decimal[1])
    if type_ == "binary":
        # DMS writes bytes into text formats as hexadecimal digits. Spark accepts an odd number of digits and puts a zero before them.
        return f"CASE WHEN octet_length({text}) % 2 = 0 THEN unhex({text}) END"
    return value


def is_cast_lenient(type_: str) -> bool:
    """Whether Spark's cast to ``type_`` accepts texts that are no value of it. Of binary it accepts any, and takes the digits for bytes."""
    return type_ in ("date", "timestamp", "timestamp_ntz", "binary", *_PLAIN_NUMBER) or decimal_of(type_) is not None


def is_text_sql(data: str) -> str:
    """SQL that is true for text, or bytes, in valid UTF-8: decoding replaces anything else, so that it differs from the original bytes."""
    return f"decode(CAST({data} AS binary), 'UTF-8') = CAST({data} AS string)"


def are_texts_sql(names: Sequence[str]) -> str:
    """SQL that is true for a row whose text columns are all UTF-8, NULLs apart.

    They are joined and decoded at once, which costs half of decoding each. A line feed between two of them keeps their bytes from forming
    one character.
    """
    if not names:
        return "true"
    texts = [f"coalesce({quote(name)}, '')" for name in names]
    return is_text_sql(texts[0] if len(texts) == 1 else f"concat({', '.join(chain.from_iterable((text, _BETWEEN) for text in texts))})")


def _moment(seconds: str, zone: str) -> str:
    return f"{_DATE}{_MINUTES}(?:{seconds}(?:{zone})?)?"


def _is(text: str, pattern: str) -> str:
    """SQL that is true where the whole text matches the pattern."""
    return f"{text} RLIKE {string_literal(rf'^{_EDGE}(?:{pattern}){_EDGE}' + _END)}"


def _decimal_sql(text: str, type_: str, scale: int) -> str:
    """Trailing zeros do not count as digits that could be lost. With an exponent the decimal point moves, so the digits are counted."""
    value = f"try_cast({text} AS {type_})"
    plain = rf"[+-]?(?=[.]?[0-9])[0-9]*(?:[.][0-9]{{0,{scale}}}0*)?"
    fraction = f"regexp_extract({text}, {string_literal('[.]([0-9]*)')}, 1)"
    digits = f"regexp_replace(regexp_extract({text}, {string_literal('([0-9.]+)[eE]')}, 1), '[.]', '')"
    exponent = f"CAST(regexp_extract({text}, {string_literal('[eE]([+-]?[0-9]+)')}, 1) AS int)"
    scale_needed = f"length({fraction}) - {exponent} - length({digits}) + length(trim(TRAILING '0' FROM {digits}))"
    return (
        f"CASE WHEN {_is(text, plain)} THEN {value} WHEN NOT {_is(text, _WITH_EXPONENT)} THEN NULL "
        f"WHEN NOT {digits} RLIKE '[1-9]' THEN CAST(0 AS {type_}) WHEN {scale_needed} <= {scale} THEN {value} END"
    )
