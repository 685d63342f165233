"""The configuration as frozen values with every default in one place. No I/O, no Spark.

``docs/configuration.md`` describes the document; ``config.parse`` turns it into these values.
A field's metadata has its description, its key in the document and its limits: see `field_metadata`.
"""

import re

import attrs

from dms_iceberg.config.choices import (
    AfterRun,
    BeforeImage,
    BronzeFormat,
    CatalogType,
    Mask,
    Mode,
    NewColumns,
    NullInUpdate,
    OnFail,
    OtherColumns,
    Refresh,
    SchemaChanges,
    Timestamps,
    TypeChanges,
)
from dms_iceberg.config.field_metadata import HOURS, MOST_HOURS, about

__all__ = [
    "AfterRun",
    "Batch",
    "BeforeImage",
    "Bronze",
    "BronzeFormat",
    "Catalog",
    "CatalogType",
    "Change",
    "Column",
    "Config",
    "Csv",
    "Maintenance",
    "Mask",
    "Mode",
    "Model",
    "NullInUpdate",
    "OnFail",
    "OtherColumns",
    "Quarantine",
    "Refresh",
    "Rule",
    "SchemaChanges",
    "Table",
    "Timestamps",
    "TypeChanges",
]


EPOCH_FOLDER = re.compile(r"(?:^|/)epoch-(\d{1,9})/*$")


@attrs.frozen(kw_only=True)
class Csv:
    """The form of CSV files. DMS has these settings: AddColumnName, CsvDelimiter, Rfc4180, CsvNullValue, CsvNoSupValue."""

    header: bool = attrs.field(default=True, metadata=about("Files begin with a line of column names."))
    delimiter: str = attrs.field(default=",", metadata=about("The one character between fields."))
    rfc4180: bool = attrs.field(default=True, metadata=about("Fields have quotes where needed; if false, a quote is any character."))
    null: str = attrs.field(default="", metadata=about("The text that stands for NULL."))
    no_supplement: str | None = attrs.field(
        default=None, metadata=about("The text DMS writes for a column that an update did not supply (UseCsvNoSupValue).")
    )


@attrs.frozen(kw_only=True)
class Change:
    """Names of the service columns. With the settings of this project's Terraform module, DMS writes the default names."""

    op_column: str = attrs.field(default="Op", metadata=about("Column with the operation."))
    op_words: dict[str, str] = attrs.field(
        factory=lambda: {"I": "I", "U": "U", "D": "D"},
        metadata=about("Words of the operation column, and which of I, U, D each means."),
    )
    timestamp_column: str | None = attrs.field(default="dms_commit_ts", metadata=about("Column with the source commit time; null: none."))
    sequence_column: str | None = attrs.field(default="dms_change_seq", metadata=about("Column with $AR_H_CHANGE_SEQ; null: none."))
    stream_position_column: str | None = attrs.field(
        default="dms_stream_position", metadata=about("Column with $AR_H_STREAM_POSITION; null: none.")
    )
    before_image_prefix: str | None = attrs.field(default="BI_", metadata=about("Prefix of before-image columns; null: none."))
    before_image_suffix: str | None = attrs.field(default=None, metadata=about("Suffix of before-image columns; null: none."))
    before_image: BeforeImage = attrs.field(default=BeforeImage.REQUIRED, metadata=about("Of CSV without a header: may a file lack them?"))
    load_without_op: bool = attrs.field(default=False, metadata=about("Rows of LOAD files without any operation are inserts."))
    assumed: frozenset[str] = attrs.field(factory=frozenset, eq=False, repr=False, metadata=about("Keys that are left out.", key=None))

    @property
    def orders_by_file(self) -> bool:
        """Whether files have neither commit time nor sequence: changes are ordered by the file's close time and their place in it."""
        return self.timestamp_column is None and self.sequence_column is None


@attrs.frozen(kw_only=True)
class Bronze:
    """The files that DMS writes. Their paths are ``<uri>/<schema>/<table>/...``."""

    uri: str = attrs.field(metadata=about("Folder above the schema folders: s3://, file:// or a path."))
    format: BronzeFormat = attrs.field(default=BronzeFormat.PARQUET, metadata=about("Format of the files."))
    csv: Csv = attrs.field(default=Csv(), metadata=about("The form of CSV files."))
    change: Change = attrs.field(default=Change(), metadata=about("Names and words of the service columns."))

    @property
    def epoch(self) -> int:
        """Number of the full load that the files belong to: of the folder ``epoch-<number>`` at the end of ``uri``, else 0."""
        found = EPOCH_FOLDER.search(self.uri)
        return int(found[1]) if found else 0


@attrs.frozen(kw_only=True)
class Catalog:
    """The Iceberg catalog to which the job writes, and its name in Spark."""

    name: str = attrs.field(default="lake", metadata=about("Name of the catalog in Spark."))
    type: CatalogType = attrs.field(default=CatalogType.HADOOP, metadata=about("Kind of catalog."))
    warehouse: str = attrs.field(metadata=about("Where tables live: s3://, file://, a path; rest: the catalog's own word."))
    properties: dict[str, str] = attrs.field(
        factory=dict, metadata=about("Further Iceberg catalog properties, such as uri of a REST catalog.")
    )


@attrs.frozen(kw_only=True)
class Column:
    """One declared silver column. It copies a source column (key ``from``), or computes its value (key ``expr``)."""

    name: str = attrs.field(metadata=about("Name in the silver table."))
    source: str | None = attrs.field(default=None, metadata=about("Source column it copies; by default that of its name.", key="from"))
    renamed_from: str | None = attrs.field(
        default=None, metadata=about("Name that it had before. The job renames the silver column, and reads older files by that name.")
    )
    type: str | None = attrs.field(default=None, metadata=about("Spark SQL type; by default that of the source column."))
    type_changes: TypeChanges | None = attrs.field(
        default=None,
        metadata=about("What happens to values of a type that the column cannot be widened to; by default the table's choice."),
    )
    expr: str | None = attrs.field(default=None, metadata=about("Spark SQL expression over the row's source columns."))
    format: str | None = attrs.field(default=None, metadata=about("Datetime pattern of the text for a date or timestamp."))
    trim: bool = attrs.field(default=False, metadata=about("Remove spaces at both ends, before the cast."))
    mask: Mask | None = attrs.field(default=None, metadata=about("How the job makes the value unreadable."))
    mask_salt: str | None = attrs.field(default=None, metadata=about("Where the salt of sha256 is: env:NAME or secret:ARN, not the salt."))
    null_in_update: NullInUpdate = attrs.field(
        default=NullInUpdate.SET, metadata=about("Whether a NULL in an update is a value or 'not supplied'.")
    )
    backfill: str | int | float | bool | None = attrs.field(
        default=None, metadata=about("Value that existing rows get when this column is added to the table.")
    )

    @property
    def source_name(self) -> str | None:
        """The source column this one copies, or None for an expression."""
        return None if self.expr is not None else (self.source or self.name)


@attrs.frozen(kw_only=True)
class Rule:
    """A condition on the silver and source columns of a row. As with CHECK in SQL, a row also passes if the condition is NULL."""

    name: str = attrs.field(metadata=about("Name of the rule, unique in its table; the quarantine reason."))
    expr: str = attrs.field(metadata=about("Spark SQL condition; a row fails when it is false."))
    on_fail: OnFail = attrs.field(default=OnFail.QUARANTINE, metadata=about("What happens to a row that fails."))


@attrs.frozen(kw_only=True)
class Maintenance:
    """When the job maintains the files and metadata of a table, and which of its snapshots stay."""

    after_run: AfterRun = attrs.field(
        default=AfterRun.METADATA, metadata=about("Which steps a run does after it has merged; the command maintain does all of them.")
    )
    budget_seconds: float = attrs.field(
        default=600.0, metadata=about("Seconds after which no further step begins for a table.", exclusiveMinimum=0)
    )
    snapshots_kept: int = attrs.field(default=20, metadata=about("Number of newest snapshots that stay, however old they are.", minimum=1))
    snapshots_max: int = attrs.field(default=500, metadata=about("Most snapshots that stay, besides those of the last hour.", minimum=1))
    snapshots_max_age_hours: float = attrs.field(
        default=120.0, metadata=about("Hours after which a snapshot may expire: readers can travel this far back in time.", **HOURS)
    )
    small_files: int = attrs.field(default=20, metadata=about("Files are compacted when this many are candidates.", minimum=2))
    delete_files_per_data_file: int = attrs.field(
        default=3, metadata=about("A data file with this many delete files is a candidate, whatever its size.", minimum=1)
    )
    deleted_rows_percent: int = attrs.field(
        default=20,
        metadata=about("A data file that has lost this share of its rows to deletes and updates is a candidate.", minimum=1, maximum=100),
    )
    manifests: int = attrs.field(default=50, metadata=about("Small manifests are rewritten when there are this many.", minimum=2))
    orphan_files_older_than_hours: float | None = attrs.field(
        default=72.0,
        metadata=about("Age in hours from which files of no snapshot are deleted; null: never.", minimum=24, maximum=MOST_HOURS),
    )


@attrs.frozen(kw_only=True)
class Table:
    """One source table, and the silver table that the job makes from it."""

    source: str = attrs.field(metadata=about("The key of this entry in tables.", key=None))
    target: str = attrs.field(metadata=about("Silver table: namespace.table."))
    key: tuple[str, ...] = attrs.field(metadata=about("Source columns that identify a row."))
    key_confirmed: bool = attrs.field(default=True, metadata=about("Whether key is known; false: init proposed it, and no run uses it."))
    mode: Mode = attrs.field(default=Mode.MIRROR, metadata=about("What the silver table holds."))
    track_columns: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("Mode history: silver columns of which a new value begins a new version. Empty: every change begins one."),
    )
    schema_changes: SchemaChanges = attrs.field(
        default=SchemaChanges.EVOLVE, metadata=about("What happens when files and table differ in structure.")
    )
    type_changes: TypeChanges = attrs.field(
        default=TypeChanges.QUARANTINE, metadata=about("What happens to values of a type that their column cannot be widened to.")
    )
    partition_by: tuple[str, ...] = attrs.field(default=(), metadata=about("Iceberg partition transforms over silver columns."))
    columns: tuple[Column, ...] = attrs.field(default=(), metadata=about("Declared silver columns."))
    drop: tuple[str, ...] = attrs.field(default=(), metadata=about("Source columns that silver does not get."))
    other_columns: OtherColumns = attrs.field(
        default=OtherColumns.KEEP, metadata=about("What becomes of source columns that columns and drop do not name.")
    )
    new_columns: NewColumns = attrs.field(default=NewColumns.HOLD, metadata=about("Whether what may be a withheld column is held back."))
    filter: str | None = attrs.field(default=None, metadata=about("Spark SQL condition; silver has only rows for which it is true."))
    publish: tuple[str, ...] = attrs.field(
        default=(),
        metadata=about("What silver has kept back and may now show: names of columns, or filter for the rows that the filter kept back."),
    )
    rules: tuple[Rule, ...] = attrs.field(default=(), metadata=about("Conditions that every row must meet."))
    source_columns: tuple[str, ...] = attrs.field(default=(), metadata=about("Source columns in file order, for CSV without a header."))
    table_properties: dict[str, str] = attrs.field(factory=dict, metadata=about("Further Iceberg table properties, set at creation."))
    format_version: int = attrs.field(default=2, metadata=about("Iceberg format version.", enum=[2, 3]))
    write_mode: str = attrs.field(
        default="merge-on-read", metadata=about("How Iceberg writes updates.", enum=["merge-on-read", "copy-on-write"])
    )
    target_file_size_mb: int = attrs.field(default=128, metadata=about("Size of data files to aim at, in MiB.", minimum=1, maximum=10_240))
    maintenance: Maintenance = attrs.field(default=Maintenance(), metadata=about("The table's own values of maintenance keys."))

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
    """How much one batch reads, and how far back the job looks for late files."""

    max_bytes: int = attrs.field(default=1 << 30, metadata=about("Bytes of bronze in one batch.", minimum=1))
    max_files: int = attrs.field(default=2_000, metadata=about("Files in one batch.", minimum=1))
    look_back_hours: float = attrs.field(
        default=24.0,
        metadata=about("Late files are looked for in the hours before now, or before the newest merged file if older.", **HOURS),
    )


@attrs.frozen(kw_only=True)
class Quarantine:
    """Where rejected rows go. Masks do not apply to them, so give this namespace its own access rules."""

    namespace: str = attrs.field(default="quarantine", metadata=about("Namespace (Glue database) of quarantine tables."))


@attrs.frozen(kw_only=True)
class Model:
    """A gold table: the result of a query over silver tables and other models. The job refreshes it after one of them has changed."""

    sql: str = attrs.field(metadata=about("One query; tables as namespace.table."))
    refresh: Refresh = attrs.field(default=Refresh.AUTO, metadata=about("Replace all of it, the groups that changed, or what costs less."))
    partition_by: tuple[str, ...] = attrs.field(default=(), metadata=about("Iceberg partition transforms over the query's columns."))
    table_properties: dict[str, str] = attrs.field(factory=dict, metadata=about("Iceberg table properties."))
    refresh_seconds: float = attrs.field(default=60.0, metadata=about("In a watch, the least seconds between two refreshes.", minimum=1))


@attrs.frozen(kw_only=True)
class Config:
    """One pipeline: where DMS writes, to which catalog the job writes, and what each table becomes.

    Here all paths are absolute.
    """

    pipeline: str = attrs.field(metadata=about("Name of the pipeline, used in logs and metrics."))
    bronze: Bronze = attrs.field(metadata=about("The files that DMS writes."))
    catalog: Catalog = attrs.field(metadata=about("The Iceberg catalog to write to."))
    tables: dict[str, Table] = attrs.field(metadata=about("Source tables, as schema.table."))
    quarantine: Quarantine = attrs.field(default=Quarantine(), metadata=about("Where rejected rows go."))
    batch: Batch = attrs.field(default=Batch(), metadata=about("How much one batch reads."))
    maintenance: Maintenance = attrs.field(
        default=Maintenance(), metadata=about("When tables are maintained, unless they have their own values.")
    )
    parallelism: int = attrs.field(default=4, metadata=about("Tables merged at once: no more than Spark's cores.", minimum=1, maximum=64))
    timestamps: Timestamps = attrs.field(default=Timestamps.INSTANT, metadata=about("Type of undeclared Parquet timestamps."))
    gold: dict[str, Model] = attrs.field(factory=dict, metadata=about("Models over silver tables, by target namespace.table."))
    state_uri: str = attrs.field(default=".", metadata=about("Folder of the run state; by default the document's own."))
