"""Numbers of JSON with every digit that is written. SQL text.

Spark 3.5 gives a member as text by copying it from Jackson's parser to its generator, and a number goes through a double on the way:
``1.10`` becomes ``1.1``, ``12345678901234567.89`` becomes ``1.2345678901234568E16``, ``1e400`` becomes ``"Infinity"``
(`JsonGenerator.copyCurrentStructure`; SPARK-47704 mends it for Spark 4). So each number is made a text between two marks before anything
is parsed, and taken out of them afterwards, also within nested documents. The mark is the MD5 of the JSON itself, which the JSON cannot
contain: nothing else is ever taken for one.
"""

from dms_iceberg.sql.quoting import string_literal

STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of `from_json` for marked JSON: what it is lenient with would hide numbers from `marked_sql`."""

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|NaN|-?Infinity"
# From number to number, over texts and what is neither, with nothing to go back to: linear, and without recursion. What is no JSON
# stays as it is, and does not parse.
_NUMBERS = rf'(?s)\G((?:[^"0-9NI-]++|{_STRING})*+)({_NUMBER})(?=[ \t\r\n]*+(?:[,\]}}]|\z))'
_MARK_LENGTH = 32
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_WHOLE_CHARACTERS = rf"(?s)^(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|{_HIGH}{_LOW})*+\z"


def mark_sql(json: str) -> str:
    """SQL of the mark for some JSON."""
    return f"md5({json})"


def marked_sql(json: str, mark: str) -> str:
    """SQL of JSON with a text in the place of each number. ``NaN`` and ``Infinity`` are numbers, as many writers have them."""
    return f"regexp_replace({json}, {string_literal(_NUMBERS)}, concat('$1\"', {mark}, '$2', {mark}, '\"'))"


def plain_member_sql(text: str, mark: str) -> str:
    """SQL of a member's text without marks: numbers as they are written, in nested documents without the quotes."""
    # Only these have marks, and not many do.
    nested = f"replace(replace({text}, concat('\"', {mark}), ''), concat({mark}, '\"'), '')"
    number = f"substr({text}, {_MARK_LENGTH + 1}, length({text}) - {2 * _MARK_LENGTH})"
    return (
        f"CASE WHEN startswith({text}, {mark}) THEN {number} "
        f"WHEN startswith({text}, '{{') OR startswith({text}, '[') THEN {nested} ELSE {text} END"
    )


def has_half_character_sql(json: str) -> str:
    r"""SQL that is true for JSON with an escape of half a character (``\ud800``), of which Spark makes a question mark."""
    suspect = " OR ".join(f"contains({json}, {string_literal(start)})" for start in ("\\ud", "\\uD"))
    return f"(({suspect}) AND NOT {json} RLIKE {string_literal(_WHOLE_CHARACTERS)})"
