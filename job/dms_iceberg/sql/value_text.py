"""SQL that writes a value of a silver column as one text."""

from dms_iceberg.sql.quoting import quote

# By default, wall clocks would have milliseconds.
_TIME = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_NESTED_OPTIONS = f"map('timestampFormat', '{_TIME}', 'timestampNTZFormat', '{_TIME}', 'ignoreNullFields', 'false')"


def value_text(name: str, type_: str) -> str:
    """SQL of a value's one text; NULL for NULL.

    As text, NaN equals NaN, and -0.0 differs from 0.0; comparisons and hashes of numbers treat them otherwise.
    """
    column = quote(name)
    if type_.startswith(("array<", "struct<", "map<")):
        return f"to_json({column}, {_NESTED_OPTIONS})"
    if type_ == "binary":
        return f"hex({column})"
    return column if type_ == "string" else f"CAST({column} AS string)"


def comparable(name: str, type_: str) -> str:
    """SQL of a value that Spark can hash and compare: the value itself, but a text of what has a map."""
    return value_text(name, type_) if "map<" in type_ else quote(name)
