"""What a model's content was built from: kept in the summary of its snapshot, so that both are committed together or not at all."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Self

import attrs

from dms_iceberg.config.model import Model
from dms_iceberg.config.model_meaning import Clock, meaning_of_names
from dms_iceberg.config.model_sql import pinned
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.store import digest

_DAY = len("2026-03-01")


@attrs.frozen
class Input:
    """The state of a table that a model read.

    Attributes:
        snapshot: id of the snapshot that was read, None for a table without one.
        content: id of the newest snapshot at that time that had changed a row.
        names: what the query's names mean in the table (`meaning_of_names`).
    """

    snapshot: int | None
    content: int | None
    names: str

    @classmethod
    def of(cls, table: TargetTable, sql: str) -> Self:
        """Return the present state of a table for a query, from a single read: another thread may be merging into it.

        The names are those of its newest snapshot, with which the query reads it (`ModelInputs.pinned`).
        """
        table.refresh()
        snapshot, content = table.content()
        return cls(snapshot, content, meaning_of_names(sql, table.fields(snapshot)))

    def has_content_of(self, other: "Input") -> bool:
        """Whether both have the same rows. An equal ``snapshot`` proves it, even if the one that last changed a row has expired."""
        return self.content == other.content or (self.snapshot is not None and self.snapshot == other.snapshot)

    def reads_as(self, other: "Input") -> bool:
        """Whether both give a query the same: they have the same rows, and the query's names mean the same columns."""
        return self.names == other.names and self.has_content_of(other)


@attrs.frozen
class ModelInputs:
    """What a model was built from.

    Attributes:
        definition: digest of its SQL, partitions and properties.
        inputs: the state of each table that was read, by name in folded case.
        at: when its query began, in UTC, as ISO text.
    """

    definition: str
    inputs: Mapping[str, Input]
    at: str = ""

    @classmethod
    def of(cls, model: Model, tables: Mapping[str, TargetTable]) -> Self:
        """Return what a model would be built from now; ``tables`` are those that it reads and that exist."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(definition_of(model), {name: Input.of(table, model.sql) for name, table in tables.items()}, at)

    def is_of(self, other: "ModelInputs", clock: Clock | None) -> bool:
        """Whether both would give the same content; ``clock``: how often the clock gives the query another result."""
        if self.definition != other.definition or self.inputs.keys() != other.inputs.keys() or self.clock_went_on(other, clock):
            return False
        return all(one.reads_as(other.inputs[name]) for name, one in self.inputs.items())

    def clock_went_on(self, other: "ModelInputs", clock: Clock | None) -> bool:
        """Whether the clock would give another result than when the other content was built."""
        return clock is Clock.MOMENT or (clock is Clock.DAY and self.at[:_DAY] != other.at[:_DAY])

    def pinned(self, sql: str, catalog: str) -> str:
        """Return the model's query over exactly these snapshots."""
        return pinned(sql, catalog, {name: one.snapshot for name, one in self.inputs.items() if one.snapshot is not None})

    def to_summary(self) -> dict[str, str]:
        """Return the snapshot property that records it."""
        inputs = {name: [one.snapshot, one.content, one.names] for name, one in self.inputs.items()}
        return {GOLD_KEY: json.dumps({"definition": self.definition, "inputs": inputs, "at": self.at}, separators=(",", ":"))}


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
            inputs = {name: Input(*one) for name, one in document["inputs"].items()}
            return ModelInputs(document["definition"], inputs, document["at"])
        if snapshot.id == content:
            return None
    return None
