"""Java's class data sharing for a local Spark: an archive of loaded classes, with which a session and its first batch begin sooner.

``make setup`` makes it (``tools/class_archive.py``). Java checks that it fits (the same Java, jars and order of the class path), and loads
the classes one by one where it does not: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

import sys
from importlib.metadata import version
from pathlib import Path

QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
"""Java's words about an archive that does not fit, or about classes that cannot be in one."""


def archive_path() -> Path:
    """Return where the archive of this Python environment is, or would be."""
    return Path(sys.prefix, "share", "dms-iceberg", f"spark-{version('pyspark')}.jsa")


def sharing_options() -> tuple[str, ...]:
    """Return Java's options for the archive; none without one, or where blanks in its path would split them."""
    path = archive_path()
    return (f"-XX:SharedArchiveFile={path}", *QUIET) if path.exists() and " " not in str(path) else ()
