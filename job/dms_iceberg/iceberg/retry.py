"""The work of one table in a thread of its own: tried again after a lost race, and its errors told in the report."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type, wait_random_exponential

from dms_iceberg.context import PlanIsStaleError, RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.iceberg.commit_errors import is_conflict, is_unknown
from dms_iceberg.spark.failures import FAILURES, describe, describe_defect

Result = TypeVar("Result")

_LOG = structlog.get_logger("dms_iceberg")
_ATTEMPTS = 8
# A lost answer is mostly an outage: each try merges the batch once more, and leaves its files to the removal of orphan files.
_ATTEMPTS_IF_UNKNOWN = 3


class Outcome(Protocol):
    """The part of a report that is about success.

    Attributes:
        table: who worked.
        target: the Iceberg table.
        error: what stopped it.
    """

    table: str

    @property
    def target(self) -> str: ...  # noqa: D102

    error: str | None


def attempt(context: RunContext, report: Outcome, work: Callable[[], None]) -> None:
    """Do the work of one table in its own thread; an error ends in the report, not in an exception."""
    try:
        _activate(context.spark, report.table)
        work()
    except DmsIcebergError as error:
        report.error = str(error)
    except RetryError as error:
        report.error = _given_up(report, error.last_attempt.exception())
    except FAILURES as error:
        report.error = f"{report.table}: {describe(error)}"
        _LOG.debug("table_failed", table=report.table, run_id=context.run_id, exc_info=True)
    except Exception as error:
        # Whatever it is, it must not stop the other tables.
        report.error = f"{report.table}: {describe_defect(error)}"
        _LOG.debug("table_failed", table=report.table, run_id=context.run_id, exc_info=True)


def on_conflict(step: Callable[[], Result]) -> Result:
    """Take a step, again after a while when it lost a race (`PlanIsStaleError`), and return what it returns.

    Raises:
        RetryError: it lost too often.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(PlanIsStaleError),
        stop=_is_enough,
        wait=wait_random_exponential(multiplier=0.2, max=5),
    )
    return retrying(step)


@contextmanager
def planned_again() -> Iterator[None]:
    """Let the error of a lost race, or of a commit whose answer was lost, become `PlanIsStaleError`."""
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


def _activate(spark: SparkSession, pool: str) -> None:
    """Give this thread the session; without one, `expr` parses by default settings, and replaces ``${...}`` in names and literals.

    Jobs of one scheduler pool wait for each other and pools share the cores, so a huge table takes its share and not the others'.
    """
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
