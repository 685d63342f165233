"""The configuration as frozen values with every default in one place. No I/O, no Spark.

The document these are made from is described in ``docs/configuration.md``; ``config.parse`` makes them.
"""

from enum import StrEnum

import attrs


class BronzeFormat(StrEnum):
    """What DMS writes: ``DataFormat`` of its S3 endpoint, or JSON lines of another writer."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


class Mode(StrEnum):
    """What a silver table holds. ``mirror`` is the source's current state, deletes are physical."""

    MIRROR = "mirror"


class SchemaChanges(StrEnum):
    """What happens when files and table differ in structure.

    * ``evolve``: columns are added and types widened; a value that does not fit its column is quarantined.
    * ``quarantine``: the table keeps its structure; rows of files with another one are quarantined.
    * ``strict``: the table fails before anything is written.
    """

    EVOLVE = "evolve"
    QUARANTINE = "quarantine"
    STRICT = "strict"


class OtherColumns(StrEnum):
    """What becomes of source columns that ``columns`` and ``drop`` do not name."""

    KEEP = "keep"
    DROP = "drop"


class OnFail(StrEnum):
    """What happens to a row that breaks a rule."""

    QUARANTINE = "quarantine"
    DROP = "drop"
    FAIL = "fail"


class Mask(StrEnum):
    """How a column is made unreadable. ``sha256`` keeps equality, ``partial`` keeps the last four characters."""

    SHA256 = "sha256"
    REDACT = "redact"
    PARTIAL = "partial"


class CatalogType(StrEnum):
    """Iceberg catalogs. ``hadoop`` is a plain directory or bucket: the embedded default."""

    HADOOP = "hadoop"
    GLUE = "glue"
    REST = "rest"


class NullInUpdate(StrEnum):
    """What a NULL in a ``U`` means for a column: a value (``set``), or "not supplied" (``keep``)."""

    SET = "set"
    KEEP = "keep"


class Timestamps(StrEnum):
    """Spark type of undeclared Parquet timestamps: an instant, or a wall clock."""

    INSTANT = "instant"
    NTZ = "ntz"


@attrs.frozen(kw_only=True)
class Csv:
    """How CSV files are written (``CsvDelimiter``, ``CsvNullValue``, ``AddColumnName``, ``CsvNoSupValue`` of DMS)."""

    header: bool = True
    delimiter: str = ","
    null: str = ""
    no_supplement: str | None = None


def _default_op_words() -> dict[str, str]:
    return {"I": "I", "U": "U", "D": "D"}


@attrs.frozen(kw_only=True)
class Change:
    """Names of the service columns. The defaults are what our Terraform module makes DMS write."""

    op_column: str = "Op"
    op_words: dict[str, str] = attrs.field(factory=_default_op_words)
    timestamp_column: str | None = "dms_commit_ts"
    sequence_column: str | None = "dms_change_seq"
    stream_position_column: str | None = "dms_stream_position"
    before_image_prefix: str | None = "BI_"
    load_without_op: bool = False


@attrs.frozen(kw_only=True)
class Bronze:
    """Where the change files are: ``<uri>/<schema>/<table>/...``."""

    uri: str
    format: BronzeFormat = BronzeFormat.PARQUET
    csv: Csv = Csv()
    change: Change = Change()


@attrs.frozen(kw_only=True)
class Catalog:
    """The Iceberg catalog, under the name Spark knows it by."""

    name: str = "lake"
    type: CatalogType = CatalogType.HADOOP
    warehouse: str
    properties: dict[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Column:
    """One declared silver column. ``source`` (document key ``from``) is the source column it is made of."""

    name: str
    source: str | None = None
    type: str | None = None
    expr: str | None = None
    format: str | None = None
    trim: bool = False
    mask: Mask | None = None
    mask_salt: str | None = None
    null_in_update: NullInUpdate = NullInUpdate.SET
    backfill: str | int | float | bool | None = None

    @property
    def source_name(self) -> str | None:
        """The source column this one copies, or None for an expression."""
        return None if self.expr is not None else (self.source or self.name)


@attrs.frozen(kw_only=True)
class Rule:
    """A condition on a row's silver and source columns. NULL passes, as in an SQL CHECK."""

    name: str
    expr: str
    on_fail: OnFail = OnFail.QUARANTINE


@attrs.frozen(kw_only=True)
class Table:
    """One source table and the silver table made of it. ``source`` is ``schema.table`` as in the document."""

    source: str
    target: str
    key: tuple[str, ...]
    mode: Mode = Mode.MIRROR
    schema_changes: SchemaChanges = SchemaChanges.EVOLVE
    partition_by: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    drop: tuple[str, ...] = ()
    other_columns: OtherColumns = OtherColumns.KEEP
    filter: str | None = None
    rules: tuple[Rule, ...] = ()
    source_columns: tuple[str, ...] = ()
    table_properties: dict[str, str] = attrs.field(factory=dict)
    format_version: int = 2
    write_mode: str = "merge-on-read"
    target_file_size_mb: int = 128

    @property
    def schema_name(self) -> str:
        """The source schema."""
        return self.source.split(".", 1)[0]

    @property
    def table_name(self) -> str:
        """The source table without its schema."""
        return self.source.split(".", 1)[1]


@attrs.frozen(kw_only=True)
class Batch:
    """Bounds of one batch, and how far behind the frontier late files are looked for."""

    max_bytes: int = 1 << 30
    max_files: int = 2_000
    look_back_hours: float = 24.0


@attrs.frozen(kw_only=True)
class Quarantine:
    """Where rejected rows go. They are unmasked: give this namespace its own access rules."""

    namespace: str = "quarantine"


@attrs.frozen(kw_only=True)
class Config:
    """The whole document, with paths made absolute.

    Attributes:
        state_uri: where ``runs/<table>.json`` live; by default the document's own folder.
    """

    pipeline: str
    bronze: Bronze
    catalog: Catalog
    tables: dict[str, Table]
    quarantine: Quarantine = Quarantine()
    batch: Batch = Batch()
    parallelism: int = 4
    timestamps: Timestamps = Timestamps.INSTANT
    state_uri: str = "."
