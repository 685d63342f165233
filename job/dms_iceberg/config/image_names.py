"""Names of before-image columns: the values of a row before its change (DMS mapping rule ``add-before-image-columns``)."""

from collections.abc import Iterable, Iterator

from dms_iceberg.config.expressions import ExpressionError, referenced_columns
from dms_iceberg.config.model import Change, Column, Table


def image_of(change: Change, column: str) -> str | None:
    """Return the name of a column's before-image, None if the files have none."""
    if not (change.before_image_prefix or change.before_image_suffix):
        return None
    return f"{change.before_image_prefix or ''}{column}{change.before_image_suffix or ''}"


def imaged(change: Change, name: str) -> str | None:
    """Return, in lower case, the column whose before-image would have this name; None if there is no such column."""
    prefix, suffix, folded = (change.before_image_prefix or "").lower(), (change.before_image_suffix or "").lower(), name.lower()
    if not (prefix or suffix) or not (folded.startswith(prefix) and folded.endswith(suffix)):
        return None
    return folded[len(prefix) : len(folded) - len(suffix)] if len(folded) > len(prefix) + len(suffix) else None


def image_settings(change: Change) -> dict[str, str]:
    """Return the settings of ``bronze.change`` that identify before-images, with their values."""
    settings = {"before_image_prefix": change.before_image_prefix, "before_image_suffix": change.before_image_suffix}
    return {key: value for key, value in settings.items() if value}


def affixes(change: Change) -> str:
    """Return a text that says how before-images are recognised, for messages."""
    named = [f"bronze.change.{key} is {value!r}" for key, value in image_settings(change).items()]
    return " and ".join(named) or "bronze.change.before_image_prefix is null"


def declared_sources(table: Table) -> set[str]:
    """Return, in lower case, the source columns that the configuration declares: in ``key``, ``columns`` and ``source_columns``."""
    copied = (column.source_name for column in table.columns)
    return {name.lower() for name in (*table.key, *table.source_columns, *copied) if name is not None}


def mentioned_sources(table: Table) -> set[str]:
    """Return, in lower case, every name anywhere in the configuration that may be that of a source column."""
    old = (column.renamed_from for column in table.columns)
    read = {name.lower() for column in table.columns for name in sources_of(column)}
    # In a condition, a name that both sides have is the silver column.
    silver = {column.name.lower() for column in table.columns}
    conditions = set(_referenced([table.filter, *(rule.expr for rule in table.rules)])) - silver
    return declared_sources(table) | {name.lower() for name in (*table.drop, *old) if name is not None} | read | conditions


def sources_of(column: Column) -> list[str]:
    """Return the source columns from which a declared column is computed."""
    return [column.source_name] if column.source_name is not None else sorted(_referenced([column.expr]))


def _referenced(texts: Iterable[str | None]) -> Iterator[str]:
    for text in texts:
        try:
            yield from (name.lower() for name in (referenced_columns(text) if text else ()))
        except ExpressionError:
            # Another check reports it.
            continue
