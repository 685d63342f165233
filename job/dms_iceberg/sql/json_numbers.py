"""SQL that reads JSON numbers with every digit that is written.

Spark 3.5 returns a member as text by copying it from Jackson's parser to its generator, and a number goes through a double on the way:
``1.10`` becomes ``1.1``, ``12345678901234567.89`` becomes ``1.2345678901234568E16``, ``1e400`` becomes ``"Infinity"``
(`JsonGenerator.copyCurrentStructure`; SPARK-47704 corrects it for Spark 4). So each number becomes a string between two marks before
parsing, and the marks are removed afterwards, also within nested documents. The mark is the MD5 of the JSON itself, which the JSON cannot
contain: no other text is taken for a mark.
"""

from dms_iceberg.sql.quoting import string_literal

STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
"""Options of `from_json` for marked JSON: the forms that it accepts by default would hide numbers from `marked_sql`."""

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|NaN|-?Infinity"
# Matches from number to number, over strings and what is neither, without backtracking: linear, and without recursion. Text that is not
# JSON stays as it is, and does not parse.
_NUMBERS = rf'(?s)\G((?:[^"0-9NI-]++|{_STRING})*+)({_NUMBER})(?=[ \t\r\n]*+(?:[,\]}}]|\z))'
_MARK_LENGTH = 32
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_WHOLE_CHARACTERS = rf"(?s)^(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|{_HIGH}{_LOW})*+\z"


def mark_sql(json: str) -> str:
    """SQL of the mark for some JSON."""
    return f"md5({json})"


def marked_sql(json: str, mark: str) -> str:
    """SQL of JSON with a marked string in the place of each number. ``NaN`` and ``Infinity`` are numbers, as many writers write them."""
    return f"regexp_replace({json}, {string_literal(_NUMBERS)}, concat('$1\"', {mark}, '$2', {mark}, '\"'))"


def plain_member_sql(text: str, mark: str) -> str:
    """SQL of a member's text without marks: numbers as they are written, in nested documents without the quotes."""
    # Only numbers and nested documents have marks, and few members are either.
    nested = f"replace(replace({text}, concat('\"', {mark}), ''), concat({mark}, '\"'), '')"
    number = f"substr({text}, {_MARK_LENGTH + 1}, length({text}) - {2 * _MARK_LENGTH})"
    return (
        f"CASE WHEN startswith({text}, {mark}) THEN {number} "
        f"WHEN startswith({text}, '{{') OR startswith({text}, '[') THEN {nested} ELSE {text} END"
    )


def has_half_character_sql(json: str) -> str:
    r"""SQL that is true for JSON with an escape of half a surrogate pair (``\ud800``), which Spark replaces with a question mark."""
    suspect = " OR ".join(f"contains({json}, {string_literal(start)})" for start in ("\\ud", "\\uD"))
    return f"(({suspect}) AND NOT {json} RLIKE {string_literal(_WHOLE_CHARACTERS)})"
