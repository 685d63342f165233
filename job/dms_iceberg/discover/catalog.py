"""What a source's catalog says of its tables, as frozen values: the same for every engine, without any conclusion."""

from enum import StrEnum

import attrs

from dms_iceberg.dms.types import DmsType
from dms_iceberg.source.address import Engine


class Kind(StrEnum):
    """What a relation is, as far as capturing its changes is concerned."""

    TABLE = "table"
    PARTITIONED = "partitioned table"
    PARTITION = "partition"
    VIEW = "view"
    MATERIALIZED_VIEW = "materialized view"
    FOREIGN = "foreign table"
    UNLOGGED = "unlogged table"
    SYSTEM_VERSIONED = "system-versioned table"


class Identity(StrEnum):
    """What the log has of the old row of an update or delete: PostgreSQL's REPLICA IDENTITY. MySQL logs whole rows (`FULL`)."""

    PRIMARY_KEY = "primary key"
    INDEX = "index"
    FULL = "full"
    NOTHING = "nothing"


class Generated(StrEnum):
    """Whether the database computes a column."""

    NO = "no"
    STORED = "stored"
    VIRTUAL = "virtual"


@attrs.frozen(kw_only=True)
class Column:
    """A column.

    Attributes:
        type: name of the base type in lower case, without arguments: ``timestamp``, ``bigint``, ``_int4``, ``mood``.
        shown: the type as the source shows it: ``timestamp(3) without time zone``, ``bigint(20) unsigned``.
        built_in: the type is one of the engine's own.
        dms: what DMS maps it to; None where its guide does not say in which form it writes the values.
        has_precision: False for a ``numeric`` without precision.
        zero_dates: it may have MySQL's ``0000-00-00``.
    """

    name: str
    type: str
    shown: str
    nullable: bool
    built_in: bool = True
    dms: DmsType | None = None
    has_precision: bool = True
    generated: Generated = Generated.NO
    zero_dates: bool = False


@attrs.frozen(kw_only=True)
class Index:
    """A unique index over whole columns of all rows. ``identity``: it is the one of REPLICA IDENTITY USING INDEX."""

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    deferrable: bool = False
    identity: bool = False


@attrs.frozen(kw_only=True)
class Table:
    """A table, or what looks like one.

    Attributes:
        unique: its unique indexes that are over whole columns of all rows.
        parent: of a partition, ``schema.table`` of the partitioned table at the root; else "".
        partitions: of a partitioned table of PostgreSQL, the partitions that hold rows; MySQL's are no tables.
        has_children: other tables inherit from it.
        is_divided: it has MySQL's partitions.
    """

    schema: str
    name: str
    kind: Kind = Kind.TABLE
    columns: tuple[Column, ...] = ()
    unique: tuple[Index, ...] = ()
    identity: Identity = Identity.FULL
    parent: str = ""
    partitions: tuple[str, ...] = ()
    has_children: bool = False
    is_divided: bool = False

    @property
    def full_name(self) -> str:
        """``schema.table``, as configurations name it."""
        return f"{self.schema}.{self.name}"


@attrs.frozen(kw_only=True)
class Catalog:
    """The user's tables of a source, by name."""

    engine: Engine
    database: str
    tables: tuple[Table, ...]
