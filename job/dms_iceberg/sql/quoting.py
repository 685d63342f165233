"""Quoting of names and values for Spark SQL: the only place that puts them into SQL text.

The session runs with ``spark.sql.variable.substitute=false``, otherwise ``${...}`` inside a literal would be replaced.
"""

from collections.abc import Iterable

# Not \0 for NUL: digits that follow would turn it into an octal escape (Spark's `ParserUtils.unescapeSQLString`).
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\u0000"}
_REPLACEMENT = "\ufffd"


def quote(name: str) -> str:
    """Return ``name`` as a back-quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


def quote_path(parts: Iterable[str]) -> str:
    """Return a multi-part name, each part quoted: catalog, namespace, table."""
    return ".".join(quote(part) for part in parts)


def string_literal(value: str) -> str:
    """Return ``value`` as a Spark SQL string literal (``spark.sql.parser.escapedStringLiterals=false``)."""
    return "'" + "".join(_ESCAPES.get(char, char) for char in value) + "'"


def timestamp_literal(digits: str) -> str:
    """Return a UTC time (``yyyyMMddHHmmss`` and fraction) as a literal, truncated to the hundredths of a second that positions have."""
    return f"TIMESTAMP '{digits[:4]}-{digits[4:6]}-{digits[6:8]} {digits[8:10]}:{digits[10:12]}:{digits[12:14]}.{digits[14:16]}'"


def typed_literal(text: str, spark_type: str) -> str | None:
    """Return a literal of ``spark_type`` for the value that Spark shows as ``text``, None when the text may not be the exact value.

    Bytes that are not UTF-8 reach Python as the replacement character, so a text with that character may stand for other bytes.
    """
    if spark_type in ("tinyint", "smallint", "int", "bigint"):
        return f"CAST({int(text)} AS {spark_type})"
    if spark_type == "string":
        return string_literal(text) if _REPLACEMENT not in text else None
    return f"CAST({string_literal(text)} AS {spark_type})"
