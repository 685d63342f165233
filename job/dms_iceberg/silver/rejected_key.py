"""The key of a rejected row, as the quarantine has it. SQL text."""

from collections.abc import Mapping

from dms_iceberg.changes.shape import Shape
from dms_iceberg.sql.cdc_columns import KEY_TEXT
from dms_iceberg.sql.json_text import WHOLE, json_sql, options_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import value_text

_WITHOUT_NULLS = {**WHOLE, "ignoreNullFields": "true"}


def rejected_key_sql(shape: Shape) -> str:
    """SQL of a rejected row's key as JSON. If a part of it does not fit its type, all parts are texts, that one as the file has it.

    Such a part is NULL if its text looks like a key all the same: a date in another format than the declared one.
    """
    texts = {name: f"{KEY_TEXT}.{quote(name)}" for name in shape.key}
    lost = " OR ".join(f"({quote(name)} IS NULL AND {text} IS NOT NULL)" for name, text in texts.items())
    parts = ", ".join(f"coalesce({value_text(name, shape.types[name])}, {text}) AS {quote(name)}" for name, text in texts.items())
    shown = f"to_json(struct({parts}), {options_sql(WHOLE)})"
    is_none = f"{silver_key_text_sql(shown, {name: shape.types[name] for name in shape.key})} IS NULL"
    return f"CASE WHEN ({lost}) AND {is_none} THEN {shown} ELSE {json_sql(shape.key)} END"


def silver_key_text_sql(text: str, types: Mapping[str, str]) -> str:
    """SQL of the `json_sql` that the row of silver with a rejected row's key has; NULL where the key is none that silver can have.

    Args:
        text: SQL of what `rejected_key_sql` wrote; its parts are in the order of the files' columns.
        types: Spark type by key column, in the order of the `json_sql`.
    """
    schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in types.items())
    # A part that is NULL, or that its type does not read, is missing in what is written back.
    written = f"to_json(from_json({text}, {string_literal(schema)}, {options_sql(WHOLE)}), {options_sql(_WITHOUT_NULLS)})"
    parts = [f"array_sort(map_entries(from_json({one}, 'map<string,string>')))" for one in (written, text)]
    # The parts do not show quotes, but the length does: 1 is a number of silver, and "1" the text of a key that does not fit.
    is_same = f"size({parts[0]}) = {len(types)} AND {' = '.join(parts)} AND length({written}) = length({text})"
    return f"CASE WHEN {is_same} THEN {written} END"
