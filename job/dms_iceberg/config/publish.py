"""Words in a table's ``publish``: the document uses them to publish on purpose what silver has withheld."""

from dms_iceberg.config.model import Table

FILTER_WORD = "filter"
"""The word for the table's filter; a column of that name is written in back quotes."""


def publishes_filter(table: Table) -> bool:
    """Whether the configuration allows the table to lose its filter."""
    return FILTER_WORD in table.publish


def published_columns(table: Table) -> list[str]:
    """Return the columns that may be published, by their names in silver or at the source."""
    return [column for word in table.publish if (column := column_of(word)) is not None]


def column_word(name: str) -> str:
    """Return the word for a column."""
    return f"`{name}`" if name == FILTER_WORD else name


def column_of(word: str) -> str | None:
    """Return the column that a word names, None for the word that stands for the filter."""
    if word == FILTER_WORD:
        return None
    return word[1:-1] if len(word) > 2 and word.startswith("`") and word.endswith("`") else word
