"""Which silver columns a table has, and the SQL that computes each from source columns. Pure; types are resolved elsewhere."""

from collections.abc import Mapping, Sequence

import attrs

from dms_iceberg.config.check_context import SALT_PREFIX
from dms_iceberg.config.datetime_pattern import exact_pattern, zone_names
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Column, Mask, OtherColumns, Table
from dms_iceberg.errors import ConfigError
from dms_iceberg.sql.json_documents import document_sql, is_nested, quoted_type
from dms_iceberg.sql.mask_text import text_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.text_values import is_cast_lenient, is_text_sql, text_value_sql
from dms_iceberg.sql.types import canonical, guesses_unit, is_castable, stored


@attrs.frozen
class SilverColumn:
    """One silver column of a table.

    Attributes:
        source: the source column that it copies, None for an expression.
        is_key: whether it is part of the silver key.
        declared: its entry in the configuration; a column kept by ``other_columns`` has a default one.
        retired: the table has it, but the configuration leaves it out: NULL from now on, and no filter, rule or expression reads it.
        family: silver columns that share the source column, each for values of its type, this one included; empty for most.
    """

    name: str
    source: str | None
    is_key: bool
    declared: Column
    retired: bool = False
    family: tuple[str, ...] = ()

    @property
    def copies(self) -> str | None:
        """The source column that determines this column's type: None for an expression, and for the further columns of a family."""
        return self.source if self.name in self.family[:1] or not self.family else None

    @property
    def type(self) -> str | None:
        """The type that the configuration fixes: the declared one, or text for a masked column."""
        return "string" if self.declared.mask else self.declared.type

    def base_sql(self, source_type: str | None) -> str:
        """SQL of the value before casting. ``source_type`` is None where it is unknown (an expression); only text is trimmed."""
        sql = quote(self.source) if self.source is not None else f"({self.declared.expr})"
        return f"trim({sql})" if self.declared.trim and source_type in (None, "string") else sql


def silver_columns(table: Table, source: Sequence[str]) -> tuple[SilverColumn, ...]:
    """Return the silver columns of ``table`` when its files have the columns ``source``: declared ones first, then kept ones.

    A source column that ``columns`` names is not kept a second time; ``columns`` has precedence over ``drop``, ``drop`` over
    ``other_columns``. Key columns are always among them.

    Raises:
        ConfigError: two silver columns would differ in case only.
    """
    keys = {key.lower() for key in table.key}
    declared_key = {c.source_name.lower() for c in table.columns if c.source_name is not None and c.source_name.lower() in keys} | {
        c.name.lower() for c in table.columns if c.expr is not None and c.name.lower() in keys
    }
    spelled: dict[str, str] = {}
    for name in source:
        spelled.setdefault(name.lower(), name)
    columns = []
    taken_keys: set[str] = set()
    for column in table.columns:
        of = (column.source_name or column.name).lower()
        is_key = of in keys and of not in taken_keys
        if is_key:
            taken_keys.add(of)
        copied = column.source_name
        columns.append(SilverColumn(column.name, spelled.get(copied.lower(), copied) if copied is not None else None, is_key, column))
    named = {c.source_name.lower() for c in table.columns if c.source_name} | {c.name.lower() for c in table.columns}
    dropped = {name.lower() for name in table.drop}
    for name in source:
        is_key = name.lower() in keys and name.lower() not in declared_key
        kept = table.other_columns is OtherColumns.KEEP and name.lower() not in named and name.lower() not in dropped
        if kept or is_key:
            columns.append(SilverColumn(name, name, is_key, Column(name=name)))
    _refuse_twins(table, columns)
    return tuple(columns)


def _refuse_twins(table: Table, columns: Sequence[SilverColumn]) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.name.lower(), column.name)
        if other is not column.name and other != column.name:
            raise ConfigError(
                [
                    f'tables."{table.source}": silver columns {other!r} and {column.name!r} differ in case only, which Spark and '
                    "Athena take for one. Rename one of them with columns[].name, or drop it."
                ]
            )


def typed_sql(column: SilverColumn, source_type: str | None, type_: str, of: str | None = None) -> str:
    """SQL of the value in its type, NULL where it does not fit.

    Args:
        column: the silver column.
        source_type: Spark type of the source column, None where it is unknown (an expression).
        type_: Spark type of the silver column.
        of: the type that defines the texts of a column that is text (`sql.mask_text`); None for the text of Spark's cast.
    """
    base = column.base_sql(source_type)
    if column.declared.mask:
        # The mask converts it to text later; rules and filters see the value in its declared type.
        if column.declared.type is None:
            return base
        type_ = column.declared.type
    if column.declared.format and type_ in ("timestamp", "timestamp_ntz", "date"):
        parsed = _parsed_time(f"CAST({base} AS string)", column.declared.format)
        return parsed if type_ == "timestamp" else f"CAST({parsed} AS {type_})"
    if source_type == type_:
        return base
    if is_json(source_type, type_):
        return _document(base, column.declared.type, type_)
    if source_type == "string":
        return text_value_sql(base, type_)
    if type_ == "string" and source_type is not None:
        return _text_of(base, source_type, of)
    if source_type is not None and (not is_castable(source_type, type_) or guesses_unit(source_type, type_)):
        return f"CAST(NULL AS {type_})"
    value = f"try_cast({base} AS {type_})"
    if source_type is None and is_cast_lenient(type_):
        # Text from an expression must be a value as strictly as text from a file; Spark resolves `typeof` before it runs.
        return f"CASE WHEN typeof({base}) = 'string' THEN {text_value_sql(f'CAST({base} AS string)', type_)} ELSE {value} END"
    return value


def _text_of(value: str, type_: str, of: str | None) -> str:
    """SQL of the text of a value that is none."""
    if type_ == "binary":
        return f"CASE WHEN {is_text_sql(value)} THEN CAST({value} AS string) END"
    return text_sql(value, type_, of) if of is not None else f"try_cast({value} AS string)"


def is_json(source_type: str | None, type_: str) -> bool:
    """Whether values of ``type_`` are parsed from JSON text."""
    return source_type == "string" and is_nested(type_)


def _document(json: str, declared: str | None, type_: str) -> str:
    """SQL of a nested value. The table may spell field names in another case; JSON members have the declared spelling."""
    wanted = stored(canonical(declared or type_))
    if wanted == type_ or wanted.lower() != type_.lower():
        return document_sql(json, type_)
    return f"CAST({document_sql(json, wanted)} AS {quoted_type(type_)})"


def _parsed_time(text: str, pattern: str) -> str:
    """SQL of the time that a text is in a pattern; NULL where it is none, or has digits that a microsecond does not hold."""
    parsed = f"try_to_timestamp({text}, {string_literal(exact_pattern(pattern))})"
    names = zone_names(pattern)
    return parsed if names is None else f"CASE WHEN {text} RLIKE {string_literal(names)} THEN {parsed} END"


def masked_sql(name: str, mask: Mask, salt_column: str | None, text: str | None = None) -> str:
    """SQL of a masked value; NULL stays NULL. The salt is in a column, so that no query plan contains it.

    Args:
        name: the column.
        mask: the mask to apply.
        salt_column: the column with the salt.
        text: SQL of the value's text (`mask_text.text_sql`); None for the text of Spark's cast.
    """
    value = text or f"CAST({quote(name)} AS string)"
    match mask:
        case Mask.SHA256:
            return f"sha2(concat({salt_column}, {value}), 256)" if salt_column else f"sha2({value}, 256)"
        case Mask.REDACT:
            return f"CASE WHEN {value} IS NOT NULL THEN '***' END"
        case Mask.PARTIAL:
            length = f"length({value})"
            return f"CASE WHEN {length} > 4 THEN concat(repeat('*', {length} - 4), right({value}, 4)) ELSE repeat('*', {length}) END"


def salt_names(columns: Sequence[SilverColumn]) -> Mapping[str, str]:
    """Return the names of salt columns by salt reference, for the salts that ``columns`` use."""
    references = dict.fromkeys(c.declared.mask_salt for c in columns if c.declared.mask is Mask.SHA256 and c.declared.mask_salt)
    return {reference: f"{SALT_PREFIX}{number}" for number, reference in enumerate(references)}


def backfill_text(value: str | int | float | bool) -> str:
    """Return a configured value as text that Spark's casts read."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def sources_of(column: SilverColumn) -> set[str]:
    """Return the source columns that a silver column is computed from; none for a retired one."""
    if column.source is not None:
        return {column.source}
    return set(referenced_columns(column.declared.expr)) if column.declared.expr else set()
