"""The key of a rejected row, as the quarantine has it. SQL text."""

from collections.abc import Mapping

from dms_iceberg.changes.shape import Shape
from dms_iceberg.sql.cdc_columns import KEY_TEXT, PROBLEM, UNFIT
from dms_iceberg.sql.json_text import WHOLE, options_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import value_text

_REPLACED = "\ufffd"
"""JSON has it in place of bytes that are not UTF-8."""


def rejected_key_sql(shape: Shape) -> str:
    """SQL of a rejected row's key as JSON. If a part of it does not fit its type, all parts are texts, that one as the file has it.

    Such a key has the member `UNFIT` as well: its text may look like a key of silver, but be a date in another format than the declared
    one. A masked part has the hash of its text, so that different keys stay different and none is shown.
    """
    texts = {name: f"{KEY_TEXT}.{quote(name)}" for name in shape.key}
    lost = [f"({quote(name)} IS NULL AND {text} IS NOT NULL)" for name, text in texts.items()]
    whole = f"to_json(struct({', '.join(_exact(name, shape.types[name]) for name in shape.key)}), {options_sql(WHOLE)})"
    damaged = "true" if _has_masked_text(shape) else f"contains({whole}, {string_literal(_REPLACED)})"
    parts = ", ".join(f"coalesce({value_text(name, shape.types[name])}, {text}) AS {quote(name)}" for name, text in texts.items())
    shown = f"to_json(struct({parts}, true AS {UNFIT}), {options_sql(WHOLE)})"
    return f"CASE WHEN {' OR '.join(lost)} OR (startswith({PROBLEM}, 'encoding:') AND {damaged}) THEN {shown} ELSE {whole} END"


def _exact(name: str, type_: str) -> str:
    """SQL of a part whose JSON is read back as the same value, also once its column is wider: a float's text is another double.

    Equal values have one text: -0.0 is 0.0.
    """
    return f"CAST({quote(name)} AS double) + 0.0D AS {quote(name)}" if type_ in ("float", "double") else quote(name)


def _has_masked_text(shape: Shape) -> bool:
    """Whether a hash may be that of bytes that are not UTF-8, which it does not show."""
    return any(one.is_key and one.declared.mask and one.declared.type in (None, "string") for one in shape.columns)


def silver_key_sql(text: str, types: Mapping[str, str]) -> str:
    """SQL of a struct with the key of silver that a rejected row has; NULL where it is none that silver can have.

    Keys are compared by these values, as a MERGE does: -0.0 is 0.0, though their texts differ.

    Args:
        text: SQL of what `rejected_key_sql` wrote.
        types: Spark type by key column.
    """
    schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in types.items())
    read = f"from_json({text}, {string_literal(schema)}, {options_sql(WHOLE)})"
    has_all = " AND ".join(f"{read}.{quote(name)} IS NOT NULL" for name in types)
    return f"CASE WHEN size(json_object_keys({text})) = {len(types)} AND {has_all} THEN {read} END"
