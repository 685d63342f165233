"""The work of one table in its own thread: retried after a commit conflict, with its errors in the report."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type, wait_random_exponential

from dms_iceberg.context import PlanIsStaleError, RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.iceberg.commit_errors import is_conflict, is_unknown, refusal
from dms_iceberg.spark.failures import FAILURES, describe, describe_defect
from dms_iceberg.spark.threads import activate

Result = TypeVar("Result")

_LOG = structlog.get_logger("dms_iceberg")
_ATTEMPTS = 8
# A lost answer is mostly an outage: each attempt merges the batch once more, and leaves its files to the removal of orphan files.
_ATTEMPTS_IF_UNKNOWN = 3


class Outcome(Protocol):
    """The part of a report that says whether the work succeeded.

    Attributes:
        table: the source table or gold model, as messages name it.
        target: the Iceberg table.
        error: the message of the error that stopped the work, None after success.
    """

    table: str

    @property
    def target(self) -> str: ...  # noqa: D102

    error: str | None


def attempt(context: RunContext, report: Outcome, work: Callable[[], None]) -> None:
    """Do the work of one table in its own thread; writes an error into ``report.error`` instead of raising it."""
    try:
        activate(context.spark, report.table)
        work()
    except DmsIcebergError as error:
        report.error = str(error)
    except RetryError as error:
        report.error = _given_up(report, error.last_attempt.exception())
    except FAILURES as error:
        report.error = f"{report.table}: {refusal(error) or describe(error)}"
        _LOG.debug("table_failed", table=report.table, run_id=context.run_id, exc_info=True)
    except Exception as error:
        # No error of one table may stop the other tables.
        report.error = f"{report.table}: {describe_defect(error)}"
        _LOG.debug("table_failed", table=report.table, run_id=context.run_id, exc_info=True)


def on_conflict(step: Callable[[], Result]) -> Result:
    """Run ``step``, again after a wait when another writer committed first (`PlanIsStaleError`), and return its result.

    Raises:
        RetryError: it was too often too late.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(PlanIsStaleError),
        stop=_is_enough,
        wait=wait_random_exponential(multiplier=0.2, max=5),
    )
    return retrying(step)


@contextmanager
def planned_again() -> Iterator[None]:
    """Turn the error of a commit conflict, or of a commit whose answer was lost, into `PlanIsStaleError`."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if is_conflict(error):
            raise PlanIsStaleError from error
        raise


def _is_enough(tries: RetryCallState) -> bool:
    error = tries.outcome.exception() if tries.outcome is not None else None
    return tries.attempt_number >= (_ATTEMPTS_IF_UNKNOWN if _is_unknown(error) else _ATTEMPTS)


def _is_unknown(error: BaseException | None) -> bool:
    return error is not None and is_unknown(error.__cause__)


def _given_up(report: Outcome, error: BaseException | None) -> str:
    if _is_unknown(error):
        return (
            f"{report.table}: gave up after {_ATTEMPTS_IF_UNKNOWN} tries because the catalog did not say whether it had done the commits "
            f"of {report.target}. Nothing is lost: every try looked first what became of the one before, and so the next run "
            "goes on where the table is. Look at the catalog's health."
        )
    return (
        f"{report.table}: gave up after {_ATTEMPTS} tries because other writers kept committing to {report.target} first. "
        "Everything committed is consistent; run again when they are done, or give this table one writer."
    )
