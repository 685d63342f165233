"""What Iceberg's own table properties may hold: a wrong value fails the first commit, or every one, or is ignored without a word.

Names and values are those of Iceberg's documentation, "Configuration", for 1.10 and 1.11. Properties that are not here may have any value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from dms_iceberg.config.problems import suggestion

_NUMBERS = frozenset(
    f"{prefix}.{name}"
    for prefix, names in {
        "commit": (
            "manifest.min-count-to-merge manifest.target-size-bytes retry.max-wait-ms retry.min-wait-ms retry.num-retries "
            "retry.total-timeout-ms status-check.max-wait-ms status-check.min-wait-ms status-check.num-retries "
            "status-check.total-timeout-ms"
        ),
        "history.expire": "max-ref-age-ms max-snapshot-age-ms min-snapshots-to-keep",
        "read": (
            "orc.vectorization.batch-size parquet.vectorization.batch-size split.metadata-target-size split.open-file-cost "
            "split.planning-lookback split.target-size"
        ),
        "write": (
            "delete.target-file-size-bytes metadata.metrics.max-inferred-column-defaults metadata.previous-versions-max "
            "parquet.bloom-filter-max-bytes parquet.dict-size-bytes parquet.page-row-limit parquet.page-size-bytes "
            "parquet.row-group-check-max-record-count parquet.row-group-check-min-record-count parquet.row-group-size-bytes "
            "summary.partition-limit"
        ),
    }.items()
    for name in names.split()
)
_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "commit.manifest-merge.enabled",
            "gc.enabled",
            "read.orc.vectorization.enabled",
            "read.parquet.vectorization.enabled",
            "write.metadata.delete-after-commit.enabled",
            "write.object-storage.enabled",
            "write.object-storage.partitioned-paths",
            "write.spark.fanout.enabled",
        ),
        ("true", "false"),
    ),
    **dict.fromkeys(("write.delete.mode", "write.update.mode"), ("copy-on-write", "merge-on-read")),
    **dict.fromkeys(("write.delete.isolation-level", "write.update.isolation-level"), ("serializable", "snapshot")),
    **dict.fromkeys(
        ("write.distribution-mode", "write.delete.distribution-mode", "write.update.distribution-mode"), ("none", "hash", "range")
    ),
    "write.format.default": ("parquet", "avro", "orc"),
    "write.metadata.compression-codec": ("none", "gzip"),
    "write.parquet.compression-codec": ("zstd", "gzip", "snappy", "lz4", "lz4_raw", "brotli", "uncompressed"),
}
_METRICS = re.compile(r"none|counts|full|truncate\([1-9][0-9]*\)", re.IGNORECASE)
_METRICS_WORDS = "none, counts, full, truncate(n)"
_OF_COLUMN = re.compile(
    r"(?P<kind>write\.(?:metadata\.metrics|parquet\.(?:bloom-filter-enabled|bloom-filter-fpp|stats-enabled)))\.column\.(?P<column>.+)"
)


def property_problem(name: str, value: str) -> str | None:
    """Return why Iceberg cannot use the value of a property, None if it can."""
    if name in _NUMBERS and not re.fullmatch(r"-?[0-9]{1,18}", value):
        return f"'{name}' is {value!r}, and Iceberg needs a whole number"
    named = _OF_COLUMN.fullmatch(name)
    kind = named["kind"] if named is not None else ""
    if (kind == "write.metadata.metrics" or name == "write.metadata.metrics.default") and not _METRICS.fullmatch(value):
        return f"'{name}' is {value!r}; allowed: {_METRICS_WORDS}"
    words = _WORDS.get(name, ("true", "false") if kind.endswith("-enabled") else ())
    if words and value.lower() not in words:
        return f"'{name}' is {value!r}; allowed: {', '.join(words)}"
    return None


def unknown_columns(properties: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with each property that names a column which the table does not have. Case counts, as it does for Iceberg.

    Args:
        properties: names of table properties.
        names: full names of the table's columns and members.
    """
    known = set(names)
    for name in properties:
        found = _OF_COLUMN.fullmatch(name)
        if found is not None and found["column"] not in known:
            yield f"'{name}': the table has no column '{found['column']}'; {suggestion(found['column'], sorted(known))}"
