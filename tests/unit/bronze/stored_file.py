"""One file in a table's folder, for tests of what is found in it."""

from pathlib import Path

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.config.model import Table
from dms_iceberg.storage.store import LocalStore

LOAD, CDC = "LOAD00000001.csv", "20260301-100130000.csv"
TABLE = Table(source="public.t", target="n.t", key=("id",), source_columns=("id", "v"))


def stored(folder: Path, data: bytes, name: str = "LOAD00000001.csv") -> tuple[LocalStore, BronzeFile]:
    path = folder / "public" / "t" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    extension = name.split(".", 1)[1]
    return LocalStore(folder), BronzeFile(name == CDC, "0" * 16 + "1", name, f"public/t/{name}", len(data), "e", extension)
