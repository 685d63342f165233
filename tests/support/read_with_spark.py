"""Read the silver tables of a pipeline with Spark, in a process of its own: a reader that is neither the job nor its session.

As a script: the configuration's address, then table names; prints one JSON object, table to rows.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[2]


def read_with_spark(config: str, tables: list[str], environment: Mapping[str, str]) -> dict[str, list[list[Any]]]:
    """Return the rows of tables (``database.table``) as texts, the job's own columns left out."""
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


def _read(config_uri: str, tables: list[str]) -> dict[str, list[list[str | None]]]:
    from dms_iceberg.config.load import load_config
    from dms_iceberg.spark.session import open_session

    config = load_config(config_uri)
    spark = open_session(config)
    return {table: [list(row) for row in spark.sql(_as_texts(spark, f"{config.catalog.name}.{table}")).collect()] for table in tables}


def _as_texts(spark: "SparkSession", table: str) -> str:
    """A query for all columns but the job's own, times in a form that does not depend on Spark."""
    fields = [field for field in spark.table(table).schema if not field.name.startswith("_cdc_")]
    times = "date_format({0}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    texts = [(times if field.dataType.typeName() == "timestamp" else "cast({0} as string)").format(f"`{field.name}`") for field in fields]
    return f"select {', '.join(texts)} from {table}"


if __name__ == "__main__":
    # The folder of this file is on the path of a script; it holds modules named like the standard library's.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]
    sys.stdout.write("\n" + json.dumps(_read(sys.argv[1], sys.argv[2:])) + "\n")
