"""Makes an Iceberg table by Iceberg's own interface: SQL cannot name partition fields, and Iceberg's names collide with columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dms_iceberg.config.partition import PartitionField
from dms_iceberg.iceberg.java_maps import to_java_map

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
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
    spec = partition_spec(jvm, schema, fields)
    session: Any = spark._jsparkSession
    catalog = session.sessionState().catalogManager().catalog(parts[0]).icebergCatalog()
    builder = catalog.buildTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(".".join(parts[1:])), schema)
    builder.withPartitionSpec(spec).withProperties(to_java_map(jvm, properties)).create()


def partition_spec(jvm: Any, schema: "JavaObject", fields: Iterable[PartitionField], *, own_names: bool = True) -> "JavaObject":
    """Return Iceberg's partition spec of a schema.

    Args:
        jvm: the JVM.
        schema: Iceberg's schema.
        fields: the partition fields. Capitals of a column's name make no difference, as in SQL.
        own_names: fields have the names that `PartitionField.name` gives, otherwise Iceberg's.
    """
    spec = jvm.org.apache.iceberg.PartitionSpec.builderFor(schema)
    for field in fields:
        add = getattr(spec, field.transform.removesuffix("s"))
        column = schema.findColumnName(schema.caseInsensitiveFindField(field.column).fieldId())
        spec = add(column, *([] if field.argument is None else [field.argument]), *([field.name] if own_names else []))
    return spec.build()
