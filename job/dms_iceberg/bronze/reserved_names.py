"""Column names that files cannot have, because Spark or this package needs them to read files."""

from collections.abc import Iterable

from dms_iceberg.config.check_context import RESERVED_PREFIX, SPARK_COLUMN
from dms_iceberg.config.model import Bronze, BronzeFormat, OtherColumns, Table
from dms_iceberg.errors import BronzeError


def is_reserved(name: str) -> bool:
    """Whether Spark or this package needs a name for itself when it reads files."""
    return name.lower() == SPARK_COLUMN or name.lower().startswith(RESERVED_PREFIX)


def is_used(name: str, table: Table) -> bool:
    """Whether the configuration puts a source column into silver, apart from key columns."""
    declared = {column.source_name.lower() for column in table.columns if column.source_name}
    dropped = {column.lower() for column in table.drop}
    return name.lower() in declared or (name.lower() not in dropped and table.other_columns is OtherColumns.KEEP)


def refuse_reserved(names: Iterable[str], bronze: Bronze, table: Table, example: str) -> None:
    """Refuse columns that would hide the metadata that Spark or this package adds to a row.

    Raises:
        BronzeError: there is such a column. Only Parquet can be read without it, if the configuration leaves it out.
    """
    parquet = bronze.format is BronzeFormat.PARQUET
    for name in names:
        if is_reserved(name) and not (parquet and not is_used(name, table)):
            owner = "Spark" if name.lower() == SPARK_COLUMN else "dms-iceberg"
            raise BronzeError(
                f"{example}: {table.source} has a column {name!r}, a name that {owner} needs for itself to read files. Give the column "
                "another name, or leave it out, with a DMS mapping rule (rename or remove-column), and load the table again"
                + ("; or leave it out with drop." if parquet else ".")
            )
