"""SQL that writes rows as JSON without loss: by default Spark drops NULLs and cuts times to milliseconds."""

from collections.abc import Mapping, Sequence

from dms_iceberg.sql.quoting import quote, string_literal

TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
"""Options of `to_json` for text that is only compared, to find equal rows: a NULL equals a missing column."""
WHOLE = {"ignoreNullFields": "false", **TIMES, "dateFormat": "yyyy-MM-dd"}
"""Options of `to_json` for text that is read again, and of `from_json` for reading it."""


def options_sql(options: Mapping[str, str]) -> str:
    """SQL of the options of `to_json` and `from_json`."""
    return f"map({', '.join(f'{string_literal(name)}, {string_literal(value)}' for name, value in options.items())})"


def json_sql(columns: Sequence[str]) -> str:
    """SQL of one JSON object with the full values of ``columns``, NULLs included."""
    return f"to_json(struct({', '.join(quote(name) for name in columns)}), {options_sql(WHOLE)})"
