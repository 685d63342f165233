"""Read the facts for maintenance from one metadata file and one manifest list, without a Spark job and without reading data."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from dms_iceberg.config.model import Maintenance
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.iceberg.java_maps import to_java_map
from dms_iceberg.iceberg.transaction import MAIN
from dms_iceberg.maintenance.expiry import SnapshotFact
from dms_iceberg.maintenance.plan import Compactable, TableStats
from dms_iceberg.maintenance.procedures import heavy_only, weights
from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.silver.table import BEFORE_PROPERTY

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_TARGET_SIZE = "write.target-file-size-bytes"
_MANIFEST_SIZE = "commit.manifest.target-size-bytes"
_OWN = "dms-iceberg."
_CARRIED = {PROGRESS_KEY, GOLD_KEY}
"""Keys of snapshot summaries that say what a silver table or model was built from, and that later snapshots must keep."""
_DEFAULT_TARGET, _DEFAULT_MANIFEST = 512 << 20, 8 << 20


def stats_of_metadata(document: Mapping[str, Any], *, is_silver: bool = True) -> TableStats:
    """Return the facts that a table's metadata document (its parsed metadata.json) contains."""
    properties = document["properties"]
    snapshots = [
        SnapshotFact(one["snapshot-id"], one.get("parent-snapshot-id"), one["timestamp-ms"], not _CARRIED.isdisjoint(one["summary"]))
        for one in document.get("snapshots", ())
    ]
    refs = {name: ref["snapshot-id"] for name, ref in document.get("refs", {}).items()}
    head: Mapping[str, str] = next((one["summary"] for one in document.get("snapshots", ()) if one["snapshot-id"] == refs.get(MAIN)), {})
    return TableStats(
        snapshots=tuple(snapshots),
        refs=refs,
        named=frozenset(_named(properties)),
        properties=properties,
        data_files=int(head.get("total-data-files", 0)),
        delete_files=int(head.get("total-delete-files", 0)),
        format_version=document["format-version"],
        target_bytes=int(properties.get(_TARGET_SIZE, _DEFAULT_TARGET)),
        is_silver=is_silver,
    )


def _named(properties: Mapping[str, str]) -> Iterable[int]:
    """Yield the snapshots that the job's table properties name: if one is no longer an ancestor, the job does its work again."""
    for name, text in properties.items():
        if name.startswith(BEFORE_PROPERTY):
            yield int(name.removeprefix(BEFORE_PROPERTY))
        if not name.startswith(_OWN):
            continue
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict) and str(value.get("snapshot", "")).isdecimal():
            yield int(value["snapshot"])


def read_stats(spark: "SparkSession", table: "JavaObject", *, is_silver: bool = True) -> TableStats:
    """Return the facts about a (refreshed) table that are cheap to read."""
    jvm: Any = spark._jvm
    document = json.loads(jvm.org.apache.iceberg.TableMetadataParser.toJson(table.operations().current()))
    stats = stats_of_metadata(document, is_silver=is_silver)
    current = table.currentSnapshot()
    if current is None:
        return stats
    small = int(stats.properties.get(_MANIFEST_SIZE, _DEFAULT_MANIFEST)) // 2
    manifests = current.allManifests(table.io())
    # By index: a Py4J iteration ends with an exception, and PySpark spends ten milliseconds on it.
    every = [manifests.get(number) for number in range(manifests.size())]
    # Only manifests of the same kind and partition spec can be merged.
    kinds = Counter((str(one.content()), one.partitionSpecId()) for one in every if one.length() < small)
    return attrs.evolve(stats, small_manifests=sum(count for count in kinds.values() if count > 1))


def with_compactable(stats: TableStats, spark: "SparkSession", table: "JavaObject", rules: Maintenance) -> TableStats:
    """Add what Iceberg's own planner would compact; it reads manifests in this process.

    The same planner decides what is needed and what is done, so a table that was just compacted needs no other compaction.
    """
    if not stats.delete_files and stats.data_files < rules.small_files:
        return stats
    files, _ = _planned(spark, table, weights(rules))
    if not files:
        return stats
    return attrs.evolve(stats, compactable=Compactable(files, _planned(spark, table, heavy_only(rules))[1]))


def _planned(spark: "SparkSession", table: "JavaObject", options: Mapping[str, str]) -> tuple[int, int]:
    """Return the number and total bytes of the files that a compaction with ``options`` would rewrite."""
    jvm: Any = spark._jvm
    planner = jvm.org.apache.iceberg.actions.BinPackRewriteFilePlanner(table)
    planner.init(to_java_map(jvm, options))
    groups = planner.plan().groups().iterator()
    files = size = 0
    while groups.hasNext():
        group = groups.next()
        files += group.inputFileNum()
        size += group.inputFilesSizeInBytes()
    return files, size
