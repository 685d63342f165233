"""A column of the source, and how its value gets the form that DMS gives it in a change file. Pure.

The source writes each row as a JSON array of texts. So no driver and no Python type stands between its values and Spark, and NULL, empty
text, line breaks and infinity arrive unchanged. `dms_iceberg.dms` defines what a change file shows of such a text. Spark casts it to the
types of DMS's Parquet files, or leaves it as text for pipelines whose bronze is CSV or JSON.
"""

import json
from collections.abc import Callable, Sequence

import attrs

from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.dms.type_mapping import Mapped, Shown
from dms_iceberg.dms.types import DmsType, Kind
from dms_iceberg.sql.quoting import quote, string_literal

_SPARK = {
    Kind.INT1: "tinyint",
    Kind.INT2: "smallint",
    Kind.INT4: "int",
    Kind.INT8: "bigint",
    # As Spark reads Parquet's unsigned types.
    Kind.UINT1: "smallint",
    Kind.UINT2: "int",
    Kind.UINT4: "bigint",
    Kind.UINT8: "decimal(20,0)",
    Kind.REAL4: "float",
    Kind.REAL8: "double",
    Kind.BYTES: "binary",
    Kind.BLOB: "binary",
    Kind.DATE: "date",
    Kind.DATETIME: "timestamp",
    Kind.BOOLEAN: "boolean",
}


def spark_type(type_: DmsType) -> str:
    """Return the Spark type that a column of DMS's Parquet files is read as; Spark cannot read a TIME."""
    if type_.kind is Kind.NUMERIC:
        return f"decimal({type_.precision},{type_.scale})"
    return _SPARK.get(type_.kind, "string")


@attrs.frozen
class SourceColumn:
    """One column of a source table.

    Attributes:
        sql: the source's SQL of the value as text, NULL for NULL.
        type: the Spark type that the column in DMS's Parquet file is read as.
        lookup_type: the source's own name of the type, used to compare keys.
        shown: turns the source's text into that of a change file, None if they are equal; ``shown_in_text`` is the same for CSV and JSON.
        exact: whether a value of a change file determines the source's value, except for ``ends`` (texts as Spark shows them).
        unknown: why it is unknown what DMS writes for the column, which is then not compared; None for other columns.
        generated: the source computes it, so whether DMS writes it depends on the way it reads changes.
    """

    name: str
    sql: str
    type: str
    lookup_type: str = ""
    shown: Shown | None = None
    shown_in_text: Shown | None = None
    exact: bool = True
    ends: tuple[str, ...] = ()
    unknown: str | None = None
    generated: bool = False

    @classmethod
    def of(cls, name: str, sql: str, mapped: Mapped, lookup_type: str = "", in_text: Mapped | None = None) -> "SourceColumn":
        """Return a column of a mapped type; ``in_text`` is the mapping for CSV or JSON bronze, if it differs."""
        texts = in_text or mapped
        return cls(
            name,
            sql,
            spark_type(mapped.type),
            lookup_type,
            mapped.shown(in_parquet=True),
            texts.shown(in_parquet=False),
            mapped.exact and texts.exact,
            mapped.ends,
        )

    def shown_in(self, bronze: Bronze) -> Shown | None:
        """The function that turns the source's text into that of a change file in this bronze; None if they are equal."""
        return self.shown if bronze.format is BronzeFormat.PARQUET else self.shown_in_text

    def spark_type(self, bronze: Bronze) -> str:
        """The type that the column has in a change file: always text in the text formats."""
        return self.type if bronze.format is BronzeFormat.PARQUET else "string"

    def spark_sql(self, text: str, bronze: Bronze) -> str:
        """Return Spark SQL of the value in a change file; ``text`` is SQL of the text in the file."""
        if bronze.format is BronzeFormat.CSV:
            # DMS writes the same for NULL and for a text that equals the NULL text.
            return f"nullif({text}, {string_literal(bronze.csv.null)})"
        if bronze.format is BronzeFormat.JSON or self.type == "string":
            return text
        if self.type == "binary":
            return f"unhex({text})"
        return f"try_cast({text} AS {self.type})"


def shown_rows(columns: Sequence[SourceColumn], bronze: Bronze) -> Callable[[str], str]:
    """Return a function that turns a row of the source into one of a change file, both JSON arrays of texts."""
    places = [(number, shown) for number, column in enumerate(columns) if (shown := column.shown_in(bronze)) is not None]
    if not places:
        return str
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def shown_row(text: str) -> str:
        cells = json.loads(text)
        for number, show in places:
            if cells[number] is not None:
                cells[number] = show(cells[number])
        return write(cells)

    return shown_row


def select_list(columns: tuple[SourceColumn, ...], cells: str, bronze: Bronze) -> list[str]:
    """Return the select list that turns ``cells``, SQL of an array of texts, into the columns of a change file."""
    return [f"{column.spark_sql(f'{cells}[{number}]', bronze)} AS {quote(column.name)}" for number, column in enumerate(columns)]
