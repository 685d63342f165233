"""The configuration's enumerations. ``config.model`` exports them; import them from there."""

from enum import StrEnum


class BronzeFormat(StrEnum):
    """What DMS writes: ``DataFormat`` of its S3 endpoint, or JSON lines of another writer."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


class BeforeImage(StrEnum):
    """Whether each CSV file without a header has the before-images that the document names.

    * ``required``: a file without them is refused.
    * ``optional``: a file has all of them or none, as that of a task to which their mapping rule was added later.
    """

    REQUIRED = "required"
    OPTIONAL = "optional"


class Mode(StrEnum):
    """What a silver table holds.

    * ``mirror``: the source's current state; deletes are physical.
    * ``soft_delete``: the source's current state; deleted rows stay, marked, with their last values.
    * ``history``: every version of each row, with the time from which and until which it was valid (SCD type 2).
    * ``append``: every change as a row, once: a log.
    """

    MIRROR = "mirror"
    SOFT_DELETE = "soft_delete"
    HISTORY = "history"
    APPEND = "append"


class SchemaChanges(StrEnum):
    """What happens when files and table differ in structure.

    * ``evolve``: columns are added and types widened; a value that does not fit its column is quarantined.
    * ``quarantine``: the table keeps its structure; rows of files with another one are quarantined.
    * ``strict``: the table fails before anything is written.
    """

    EVOLVE = "evolve"
    QUARANTINE = "quarantine"
    STRICT = "strict"


class TypeChanges(StrEnum):
    """What happens to values whose new type their column cannot be widened to.

    * ``quarantine``: those that fit the column stay; rows of the others are quarantined.
    * ``new_column``: they go to a further column of their type; in the old one they are NULL.
    * ``fail``: the table fails before anything is written.
    """

    QUARANTINE = "quarantine"
    NEW_COLUMN = "new_column"
    FAIL = "fail"


class NewColumns(StrEnum):
    """What becomes of a new source column that may be one which silver masks or leaves out, under a new name.

    * ``hold``: silver does not get a column that comes in files which no longer have such a column, until the document names it.
    * ``add``: silver gets it, as any other new column.
    """

    HOLD = "hold"
    ADD = "add"


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
    """How a column is made unreadable.

    ``sha256`` keeps equality, ``partial`` keeps the last four characters.
    """

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


class AfterRun(StrEnum):
    """Which steps of a table's maintenance follow a merge into it: at the end of a run, and between the batches of ``watch``.

    * ``all``: whatever is needed, compaction included.
    * ``metadata``: steps that cost little however large the table is: expiry of snapshots, and manifests.
    * ``nothing``: none; ``dms-iceberg maintain`` does all.
    """

    ALL = "all"
    METADATA = "metadata"
    NOTHING = "nothing"


class Refresh(StrEnum):
    """How a gold model is refreshed: in full, only the groups that changes have touched, or whichever of both costs less."""

    AUTO = "auto"
    FULL = "full"
    INCREMENTAL = "incremental"
