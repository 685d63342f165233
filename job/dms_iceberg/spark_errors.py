"""Saying what the errors of Spark and AWS mean, without pages of stack trace and without row data."""

import re
import traceback
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from dms_iceberg.staging.store import vanished

FAILURES = (PySparkException, Py4JError, OSError, BotoCoreError, ClientError)
"""What Spark, the disk and AWS raise when they cannot do what they were asked."""

_FILE = r"(?P<path>\S.*?\.(?:parquet|csv|jsonl?)(?:\.gz)?)"
_UNREADABLE = re.compile(rf"Encountered error while reading file {_FILE}\. Details")
_GONE = re.compile(rf"(?:Path does not exist: |Error while reading file |File ){_FILE}(?: does not exist|\.?$|\. )", re.MULTILINE)
_GONE_WORDS = ("PATH_NOT_FOUND", "FileNotFoundException")
_CAUSE = re.compile(r"^(?:Caused by|): (?P<name>[\w.$]+)(?:: (?P<message>.*))?$", re.MULTILINE)
_ERROR_CLASS = re.compile(r"\[(?P<name>[A-Z][A-Z_0-9.]+)\]")


def describe(error: BaseException) -> str:
    """Return what failed and, where it is known, what to do.

    Messages of errors that Spark meets while it works on rows may quote a value, so only their names are given. The two that bad input
    causes, a change file that cannot be decoded and one that vanished, are told in full.
    """
    text = str(error).strip()
    if any(word in text for word in _GONE_WORDS) and (gone := _GONE.search(text)):
        folder, _, name = gone["path"].rpartition("/")
        return str(vanished(folder, name))
    causes = list(_CAUSE.finditer(text))
    if found := _UNREADABLE.search(text):
        cause = causes[-1]["name"].rpartition(".")[2] if causes else type(error).__name__
        return (
            f"{found['path']}: the file cannot be decoded ({cause}). It is damaged, cut off, or was overwritten while it was read. "
            "Restore it from the source task (or from a bucket version). Nothing of its batch was written."
        )
    if isinstance(error, Py4JJavaError) and causes:
        return _of_cause(causes[-1]["name"].rpartition(".")[2], causes[-1]["message"] or "")
    first = text.splitlines()[0] if text else ""
    if isinstance(error, AnalysisException) or not isinstance(error, PySparkException):
        return f"{type(error).__name__}: {first[:500]}" if first else type(error).__name__
    return _of_cause(type(error).__name__, first)


def describe_defect(error: BaseException) -> str:
    """Return what is known of an error that nobody foresaw: its kind and place, as its message might quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"unexpected {type(error).__name__}{place}. This is a defect of dms-iceberg: please report it. Nothing of the batch is lost."


def _of_cause(name: str, message: str) -> str:
    if found := _ERROR_CLASS.match(message):
        return f"{name}: {found['name']} (its message is left out, as it may quote a value; Spark's own log has it)"
    # Spark's own unnamed errors are about jobs and stages; those of expressions have a class and were met above.
    return f"{name}: {message[:500]}" if message else name
