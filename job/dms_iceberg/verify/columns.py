"""A column of the source, and how its value gets the form that DMS gives it in a change file. Pure.

The source writes each row as a JSON array of texts: that way no driver and no Python type stands between its values and Spark, and
NULL, empty text, line breaks and infinity come through as they are. Of the texts Spark makes the types of DMS's Parquet files, or leaves
them as they are for pipelines whose bronze is CSV or JSON.
"""

import attrs

from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.identifiers import quote, string_literal

MAX_PRECISION = 38
LAST_TIME = "9999-12-31 23:59:59.999999"
FIRST_TIME = "0001-01-01 00:00:00"


@attrs.frozen
class SourceColumn:
    """One column of a source table.

    Attributes:
        sql: the source's SQL of the value as text.
        type: the Spark type that DMS's Parquet file of the column is read as.
        text_sql: the same as DMS's CSV shows it, where that is another text than ``sql``.
        lookup_type: the source's own name of the type, to compare keys in.
    """

    name: str
    sql: str
    type: str
    lookup_type: str = ""
    text_sql: str | None = None

    def source_sql(self, bronze: Bronze) -> str:
        """The source's SQL for a pipeline with that bronze."""
        return self.sql if bronze.format is BronzeFormat.PARQUET or self.text_sql is None else self.text_sql

    def spark_type(self, bronze: Bronze) -> str:
        """The type the column has in a change file: text formats have text only."""
        return self.type if bronze.format is BronzeFormat.PARQUET else "string"

    def spark_sql(self, text: str, bronze: Bronze) -> str:
        """Spark SQL of the value in a change file; ``text`` is the SQL of what the source wrote."""
        if bronze.format is BronzeFormat.CSV:
            # DMS writes the same for NULL and for a text that looks like it.
            return f"nullif({text}, {string_literal(bronze.csv.null)})"
        if bronze.format is BronzeFormat.JSON or self.type == "string":
            return text
        if self.type == "binary":
            return f"unhex({text})"
        return f"try_cast({text} AS {self.type})"


def decimal_type(precision: int, scale: int) -> str:
    """Return the Spark type of a DMS NUMERIC, text when Parquet has no decimal of so many digits."""
    # A scale may be negative, or larger than the precision.
    precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
    return f"decimal({precision},{scale})" if precision <= MAX_PRECISION else "string"


def select_list(columns: tuple[SourceColumn, ...], cells: str, bronze: Bronze) -> list[str]:
    """Return the select list that turns the array of texts ``cells`` into the columns of a change file."""
    return [f"{column.spark_sql(f'{cells}[{number}]', bronze)} AS {quote(column.name)}" for number, column in enumerate(columns)]
