"""A column of the source, and how its value gets the form that DMS gives it in a change file. Pure.

The source writes each row as a JSON array of texts: that way no driver and no Python type stands between its values and Spark, and
NULL, empty text, line breaks and infinity come through as they are. `dms_iceberg.dms` says what a change file shows of such a text. Of
these Spark makes the types of DMS's Parquet files, or leaves them as they are for pipelines whose bronze is CSV or JSON.
"""

import json
from collections.abc import Callable, Sequence

import attrs

from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.dms.mapped import Mapped, Shown
from dms_iceberg.dms.types import DmsType, Kind
from dms_iceberg.sql.quoting import quote, string_literal

_SPARK = {
    Kind.INT1: "tinyint",
    Kind.INT2: "smallint",
    Kind.INT4: "int",
    Kind.INT8: "bigint",
    # As Spark reads unsigned types of Parquet.
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
    """Return the Spark type that DMS's Parquet file of a column is read as; a TIME is none that Spark reads."""
    if type_.kind is Kind.NUMERIC:
        return f"decimal({type_.precision},{type_.scale})"
    return _SPARK.get(type_.kind, "string")


@attrs.frozen
class SourceColumn:
    """One column of a source table.

    Attributes:
        sql: the source's SQL of the value as text, NULL for NULL.
        type: the Spark type that DMS's Parquet file of the column is read as.
        lookup_type: the source's own name of the type, to compare keys in.
        shown: what makes the text of a change file of the source's, None where it is the same. ``shown_in_text`` is that of CSV and JSON.
        exact: a value of a change file tells which one it was at the source, but for ``ends``, texts as Spark shows them.
        unknown: why nobody can say what DMS writes of the column, so that it is not compared.
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

    @classmethod
    def of(cls, name: str, sql: str, mapped: Mapped, lookup_type: str = "", in_text: Mapped | None = None) -> "SourceColumn":
        """Return a column of a mapped type; ``in_text`` is how it is mapped where bronze is CSV or JSON, if that is another way."""
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
        """What makes the text of a change file of a pipeline with that bronze, None where it is the source's text."""
        return self.shown if bronze.format is BronzeFormat.PARQUET else self.shown_in_text

    def spark_type(self, bronze: Bronze) -> str:
        """The type the column has in a change file: text formats have text only."""
        return self.type if bronze.format is BronzeFormat.PARQUET else "string"

    def spark_sql(self, text: str, bronze: Bronze) -> str:
        """Spark SQL of the value in a change file; ``text`` is the SQL of the text that the file shows."""
        if bronze.format is BronzeFormat.CSV:
            # DMS writes the same for NULL and for a text that looks like it.
            return f"nullif({text}, {string_literal(bronze.csv.null)})"
        if bronze.format is BronzeFormat.JSON or self.type == "string":
            return text
        if self.type == "binary":
            return f"unhex({text})"
        return f"try_cast({text} AS {self.type})"


def shown_rows(columns: Sequence[SourceColumn], bronze: Bronze) -> Callable[[str], str]:
    """Return what makes a row of a change file of a row of the source, both JSON arrays of texts."""
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
    """Return the select list that turns the array of texts ``cells`` into the columns of a change file."""
    return [f"{column.spark_sql(f'{cells}[{number}]', bronze)} AS {quote(column.name)}" for number, column in enumerate(columns)]
