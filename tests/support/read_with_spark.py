"""Read the silver tables of a pipeline with Spark, in a process of its own: a reader that is neither the job nor its session.

As a script: the configuration's address, then table names; prints one JSON object, table to rows.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]


def read_with_spark(config: str, tables: list[str], environment: Mapping[str, str]) -> dict[str, list[list[Any]]]:
    """Return the rows of tables (``database.table``), the job's own columns left out, sorted."""
    done = subprocess.run(
        [sys.executable, __file__, config, *tables],
        env={"DMS_ICEBERG_DRIVER_MEMORY": "1g"} | dict(environment) | {"PYTHONPATH": str(_ROOT / "job")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
    found: dict[str, list[list[Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _read(config_uri: str, tables: list[str]) -> dict[str, list[list[str]]]:
    from dms_iceberg.config.load import load_config
    from dms_iceberg.session import open_session

    config = load_config(config_uri)
    spark = open_session(config)
    frames = {table: spark.table(f"{config.catalog.name}.{table}") for table in tables}
    return {
        table: sorted([[str(value) for value in row] for row in frame.drop(*[c for c in frame.columns if c.startswith("_cdc_")]).collect()])
        for table, frame in frames.items()
    }


if __name__ == "__main__":
    # The folder of this file is on the path of a script; it holds modules named like the standard library's.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]
    sys.stdout.write("\n" + json.dumps(_read(sys.argv[1], sys.argv[2:])) + "\n")
