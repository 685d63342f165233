"""The archive of Java classes that `make setup` makes: it fits the session's JVM, and one that does not fit stops nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dms_iceberg.spark.class_archive import archive_path

# With -Xshare:on a JVM whose archive does not fit ends.
_SESSION = """
import json, sys
from dms_iceberg.config.parse import parse_config
from dms_iceberg.spark.session import JAVA_OPTIONS, open_session

document = {"version": 1, "pipeline": "p", "bronze": {"uri": sys.argv[1]}, "tables": {"public.t": {"target": "s.t", "key": ["id"]}},
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": sys.argv[1]}}
options = {"spark.driver.defaultJavaOptions": f"{JAVA_OPTIONS} {sys.argv[2]}"}
print(open_session(parse_config(document), **options).range(3).count())
"""


@pytest.mark.long
@pytest.mark.parametrize("fits", [True, False])
def test_a_session_starts_with_the_archive_and_without_one_that_does_not_fit(tmp_path: Path, fits: bool) -> None:
    path = archive_path()
    if not path.exists():
        pytest.skip("make setup could not make an archive of Java classes here, and has said why")
    options = f"-XX:SharedArchiveFile={path} -Xshare:on"
    if not fits:
        copy = tmp_path / "other.jsa"
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file:
            file.write(b"another version of Java")
        options = f"-XX:SharedArchiveFile={copy}"
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    command = [sys.executable, "-c", _SESSION, str(tmp_path), options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["3"]), done.stderr[-3000:]
