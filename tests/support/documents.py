"""Documents of several pipelines over one catalog, each with the files of its own."""

import json
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from support.commands import Command, Ended
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
BY_ID = {"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "int"}]}


@attrs.frozen
class Documents:
    """Documents of several pipelines in one folder, over one catalog; each pipeline has a bronze of its own."""

    lake: Lake
    command: Command
    folder: Path

    def bronze(self, name: str) -> Path:
        """The files of a pipeline; the lake writes there from now on."""
        self.lake.bronze = self.folder / f"bronze-{name}"
        return self.lake.bronze

    def write(self, name: str, tables: dict[str, dict[str, Any]], **top: Any) -> Path:
        """Write the document of a pipeline, over the files of its own."""
        self.bronze(name)
        given = self.lake.document(tables, **{"pipeline": name, **top})
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(given))
        return path

    def load(self, name: str, table: str, rows: list[tuple[Any, ...]]) -> None:
        self.bronze(name)
        self.lake.load(table, ID_V, rows)

    def change(self, name: str, table: str, minute: int, rows: list[tuple[Any, ...]]) -> None:
        self.bronze(name)
        given = [(op, f"202603011001{minute:02d}", n, *row) for n, (op, *row) in enumerate(rows)]
        self.lake.changes(table, f"2026/03/01/10/20260301-1002{minute:02d}000.parquet", ID_V, given)

    def run(self, path: Path, *options: str, code: int = 0) -> Ended:
        done = self.command("run", path, *options)
        assert done.code == code, done.out + done.err
        return done
