"""What the errors of a commit mean: done, refused, or unknown."""

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
    """Whether ``error`` says that another writer committed first, or may have, so that the batch must be planned again."""
    return any(class_of(java) in _CONFLICTS for java in causes(error))


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
