"""What the errors of a commit mean: done, refused, or nobody knows."""

from dms_iceberg.spark.java_errors import causes, class_of

_COMMIT_FAILED = "org.apache.iceberg.exceptions.CommitFailedException"
_STATE_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_AWS = "software.amazon.awssdk."
_CONFLICTS = (
    "org.apache.iceberg.exceptions.ValidationException",
    _COMMIT_FAILED,
    _STATE_UNKNOWN,
    "org.apache.iceberg.exceptions.AlreadyExistsException",
)


def is_conflict(error: BaseException) -> bool:
    """Whether ``error`` says that somebody else committed first, or may have, so that the batch must be planned anew."""
    return any(class_of(java) in _CONFLICTS for java in causes(error))


def is_unknown(error: BaseException | None) -> bool:
    """Whether ``error`` leaves open if the commit was done: the catalog's answer was lost, and asking again did not help."""
    return is_misjudged(error) or any(class_of(java) == _STATE_UNKNOWN for java in causes(error))


def is_refused(error: BaseException | None) -> bool:
    """Whether ``error`` is Iceberg's word that the commit was not done."""
    return next(map(class_of, causes(error)), "") == _COMMIT_FAILED


def is_misjudged(error: BaseException | None) -> bool:
    """Whether Iceberg takes a commit for refused though Glue said nothing of the kind.

    Iceberg 1.10 does so with any answer of Glue but success that the AWS SDK did not try again, a 500 included (the SDK stops trying
    when many requests have failed, or when AWS_MAX_ATTEMPTS is 1), and deletes the metadata file: if Glue did commit, nobody can read
    the table any more. See GlueTableOperations.doCommit, where only a retried request is looked after.
    """
    cause = [*map(class_of, causes(error)), "", ""][1]
    return is_refused(error) and cause.startswith(_AWS) and not cause.endswith(".ConcurrentModificationException")
