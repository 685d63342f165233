"""Makes an Iceberg table by Iceberg's own interface: SQL cannot name partition fields, and Iceberg's names collide with columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dms_iceberg.config.partition import PartitionField

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_table(
    spark: "SparkSession", parts: Sequence[str], columns: str, fields: Iterable[PartitionField], properties: Mapping[str, str]
) -> None:
    """Create a table as CREATE TABLE does, but with the names of partition fields that `PartitionField.name` gives.

    Args:
        parts: catalog, namespace and name. The namespace is there.
        columns: the columns as in CREATE TABLE.
        fields: the partition fields.
        properties: the table properties.

    Raises:
        Py4JJavaError: the catalog has the name already (`commit_errors.is_there_already`), or refuses the table.
    """
    jvm: Any = spark._jvm
    schema = jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(jvm.org.apache.spark.sql.types.StructType.fromDDL(columns))
    spec = jvm.org.apache.iceberg.PartitionSpec.builderFor(schema)
    for field in fields:
        add = getattr(spec, field.transform.removesuffix("s"))
        spec = add(field.column, *([] if field.argument is None else [field.argument]), field.name)
    given = jvm.java.util.HashMap()
    for name, value in properties.items():
        given.put(name, value)
    session: Any = spark._jsparkSession
    catalog = session.sessionState().catalogManager().catalog(parts[0]).icebergCatalog()
    builder = catalog.buildTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(".".join(parts[1:])), schema)
    builder.withPartitionSpec(spec.build()).withProperties(given).create()
