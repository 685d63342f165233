"""Partition values of rows and of files: Spark computes those of rows by Iceberg's own functions, files have theirs in the metadata."""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import attrs
import pyarrow as pa

from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.sql.quoting import quote

PartitionValue = int | bool | str | None
"""Dates are days since 1970, as in Iceberg's metadata."""
_EPOCH = date(1970, 1, 1)
_IDENTITY = ("boolean", "int", "long", "string", "date")
_TRUNCATED = ("int", "long", "string")
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""A text that Iceberg's builder of files takes for NULL."""


@attrs.frozen
class Partition:
    """A partition of a table: its values, and Iceberg's object with them; of a table without partitions there is none."""

    values: tuple[PartitionValue, ...] = ()
    java: Any = attrs.field(default=None, eq=False)


@attrs.frozen
class PartitionField:
    """A field of a partition spec.

    Attributes:
        column: the column whose values it is of.
        transform: as Iceberg writes it: ``identity``, ``bucket[16]``, ``day``.
        is_date: its values are dates.
    """

    column: str
    transform: str
    is_date: bool

    @property
    def name(self) -> str:
        """The column of rows with their values of this field."""
        return f"_cdc_partition_{self.transform}_{self.column}"

    def sql(self, catalog: str) -> str:
        """SQL of a row's value; ``catalog`` is one of Iceberg's, unquoted."""
        kind, _, argument = self.transform.rstrip("]").partition("[")
        if kind == "identity":
            return quote(self.column)
        function = kind if argument else f"{kind}s"
        return f"{quote(catalog)}.system.{function}({f'{argument}, ' if argument else ''}{quote(self.column)})"

    def values(self, rows: pa.Table) -> list[PartitionValue]:
        """Return the values of rows, as those of `partition_of` a file."""
        column = rows[self.name]
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        return list(column.to_pylist())

    def text(self, value: PartitionValue) -> str | None:
        """Return a value as Iceberg's builder of data files reads it.

        Raises:
            NotPossibleError: it would read another value.
        """
        if value == _NULL:
            raise NotPossibleError("a partition value that stands for NULL")
        if value is None:
            return None
        return str(_day(int(value)) if self.is_date else value)


def _day(number: int) -> date:
    try:
        return _EPOCH + timedelta(days=number)
    except OverflowError:
        raise NotPossibleError("a partition value after the year 9999") from None


def partition_fields(jvm: Any, table: Any) -> tuple[PartitionField, ...]:
    """Return the fields of an Iceberg table's partition spec; none of a table without partitions.

    Raises:
        NotPossibleError: it has files of several specs, or a transform whose values are not exact here.
    """
    if table.specs().size() > 1:
        raise NotPossibleError("several partition specs")
    if table.spec().isUnpartitioned():
        return ()
    spec = json.loads(str(jvm.org.apache.iceberg.PartitionSpecParser.toJson(table.spec())))
    schema = json.loads(str(jvm.org.apache.iceberg.SchemaParser.toJson(table.schema())))
    columns = {column["id"]: column for column in schema["fields"]}
    return tuple(_field(columns.get(field["source-id"]), field["transform"]) for field in spec["fields"])


def _field(column: dict[str, Any] | None, transform: str) -> PartitionField:
    kind = transform.partition("[")[0]
    type_ = column["type"] if column is not None else None
    fits = {
        "identity": type_ in _IDENTITY,
        "truncate": type_ in _TRUNCATED,
        **dict.fromkeys(("bucket", "year", "month", "day", "hour"), isinstance(type_, str)),
    }
    if column is None or not fits.get(kind, False):
        raise NotPossibleError("a partition transform")
    return PartitionField(column["name"], transform, kind == "day" or (kind, type_) == ("identity", "date"))


def partition_of(jvm: Any, file: Any, count: int) -> Partition:
    """Return the partition of an Iceberg data file whose spec has ``count`` fields."""
    if not count:
        return Partition()
    java, any_class = file.partition(), jvm.java.lang.Class.forName("java.lang.Object")
    return Partition(tuple(_value(java.get(number, any_class)) for number in range(count)), java)


def _value(found: Any) -> PartitionValue:
    return found if found is None or isinstance(found, bool | int | str) else str(found)


def new_partition(jvm: Any, table: Any, fields: Sequence[PartitionField], values: tuple[PartitionValue, ...]) -> Partition:
    """Return a partition of a table's new files by its values.

    Raises:
        NotPossibleError: Iceberg would read another value.
    """
    if not values:
        return Partition()
    texts = [field.text(value) for field, value in zip(fields, values, strict=True)]
    # Iceberg makes the object of a partition's values only for a file.
    file = jvm.org.apache.iceberg.DataFiles.builder(table.spec()).withPath("none").withFormat("parquet")
    file = file.withFileSizeInBytes(0).withRecordCount(0).withPartitionValues(texts).build()
    return Partition(values, file.partition())


def split(rows: pa.Table, values: Sequence[tuple[PartitionValue, ...]]) -> dict[tuple[PartitionValue, ...], pa.Table]:
    """Return rows by their partition; ``values`` has that of each row."""
    numbers: dict[tuple[PartitionValue, ...], list[int]] = {}
    for number, one in enumerate(values):
        numbers.setdefault(one, []).append(number)
    if len(numbers) == 1:
        return dict.fromkeys(numbers, rows)
    return {one: rows.take(pa.array(of_one, pa.int64())) for one, of_one in numbers.items()}
