"""Recognises records of other tools by their columns: files that carry the names of DMS's, and are not those of its S3 target. Pure."""

from collections.abc import Collection, Iterable

import attrs

_OF_DMS = "Let a DMS task write to an S3 target, and name the folder of its endpoint"


@attrs.frozen(kw_only=True)
class ForeignRecords:
    """What records are, and what to do.

    Attributes:
        found: a clause that names the columns by which they were recognised.
        advice: what to do instead.
    """

    found: str
    advice: str


@attrs.frozen
class _Tool:
    said: str
    columns: frozenset[str]
    some_of: Collection[str] = ()


_DEBEZIUM = "change events of Debezium"
_TOOLS = (
    # "Data message format" in the DMS user guide, "Using Amazon Kinesis Data Streams as a target".
    _Tool("the records that DMS writes for a stream (Kinesis or Kafka)", frozenset({"data", "metadata"}), ("before-image", "control")),
    # debezium.io, "Change event values".
    _Tool(_DEBEZIUM, frozenset({"before", "after", "source", "op"}), ("ts_ms", "ts_us", "ts_ns", "transaction")),
    _Tool(_DEBEZIUM, frozenset({"schema", "payload"})),
    # maxwells-daemon.io, "Data format".
    _Tool("change events of Maxwell", frozenset({"database", "table", "type", "ts", "data"}), ("old", "xid", "commit", "xoffset")),
)


def foreign_records(names: Iterable[str]) -> ForeignRecords | None:
    """Return whose records these are, None where nothing shows that they are another tool's.

    Args:
        names: the columns of files, or the members of their JSON lines.
    """
    there = {name.casefold() for name in names}
    tool = next((one for one in _TOOLS if one.columns <= there <= one.columns | set(one.some_of)), None)
    if tool is None:
        return None
    return ForeignRecords(
        found=f"the files have {', '.join(sorted(there))} and no operation. So have {tool.said}, which are no rows of an S3 target",
        advice=f"Such records cannot be merged. {_OF_DMS}",
    )
