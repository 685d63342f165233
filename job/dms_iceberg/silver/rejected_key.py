"""The key of a rejected row, as the quarantine has it. SQL text."""

from dms_iceberg.changes.shape import Shape
from dms_iceberg.sql.cdc_columns import KEY_TEXT
from dms_iceberg.sql.json_text import WHOLE, json_sql, options_sql
from dms_iceberg.sql.quoting import quote
from dms_iceberg.sql.value_text import value_text


def rejected_key_sql(shape: Shape) -> str:
    """SQL of a rejected row's key as JSON. If a part of it does not fit its type, all parts are texts, that one as the file has it."""
    texts = {name: f"{KEY_TEXT}.{quote(name)}" for name in shape.key}
    lost = " OR ".join(f"({quote(name)} IS NULL AND {text} IS NOT NULL)" for name, text in texts.items())
    shown = ", ".join(f"coalesce({value_text(name, shape.types[name])}, {text}) AS {quote(name)}" for name, text in texts.items())
    return f"CASE WHEN {lost} THEN to_json(struct({shown}), {options_sql(WHOLE)}) ELSE {json_sql(shape.key)} END"
