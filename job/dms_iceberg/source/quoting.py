"""Names in the SQL of a source, by its engine."""

from dms_iceberg.source.address import Engine
from dms_iceberg.sql.quoting import quote


def quote_name(engine: Engine, name: str) -> str:
    """Return a quoted identifier."""
    # MySQL quotes names as Spark does.
    return quote(name) if engine is Engine.MYSQL else quote_postgres(name)


def quote_postgres(name: str) -> str:
    """Return a quoted identifier of PostgreSQL."""
    return '"' + name.replace('"', '""') + '"'
