"""What an examination finds. Plain data that turns into JSON."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any

import attrs

from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.spark.failures import FAILURES, describe


class Verdict(StrEnum):
    """Whether something is as the job needs it.

    * ``ok``: it is.
    * ``note``: it may be meant so; the advice says when it is not.
    * ``wrong``: runs will fail, or their result is not what was tested.
    """

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@attrs.frozen
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: what was looked at, in a few words.
        found: what was found; never a secret or a value of a row.
        advice: what to do, "" if nothing.
    """

    subject: str
    verdict: Verdict
    found: str
    advice: str = ""


def tried(subject: str, attempt: Callable[[], "str | Finding"], advice: str) -> Finding:
    """Return what an attempt finds: its text is right, and a finding is what it says. One that fails is wrong, with the advice."""
    try:
        found = attempt()
        return found if isinstance(found, Finding) else Finding(subject, Verdict.OK, found)
    except FAILURES as error:
        return Finding(subject, Verdict.WRONG, describe(error), advice)
    except DmsIcebergError as error:
        return Finding(subject, Verdict.WRONG, str(error), advice)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 1 if anything is wrong, else 0."""
    return int(any(one.verdict is Verdict.WRONG for one in findings))


def to_document(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    listed = list(findings)
    return {"ok": exit_code(listed) == 0, "findings": [attrs.asdict(one) for one in listed]}


Examination = Iterator[Finding]
"""Findings, each as soon as it is known."""
