"""What a model's content was built from: kept in the summary of its snapshot, so that both are committed together or not at all."""

import json
from collections.abc import Mapping
from typing import Self

import attrs

from dms_iceberg.config.model import Model
from dms_iceberg.config.model_sql import pinned
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.store import digest


@attrs.frozen
class Input:
    """The state of a table that a model read.

    Attributes:
        snapshot: id of the snapshot that was read, None for a table without one.
        content: id of the newest snapshot at that time that had changed a row.
    """

    snapshot: int | None
    content: int | None

    @classmethod
    def of(cls, table: TargetTable) -> Self:
        """Return the present state of a table, from a single read: another thread may be merging into it."""
        table.refresh()
        return cls(*table.content())

    def has_content_of(self, other: "Input") -> bool:
        """Whether both have the same rows. An equal ``snapshot`` proves it, even if the one that last changed a row has expired."""
        return self.content == other.content or (self.snapshot is not None and self.snapshot == other.snapshot)


@attrs.frozen
class ModelInputs:
    """What a model was built from.

    Attributes:
        definition: digest of its SQL, partitions and properties.
        inputs: the state of each table that was read, by name in folded case.
    """

    definition: str
    inputs: Mapping[str, Input]

    def is_of(self, other: "ModelInputs") -> bool:
        """Whether both would give the same content."""
        if self.definition != other.definition or self.inputs.keys() != other.inputs.keys():
            return False
        return all(one.has_content_of(other.inputs[name]) for name, one in self.inputs.items())

    def pinned(self, sql: str, catalog: str) -> str:
        """Return the model's query over exactly these snapshots."""
        return pinned(sql, catalog, {name: one.snapshot for name, one in self.inputs.items() if one.snapshot is not None})

    def to_summary(self) -> dict[str, str]:
        """Return the snapshot property that records it."""
        inputs = {name: [one.snapshot, one.content] for name, one in self.inputs.items()}
        return {GOLD_KEY: json.dumps({"definition": self.definition, "inputs": inputs}, separators=(",", ":"))}


def definition_of(model: Model) -> str:
    """Return the digest of everything in a model's definition that its content depends on."""
    text = json.dumps([model.sql, list(model.partition_by), sorted(model.table_properties.items())])
    return digest(text, 16).hex()


def recorded_inputs(table: TargetTable) -> ModelInputs | None:
    """Return what a model's present content was built from; None if unknown, for example because another writer has written to it."""
    _, content = table.content()
    for snapshot in table.lineage():
        if text := snapshot.summary.get(GOLD_KEY):
            document = json.loads(text)
            return ModelInputs(document["definition"], {name: Input(*ids) for name, ids in document["inputs"].items()})
        if snapshot.id == content:
            return None
    return None
