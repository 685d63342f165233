"""Random worlds as objects in a bucket folder, in every format, and the configuration that reads them."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pyarrow.parquet as pq

from dms_emulator.files import BeforeImages, Change, CsvShape, FileFormat, FileShape, TableLayout, encode
from support.histories import START_US, World
from support.table_kind import SCHEMA, TableKind


@attrs.frozen
class Format:
    """A format: how files are written, and what ``bronze`` says about it."""

    name: str
    shape: FileShape
    bronze: Mapping[str, Any]

    @property
    def quotes(self) -> bool:
        """Whether a value may hold line ends, and whatever else stands between values."""
        return self.shape.format is not FileFormat.CSV or self.shape.csv.rfc4180

    @property
    def tells_empty_text(self) -> bool:
        """Whether an empty text is told from NULL."""
        return self.shape.format is not FileFormat.CSV or bool(self.shape.csv.null)

    @property
    def tells_repetitions(self) -> bool:
        """Whether a change that is written again is told from another one like it: by its place in the source's log."""
        return self.shape.stream_position_column is not None

    def without_stream_position(self) -> "Format":
        """The same, of a task that does not write the stream position."""
        change = {"stream_position_column": None}
        return Format(self.name, attrs.evolve(self.shape, **change), {**self.bronze, "change": change})

    def without_sequence(self) -> "Format":
        """The same, of a task that does not write the sequence: commit times are the order, then files, then rows."""
        change = {"sequence_column": None}
        return Format(self.name, attrs.evolve(self.shape, **change), {**self.bronze, "change": change})

    def by_file(self) -> "Format":
        """The same, of a task with DMS's defaults: it writes neither commit time nor sequence nor stream position."""
        change = {"timestamp_column": None, "sequence_column": None, "stream_position_column": None}
        return Format(f"{self.name}-by-file", attrs.evolve(self.shape, **change), {**self.bronze, "change": change})

    @property
    def is_by_file(self) -> bool:
        """Whether files are the order of changes."""
        return self.bronze.get("change", {}).get("timestamp_column", "") is None

    def without_nulls(self) -> "Format":
        """JSON lines that leave out what is NULL."""
        return Format(self.name, attrs.evolve(self.shape, json_nulls=False), self.bronze)

    @property
    def needs_source_columns(self) -> bool:
        """Whether a table must name its columns, because the files don't."""
        return self.shape.format is FileFormat.CSV and not self.shape.csv.header


def _csv(name: str, *, gzip: bool = False, **csv: Any) -> Format:
    return Format(name, FileShape(format=FileFormat.CSV, csv=CsvShape(**csv), gzip=gzip), {"format": "csv", "csv": csv})


FORMATS: tuple[Format, ...] = (
    Format("parquet", FileShape(), {"format": "parquet"}),
    _csv("csv", header=True, rfc4180=False, delimiter="|"),
    _csv("csv-headerless", header=False, null="<null>"),
    _csv("csv-gz", header=True, gzip=True),
    Format("json", FileShape(format=FileFormat.JSON, json_numbers=True), {"format": "json"}),
)


@attrs.frozen
class BronzeFolder:
    """A bucket folder that the files of a world arrive in."""

    root: Path
    world: World
    form: Format

    def deliver(self, run: int) -> int:
        """Write the files that arrive, or are uploaded again, before a run; returns how many."""
        kinds = {kind.name: kind for kind in self.world.kinds}
        count = 0
        for place, (file, arrival) in enumerate(zip(self.world.files, self.world.arrivals, strict=True)):
            if run in (arrival, self.world.uploads.get(place)):
                kind = kinds[file.table]
                layout = kind.layout_of(file)
                changes = [_narrowed(row.change, kind, layout) for row in file.rows]
                images = BeforeImages.ALL if kind.images else BeforeImages.PK_ONLY
                shape = attrs.evolve(self.form.shape, before_images=images)
                data = encode(layout if self.form.needs_source_columns else kind.named_in(file, layout), changes, shape, load=file.is_load)
                # Where files are the order, a copy in a second folder must have the size of the other.
                if run != arrival and self.form.shape.format is FileFormat.PARQUET and not self.form.is_by_file:
                    data = _regrouped(data)
                path = self._put(file.key(SCHEMA, self.form.shape.extension), data)
                if file.is_load and (kind.in_order or self.world.truncates):
                    os.utime(path, (self._loaded_at(kind), self._loaded_at(kind)))
                count += 1
        return count

    def _loaded_at(self, kind: TableKind) -> float:
        """When a table's full load was written, in seconds since 1970 UTC, where that matters."""
        count = self.world.plans[kind.name].load_at
        if kind.in_order or not count:
            # So the load is known to hold no change that comes again.
            return START_US / 1e6 - 3600
        # A truncate comes a second later at the earliest.
        return max(one.commit_us for one in self.world.transactions[:count]) / 1e6 + 0.5

    def document(self, warehouse: Path, namespace: str) -> dict[str, Any]:
        """The configuration that merges this folder into tables of a namespace."""
        return {
            "version": 1,
            "pipeline": "properties",
            "bronze": {"uri": str(self.root), **self.form.bronze},
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(warehouse)},
            "quarantine": {"namespace": f"{namespace}_quarantine"},
            "batch": {"max_files": self.world.max_files},
            "parallelism": 3,
            "state_uri": str(self.root.parent / "state"),
            "tables": {kind.source: self._table(kind, namespace) for kind in self.world.kinds},
        }

    def _table(self, kind: TableKind, namespace: str) -> dict[str, Any]:
        entry = {**kind.document, "target": f"{namespace}.{kind.name}"}
        if self.form.needs_source_columns:
            entry["source_columns"] = [column.name for column in kind.layout.columns]
        return entry

    def _put(self, key: str, data: bytes) -> Path:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


def _narrowed(change: Change, kind: TableKind, layout: TableLayout) -> Change:
    """The change without the values of columns that its file lacks."""
    names = {column.name for column in layout.columns}
    values = zip(kind.layout.columns, change.values, strict=True)
    return attrs.evolve(change, values=tuple(value for column, value in values if column.name in names))


def _regrouped(data: bytes) -> bytes:
    """The same rows in a longer Parquet file, each in a row group of its own: what knows the file's former size misses some."""
    sink = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(data)), sink, row_group_size=1, compression="none")
    return sink.getvalue()
