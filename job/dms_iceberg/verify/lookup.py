"""Keys of silver as texts by which the source finds its rows.

The text of a key is that of its value in a change file, not of its value in silver, as the source's type takes it (`lookup_text`).
"""

from collections.abc import Collection, Iterator, Sequence

from pyspark.sql import DataFrame

from dms_iceberg.sql.quoting import quote
from dms_iceberg.sql.types import decimal_of, fits
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.source import Reader

_KEYS_IN_QUERY = 1_000
_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_TIMES = frozenset({"timestamp", "timestamp_ntz"})


def lookup_text(name: str, file: str, silver: str) -> str | None:
    """Return the SQL of the text that a value in a file had before it became a silver value; None where that is not exact.

    ======================  ======================  ===========================================================
    type in the file        type in silver          text
    ======================  ======================  ===========================================================
    binary                  binary                  hexadecimal digits
    binary                  string                  those of the text's bytes: binary that is no UTF-8 is rejected
    any other               the same, or string     the value's
    a number                one that holds it       that of the number in the file's type, if it has the number
    timestamp (_ntz)        timestamp_ntz (no zone) the value's: every session is in UTC
    any other               any other               None
    ======================  ======================  ===========================================================

    Args:
        name: the silver column.
        file: Spark type of the column in a file.
        silver: Spark type of the column in silver.
    """
    column = quote(name)
    if file == "binary":
        return f"lower(hex({column}))" if silver in ("binary", "string") else None
    if silver in ("string", file) or (file in _TIMES and silver in _TIMES):
        return f"CAST({column} AS string)"
    if not fits(file, silver):
        return None
    if file in _INTEGERS and silver in _INTEGERS:
        return f"CAST({column} AS string)"
    # As decimal(12,2), the number 5 is the text 5.00, which is no integer to the source; 5.50 stays what no row has.
    narrow = f"try_cast({column} AS {file})"
    return f"CASE WHEN CAST({narrow} AS {silver}) <=> {column} THEN CAST({narrow} AS string) ELSE CAST({column} AS string) END"


def is_certain(column: SourceColumn, silver: str) -> bool:
    """Whether every source finds a row by the key's text: integers have one text each, and one meaning."""
    return column.type in _INTEGERS and (silver in _INTEGERS or decimal_of(silver) is not None)


class KeyLookup:
    """Keys of one table as texts.

    Attributes:
        columns: the source columns that the silver key columns copy; None where a key does not determine the source's key.
        texts: SQL of the texts of a silver key.
        is_certain: whether every source finds its rows by such texts, so that nothing needs to be proved.
    """

    def __init__(self, columns: Sequence[SourceColumn] | None, key: Sequence[str], types: Sequence[str]) -> None:
        self.columns = columns
        self.texts = [
            lookup_text(name, column.type, type_) or ""
            for name, column, type_ in zip(key, columns or (), types, strict=columns is not None)
        ]
        self.is_certain = all(is_certain(column, type_) for column, type_ in zip(columns or (), types, strict=False))

    def keys(self, frame: DataFrame) -> list[tuple[str, ...]]:
        """Return the silver keys of a frame."""
        return [tuple(row) for row in frame.selectExpr(*self.texts).collect()]

    def rows_of(self, reader: Reader, keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the source's rows of these keys, and of those that it calls equal, with a bounded number of keys per query."""
        for start in range(0, len(keys), _KEYS_IN_QUERY):
            yield from reader.rows_of(self.columns or (), keys[start : start + _KEYS_IN_QUERY])

    def holds_end(self, keys: Collection[Sequence[str]]) -> bool:
        """Whether a key is an end of the calendar: where DMS cannot show the source's value, a lookup by the end does not find it."""
        return any(text in column.ends for key in keys for text, column in zip(key, self.columns or (), strict=True))
