"""What the errors of a commit mean: done, refused for now, refused for good, or unknown."""

from typing import TYPE_CHECKING

from dms_iceberg.spark.java_errors import causes, class_of

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_COMMIT_FAILED = "org.apache.iceberg.exceptions.CommitFailedException"
_STATE_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_VALIDATION = "org.apache.iceberg.exceptions.ValidationException"
_ALREADY_EXISTS = "org.apache.iceberg.exceptions.AlreadyExistsException"
_AWS = "software.amazon.awssdk."
_CONFLICTS = (_COMMIT_FAILED, _STATE_UNKNOWN, _ALREADY_EXISTS)
# Of 1.10 and 1.11: they compare a change with what others have committed since it began. The same exception of any other class is about
# the table itself (its schema, properties, partitions), and comes again each time.
_RACES = frozenset(
    f"org.apache.iceberg.{name}"
    for name in (
        "BaseOverwriteFiles",
        "BaseReplacePartitions",
        "BaseRewriteManifests",
        "BaseRowDelta",
        "CherryPickOperation",
        "ManifestFilterManager",
        "MergingSnapshotProducer",
        "SetSnapshotOperation",
        "SnapshotProducer",
        "util.SnapshotUtil",
    )
)
_CHECKS = ("org.apache.iceberg.exceptions.", "org.apache.iceberg.relocated.")
# Only where Java tells no origin.
_WORDS_OF_RACES = ("Found ", "Missing required files", "Cannot commit, ", "Cannot determine history", "Cannot delete data files")
# Their messages may quote a value of a filter.
_WITH_VALUES = ("org.apache.iceberg.expressions.", "org.apache.iceberg.spark.")
_WAYS_OUT = {
    "org.apache.iceberg.MetricsConfig": "Correct the property in table_properties; of a table that is there, with ALTER TABLE",
    "org.apache.iceberg.util.PropertyUtil": "Correct the property in table_properties; of a table that is there, with ALTER TABLE",
    "org.apache.iceberg.spark.actions.DeleteOrphanFilesSparkAction": "It cannot tell which files are orphans: the table's metadata names "
    "one by another scheme or authority (s3a, hdfs://host) than the listing shows. Nothing was deleted: remove it from the table, or turn "
    "the step off with maintenance.orphan_files_older_than_hours: null",
    "org.apache.iceberg.types.IndexByName": "A column and a member of a nested column have one full name: give one of them another name in "
    "silver, with columns[].name and from",
}
_MOST_CHARACTERS = 300


def is_conflict(error: BaseException) -> bool:
    """Whether ``error`` says that another writer committed first, or may have, so that the batch must be planned again."""
    return any(class_of(java) in _CONFLICTS or (class_of(java) == _VALIDATION and _is_race(java)) for java in causes(error))


def refusal(error: BaseException) -> str | None:
    """Return Iceberg's reason why it refuses a change for good, and the way out; None for any other error."""
    java = next((java for java in causes(error) if class_of(java) == _VALIDATION), None)
    if java is None or _is_race(java):
        return None
    origin, text = _origin(java), " ".join(str(java.getMessage()).partition(" in schema table {")[0].split())
    way_out = _WAYS_OUT.get(origin, "Correct what it names, in the document or in the table")
    quoted = "the message is left out, as it may quote a value" if origin.startswith(_WITH_VALUES) else text[:_MOST_CHARACTERS]
    return f"Iceberg refuses it, and would each time: {quoted}. {way_out}."


def is_there_already(error: BaseException) -> bool:
    """Whether ``error`` says that the catalog has something of the name of a table to be created."""
    return any(class_of(java) == _ALREADY_EXISTS for java in causes(error))


def _is_race(java: "JavaObject") -> bool:
    origin = _origin(java)
    return origin in _RACES if origin else str(java.getMessage()).startswith(_WORDS_OF_RACES)


def _origin(java: "JavaObject") -> str:
    """Return the class that raised an exception, without a nested one's own name; "" where Java does not tell."""
    names = (str(frame.getClassName()) for frame in java.getStackTrace())
    return next((name.partition("$")[0] for name in names if not name.startswith(_CHECKS)), "")


def is_unknown(error: BaseException | None) -> bool:
    """Whether ``error`` leaves open if the commit was done: the catalog's answer was lost, and checking again did not help."""
    return is_misjudged(error) or any(class_of(java) == _STATE_UNKNOWN for java in causes(error))


def is_refused(error: BaseException | None) -> bool:
    """Whether ``error`` is Iceberg's statement that the commit was not done."""
    return next(map(class_of, causes(error)), "") == _COMMIT_FAILED


def is_misjudged(error: BaseException | None) -> bool:
    """Whether Iceberg reports a commit as refused although Glue did not say so.

    Iceberg 1.10 does so after any failed request to Glue that the AWS SDK did not retry, a 500 included (the SDK stops retrying when many
    requests have failed, or when AWS_MAX_ATTEMPTS is 1), and deletes the metadata file: if Glue did commit, the table cannot be read any
    more. See GlueTableOperations.doCommit, which checks the state of the commit only after a retried request.
    """
    cause = [*map(class_of, causes(error)), "", ""][1]
    return is_refused(error) and cause.startswith(_AWS) and not cause.endswith(".ConcurrentModificationException")
