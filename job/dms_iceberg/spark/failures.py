"""Explains errors of Spark and AWS, without pages of stack trace and without row data."""

import errno
import re
import traceback
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, ResponseStreamingError
from botocore.exceptions import ConnectionError as NoConnectionError
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from dms_iceberg.spark.java_errors import missing_metadata
from dms_iceberg.storage.store import vanished

FAILURES = (PySparkException, Py4JError, OSError, BotoCoreError, ClientError)
"""What Spark, the disk and AWS raise when an operation fails."""

_FILE = r"(?P<path>\S.*?\.(?:parquet|csv|jsonl?)(?:\.gz)?)"
# The words of Spark 3.5 and of 4.1, whose error classes FAILED_READ_FILE.* have their own.
_UNREADABLE = re.compile(rf"Encountered error while reading file {_FILE}\.(?: |$)", re.MULTILINE)
_GONE = re.compile(rf"(?:Path does not exist: |[Ee]rror while reading file |File ){_FILE}(?: does not exist|\.?$|\. )", re.MULTILINE)
_GONE_WORDS = ("PATH_NOT_FOUND", "FILE_NOT_EXIST", "FileNotFoundException")
# SAXParseException has a semicolon after its name.
_CAUSE = re.compile(r"^(?:Caused by|): (?P<name>[\w.$]+)(?:[:;] (?P<message>.*))?$", re.MULTILINE)
_IN_TASK = re.compile(r"Job aborted due to stage failure: .* executor [^)]*\): (?P<name>[\w$]+\.[\w.$]+)(?:[:;] (?P<message>.*))?")
_OF_VALUES = re.compile(
    r"(?:java\.(?:lang|math|net|text|time|util)\.(?!concurrent)[\w.]*Exception"
    r"|(?:com\.fasterxml\.jackson|com\.univocity|org\.xml\.sax)\.[\w.]+|org\.apache\.spark\.sql\.catalyst\.util\.BadRecordException)\Z"
)
# Exceptions whose messages are about files, tables, requests, settings, classes, memory or jobs. All others may quote a value: parsers do.
_WITHOUT_VALUES = re.compile(
    r"(?:(?:org\.apache\.(?:hadoop|http|iceberg)|com\.amazonaws|software\.amazon\.awssdk|javax\.net\.ssl|java\.nio\.file)\.[\w.$]+"
    r"|org\.apache\.spark\.(?:SparkException|(?:scheduler|shuffle|memory|storage|rpc)\.[\w.$]+)"
    r"|org\.apache\.parquet\.io\.ParquetDecodingException|java\.io\.(?:IO|FileNotFound|EOF|InterruptedIO|UncheckedIO)Exception"
    r"|java\.util\.concurrent\.\w+|java\.lang\.(?!Assertion)\w+Error|java\.lang\.ClassNotFoundException"
    # Outside a task, where no row is computed.
    r"|java\.lang\.(?:IllegalArgument|IllegalState|UnsupportedOperation)Exception)\Z"
)
# The same of PySpark's own classes, which have no package.
_PYSPARK_WITHOUT_VALUES = ("PySparkException", "IllegalArgumentException", "UnsupportedOperationException", "QueryExecutionException")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEFT_OUT = "its message is left out, as it may quote a value; Spark's own log has it"
_ERROR_CLASS = re.compile(r"\[(?P<name>[A-Z][A-Z_0-9.]+)\]")
# Failures of S3, a catalog, the network or a disk. Their messages, from AWS's clients and the network, are quoted: these do not see rows.
_CLIENTS = r"com\.amazonaws|software\.amazon\.awssdk|org\.apache\.hadoop\.fs\.s3a|org\.apache\.http|javax\.net\.ssl"
_NETWORK = r"java\.net\.(?:Connect|NoRouteToHost|Socket|SocketTimeout|UnknownHost)Exception"
# Not the methods and files of the same names in a stack trace.
_END = r"(?![\w(.$])(?:: (?P<message>[^\n]*))?"
_OF_CLIENT = re.compile(rf"\b(?P<name>(?:{_CLIENTS})\.[\w.$]*\b[A-Z]\w*(?:Exception|Error)|{_NETWORK}){_END}")
_OF_CATALOG = re.compile(rf"\b(?P<name>org\.apache\.iceberg\.exceptions\.(?:Service\w+|RESTException)){_END}")
_STATUS = re.compile(r"Status Code: (?P<status>\d+)")
_THROTTLED = re.compile(r"SlowDown|Throttl|TooManyRequests|Rate exceeded|reduce your request rate")
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_MOST_CHARACTERS = 300
# A file's path has the values of its partition; so has the message of Iceberg for a number that its partition cannot hold.
_PARTITION_IN_PATH = re.compile(r"(?P<name>/[^/=\s]+=)[^/\s]+")
_WITH_A_VALUE = re.compile(r"Cannot write value ")


def describe(error: BaseException, *, has_values: bool = False) -> str:
    """Return what failed and, where it is known, what to do.

    The message of an error may quote a value. Of Java's exceptions only the names are returned, except where `_WITHOUT_VALUES` says what
    their messages are about. A change file that cannot be decoded and one that vanished are explained in full, and so are failures of S3,
    catalog and disk.

    Args:
        error: what failed.
        has_values: whether the text of the statement that failed has values of rows. Any message of Spark may quote that text.
    """
    text = str(error).strip()
    if (metadata := missing_metadata(error)) is not None:
        return (
            f"{metadata}: the catalog says that this is the table's metadata, and it does not exist. Restore the object; or, in Glue, set "
            "the table's parameter metadata_location to previous_metadata_location, and the next run merges the batch again (docs/"
            "operations.md has more)."
        )
    if any(word in text for word in _GONE_WORDS) and (gone := _GONE.search(text)):
        folder, _, name = gone["path"].rpartition("/")
        return str(vanished(folder, name))
    if (outage := _outage(error, text)) is not None:
        return outage
    causes = list(_CAUSE.finditer(text))
    if found := _UNREADABLE.search(text):
        cause = causes[-1]["name"].rpartition(".")[2] if causes else type(error).__name__
        return (
            f"{found['path']}: the file cannot be decoded ({cause}). It is damaged, cut off, or was overwritten while it was read. "
            "Restore it from the source task (or from a bucket version). Nothing of its batch was written."
        )
    raised = _IN_TASK.search(text)
    # Where the driver's error has no cause, its message quotes that of the task.
    origin = raised if raised is not None and (not causes or _IN_TASK.search(causes[-1][0])) else causes[-1] if causes else None
    if raised is not None and origin is not None and _OF_VALUES.match(origin["name"]):
        return (
            f"{_short(origin['name'])}: an expression, filter or rule cannot be computed for a row (the message is left out, as it may "
            "quote a value; Spark's own log has it). Write it so that it is NULL there: with a try_ function, or CASE."
        )
    if origin is not None and (raised is not None or isinstance(error, Py4JJavaError)):
        shown = not has_values and _WITHOUT_VALUES.match(origin["name"]) is not None
        return _of_cause(_short(origin["name"]), origin["message"] or "", shown=shown)
    first = text.splitlines()[0] if text else ""
    if has_values:
        return _of_cause(type(error).__name__, first, shown=False)
    if isinstance(error, AnalysisException) or not isinstance(error, PySparkException):
        return f"{type(error).__name__}: {first[:500]}" if first else type(error).__name__
    return _of_cause(type(error).__name__, first, shown=type(error).__name__ in _PYSPARK_WITHOUT_VALUES)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _outage(error: BaseException, text: str) -> str | None:
    if isinstance(error, ClientError):
        return _no_answer(text) if _is_troubled(error) else None
    if isinstance(error, (HTTPClientError, NoConnectionError, ResponseStreamingError)):
        return _no_answer(f"{type(error).__name__}: {text.splitlines()[0][:300]}")
    if isinstance(error, OSError):
        return _full_disk(error.strerror or "", str(error.filename or "")) if error.errno in _NO_ROOM else None
    return _explained(text) if isinstance(error, (PySparkException, Py4JError)) else None


def _is_troubled(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # Where all attempts were throttled, botocore sets this member.
    return status >= 500 or status == 429 or "MaxAttemptsReached" in error.response.get("ResponseMetadata", {})


def _explained(text: str) -> str | None:
    """Return what an error's text says about an outage, and what to do; None for any other error.

    Args:
        text: a Java stack trace.
    """
    if full := _FULL.search(text):
        return _full_disk(full[0])
    found = _OF_CLIENT.search(text) or _OF_CATALOG.search(text)
    if found is None:
        return None
    name = found["name"].rpartition(".")[2]
    what = f"{name}: {_without_values(found['message'])[:_MOST_CHARACTERS]}" if found["message"] else name
    status = _STATUS.search(text)
    if status is not None and int(status["status"]) < 500 and not _THROTTLED.search(text):
        # The service works, and refuses the request.
        return what
    return _no_answer(what)


def _no_answer(what: str) -> str:
    """Return the message for a service that did not do its work within the job's retries."""
    advice = (
        "It is asked too much: see what else uses the bucket or catalog, or lower `parallelism`"
        if _THROTTLED.search(what)
        else "If it lasts, look at the service's health and at the way there (VPC endpoint, DNS, security groups)"
    )
    return (
        f"S3 or the catalog failed for longer than the job tries again: {what}. "
        f"Nothing is lost: the next run goes on where this one ended. {advice}."
    )


def _full_disk(what: str, path: str = "") -> str:
    """Return the message for a full disk."""
    where = f" at {path}" if path else ""
    return (
        f"no room on a disk{where} ({what}). It is the one of a local warehouse, of `runs/`, or of Spark's scratch files (spark.local.dir, "
        "by default /tmp). Nothing of the batch is in the table; make room, and the next run goes on where this one ended."
    )


def describe_defect(error: BaseException) -> str:
    """Return what is safe to report of an unexpected error: its type and place, as its message might quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"unexpected {type(error).__name__}{place}. This is a defect of dms-iceberg: please report it. Nothing of the batch is lost."


def _of_cause(name: str, message: str, *, shown: bool) -> str:
    if found := _ERROR_CLASS.match(message):
        return f"{name}: {found['name']} ({_LEFT_OUT})"
    if not message:
        return name
    # Spark's own errors without an error class are about jobs and stages. Those of expressions have a class.
    is_shown = shown and not _WITH_A_VALUE.match(message)
    return f"{name}: {_without_values(message)[:500]}" if is_shown else f"{name} ({_LEFT_OUT})"


def _without_values(message: str) -> str:
    return _PARTITION_IN_PATH.sub(r"\g<name>...", message)
