"""The word by which a document publishes on purpose what silver has kept back (``publish`` of a table)."""

from dms_iceberg.config.model import Table

FILTER_WORD = "filter"
"""What stands for the table's filter; a column of that name stands between back quotes."""


def publishes_filter(table: Table) -> bool:
    """Whether the table may lose its filter."""
    return FILTER_WORD in table.publish


def published_columns(table: Table) -> list[str]:
    """Return the columns that may be shown, by their names in silver or at the source."""
    return [column for word in table.publish if (column := column_of(word)) is not None]


def column_word(name: str) -> str:
    """Return the word for a column."""
    return f"`{name}`" if name == FILTER_WORD else name


def column_of(word: str) -> str | None:
    """Return the column that a word names, None for the filter."""
    if word == FILTER_WORD:
        return None
    return word[1:-1] if len(word) > 2 and word.startswith("`") and word.endswith("`") else word
