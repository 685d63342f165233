"""Recognises failures of S3, a catalog, the network or a disk by the text of an error, and says what to do.

Quoted messages come from AWS's clients and the network, which do not see rows.
"""

import re

_CLIENTS = r"com\.amazonaws|software\.amazon\.awssdk|org\.apache\.hadoop\.fs\.s3a|org\.apache\.http|javax\.net\.ssl"
_NETWORK = r"java\.net\.(?:Connect|NoRouteToHost|Socket|SocketTimeout|UnknownHost)Exception"
# Not the methods and files of the same names in a stack trace.
_END = r"(?![\w(.$])(?:: (?P<message>[^\n]*))?"
_OF_CLIENT = re.compile(rf"\b(?P<name>(?:{_CLIENTS})\.[\w.$]*\b[A-Z]\w*(?:Exception|Error)|{_NETWORK}){_END}")
_OF_CATALOG = re.compile(rf"\b(?P<name>org\.apache\.iceberg\.exceptions\.(?:Service\w+|RESTException)){_END}")
_STATUS = re.compile(r"Status Code: (?P<status>\d+)")
_THROTTLED = re.compile(r"SlowDown|Throttl|TooManyRequests|Rate exceeded|reduce your request rate")
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_SHOWN = 300


def explain(text: str) -> str | None:
    """Return what an error's text says about an outage, and what to do; None for any other error.

    Args:
        text: a Java stack trace.
    """
    if full := _FULL.search(text):
        return full_disk(full[0])
    found = _OF_CLIENT.search(text) or _OF_CATALOG.search(text)
    if found is None:
        return None
    name = found["name"].rpartition(".")[2]
    what = f"{name}: {found['message'][:_SHOWN]}" if found["message"] else name
    status = _STATUS.search(text)
    if status is not None and int(status["status"]) < 500 and not _THROTTLED.search(text):
        # The service works, and refuses the request.
        return what
    return no_answer(what)


def no_answer(what: str) -> str:
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


def full_disk(what: str, path: str = "") -> str:
    """Return the message for a full disk."""
    where = f" at {path}" if path else ""
    return (
        f"no room on a disk{where} ({what}). It is the one of a local warehouse, of `runs/`, or of Spark's scratch files (spark.local.dir, "
        "by default /tmp). Nothing of the batch is in the table; make room, and the next run goes on where this one ended."
    )
