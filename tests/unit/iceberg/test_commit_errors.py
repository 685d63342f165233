"""Which errors of Iceberg are lost races, and which come again each time."""

import attrs
import pytest

from dms_iceberg.iceberg import commit_errors
from dms_iceberg.iceberg.commit_errors import is_conflict, refusal

EXCEPTIONS = "org.apache.iceberg.exceptions."
VALIDATION = f"{EXCEPTIONS}ValidationException"


@attrs.frozen
class Named:
    name: str

    def getName(self) -> str:
        return self.name

    def getClassName(self) -> str:
        return self.name


@attrs.frozen
class Java:
    """A Java exception, as far as it is asked."""

    kind: str
    message: str
    frames: tuple[str, ...] = ()

    def getClass(self) -> Named:
        return Named(self.kind)

    def getMessage(self) -> str:
        return self.message

    def getStackTrace(self) -> list[Named]:
        return list(map(Named, self.frames))


@pytest.fixture
def raised(monkeypatch: pytest.MonkeyPatch) -> list[Java]:
    """The Java exceptions behind each error."""
    found: list[Java] = []
    monkeypatch.setattr(commit_errors, "causes", lambda error: iter(found))
    return found


RACES = (
    ("MergingSnapshotProducer", "Found conflicting files that can contain records matching true: [a]"),
    ("MergingSnapshotProducer", "Cannot determine history between starting snapshot 1 and the last known ancestor 2"),
    ("ManifestFilterManager", "Missing required files to delete: a"),
    ("BaseRowDelta", "Cannot delete data files [a] that are referenced by new delete files"),
    ("BaseRewriteManifests", "Deleted manifest a could not be found in the latest snapshot 1"),
    ("SetSnapshotOperation", "Cannot roll back to unknown snapshot id: 1"),
    ("SnapshotProducer", "Snapshot ancestry validation failed: a"),
    ("util.SnapshotUtil", "Cannot determine history between read snapshot 1 and the last known ancestor 2"),
    ("MergingSnapshotProducer$Inner", "Found new conflicting delete files"),
)
FOR_GOOD = (
    ("types.IndexByName", "Invalid schema: multiple fields for name imdb.rating: 3 and 2"),
    ("MetricsConfig", "Invalid metrics config, could not find column tytel from table prop x in schema table {\n  1: id: int\n}"),
    ("util.PropertyUtil", "Table property commit.retry.num-retries must have integer value"),
    ("PartitionSpec", "Cannot find source column for partition field: 1000: x: identity(5)"),
    ("SortOrder", "Cannot find source column for sort field: identity(5)"),
    ("TableMetadata$Builder", "Cannot set main to unknown snapshot: 5"),
    ("RemoveSnapshots", "Cannot expire snapshots: GC is disabled (deleting files may corrupt other tables)"),
    ("aws.glue.GlueTableOperations", "Cannot commit x because Glue encountered a validation exception while accessing requested resources"),
    ("aws.glue.IcebergToGlueConverter", "Cannot use X as Glue table name, because it must be 1-255 chars of lowercase letters"),
    ("expressions.NamedReference", "Cannot find field 'secret value' in struct"),
)


def frames(origin: str) -> tuple[str, ...]:
    return (VALIDATION, f"org.apache.iceberg.{origin}", "org.apache.iceberg.BaseTransaction")


@pytest.mark.parametrize(("origin", "message"), RACES)
def test_races(raised: list[Java], origin: str, message: str) -> None:
    raised[:] = [Java("org.apache.spark.SparkException", "Writing job aborted"), Java(VALIDATION, message, frames(origin))]
    assert is_conflict(Exception())
    assert refusal(Exception()) is None
    raised[:] = [Java(VALIDATION, message)]
    assert is_conflict(Exception()) is message.startswith(commit_errors._WORDS_OF_RACES)


@pytest.mark.parametrize(("origin", "message"), FOR_GOOD)
def test_refusals(raised: list[Java], origin: str, message: str) -> None:
    raised[:] = [Java("org.apache.spark.SparkException", "Unsupported table change"), Java(VALIDATION, message, frames(origin))]
    assert not is_conflict(Exception())
    text = refusal(Exception())
    assert text is not None
    assert "schema table" not in text
    assert "secret" not in text
    first = message.partition(" in schema")[0]
    assert (first in text) is not origin.startswith("expressions")
    raised[:] = [Java(VALIDATION, message)]
    assert not is_conflict(Exception())


@pytest.mark.parametrize("kind", ["CommitFailedException", "CommitStateUnknownException", "AlreadyExistsException"])
def test_other_exceptions_of_a_commit(raised: list[Java], kind: str) -> None:
    raised[:] = [Java(EXCEPTIONS + kind, "Cannot commit")]
    assert is_conflict(Exception())
    assert refusal(Exception()) is None


def test_no_java() -> None:
    assert not is_conflict(ValueError())
    assert refusal(ValueError()) is None
