"""How DMS maps the types that PostgreSQL's stream identifies by number; `dms_iceberg.dms.postgres` has the mapping."""

from typing import Any, Final

import psycopg

from dms_emulator.settings import EmulatorSettings
from dms_iceberg.dms.postgres import Choices, built_in, lob, user_defined
from dms_iceberg.dms.type_mapping import Mapped

# Oids of built-in types are fixed (pg_type.dat).
_NAMES: Final[dict[int, str]] = {
    16: "bool",
    17: "bytea",
    18: "char",
    19: "name",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    26: "oid",
    114: "json",
    142: "xml",
    650: "cidr",
    700: "float4",
    701: "float8",
    774: "macaddr8",
    790: "money",
    829: "macaddr",
    869: "inet",
    1042: "bpchar",
    1043: "varchar",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "timetz",
    1560: "bit",
    1562: "varbit",
    1700: "numeric",
    2950: "uuid",
    3614: "tsvector",
    3615: "tsquery",
    3802: "jsonb",
}
_MAX_DOMAIN_DEPTH: Final = 32


class TypeMap:
    """The mapping with one task's settings; it asks the source about types that are not built in.

    Args:
        settings: LOB size and mapping switches.
        connection: for looking up unknown types; in autocommit mode.
    """

    def __init__(self, settings: EmulatorSettings, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection
        self._choices = Choices(
            boolean_as_boolean=settings.boolean_as_boolean,
            time_as_string=settings.time_as_string,
            trim_char=settings.trim_char,
            lob_bytes=settings.lob_max_kb * 1024,
        )

    def map(self, oid: int, modifier: int) -> Mapped:
        """Return the mapping of a PostgreSQL type, given by its oid and ``atttypmod``."""
        for _ in range(_MAX_DOMAIN_DEPTH):
            mapped = built_in(_NAMES.get(oid, ""), modifier, self._choices)
            if mapped is not None:
                return mapped
            row = self._connection.execute(
                "select typtype::text, typcategory::text, typname::text, typbasetype::int8, typtypmod from pg_type where oid = %s",
                (oid,),
            ).fetchone()
            if row is None:
                return user_defined("", "", "", self._choices)
            if row[0] != "d":
                return user_defined(row[0], row[1], row[2], self._choices)
            # A domain: the modifier is part of its definition.
            oid, modifier = row[3], row[4]
        return lob(self._choices)
