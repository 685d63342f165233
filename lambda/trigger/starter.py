"""Starts, resumes or stops a serverless replication as Terraform wants it, and never blocks an apply (`starting` decides)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from clients import code_of
from decision import judge_asking, wait_seconds
from loads import Replication
from logs import log
from settings import Settings
from starting import REFUSE, RESUME, START, STOP, Step, has_failed, is_new, lasts_too_long, next_step, pause, rests, stands_still

_NOT_YET = "InvalidResourceStateFault"
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "AccessDeniedFault"})
_RIGHTS_SETTLE = 3
"""Receives during which a refusal may mean that IAM does not know a new right yet."""
_NO_REPLICATION = "There is no replication of the name REPLICATION_ARN. If that lasts, apply Terraform again."
_RIGHTS = (
    "Allow the function's role dms:DescribeReplications, dms:StartReplication or dms:StopReplication on the replication named by "
    "REPLICATION_ARN, and s3:ListBucket on its folder in bronze."
)
_FAILED = "Mend what DMS names (network, secret, source settings). Nothing else is to be done: the start is tried again, later each time."
_STANDS_STILL = (
    "The source keeps its changes meanwhile. Read DMS's log, mend the cause and resume it: output commands.resume. Where it should stand "
    "still, set start = false and apply."
)
_TOO_LONG = "Look at the replication in the DMS console. AWS Support can free one that is caught in this state."


class Dms(Protocol):
    """The part of the DMS client that is used."""

    def describe_replications(self, *, Filters: list[dict[str, Any]]) -> Mapping[str, Any]:
        """Describe a serverless replication."""

    def start_replication(self, *, ReplicationConfigArn: str, StartReplicationType: str) -> object:
        """Start or resume one."""

    def stop_replication(self, *, ReplicationConfigArn: str) -> object:
        """Stop one."""


class S3(Protocol):
    """The part of the S3 client that is used."""

    def list_objects_v2(self, *, Bucket: str, Prefix: str, StartAfter: str) -> Mapping[str, Any]:
        """List a page of objects."""


class Starter:
    """Brings one replication to the state that Terraform wants. It remembers nothing: the state is DMS's, and the message in the queue."""

    def __init__(self, dms: Dms, s3: S3, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._dms = dms
        self._s3 = s3
        self._bronze = settings.bronze
        self._arn = settings.replication_arn
        self._wanted = bool(settings.start)
        self._clock = clock

    def go_on(self, receives: int) -> int:
        """Do the next step; return after how many seconds to come again, 0 if nothing is left to do.

        Args:
            receives: how often the message that asks for it was received.
        """
        try:
            replication, step = self._look()
            self._do(step)
        except (ClientError, BotoCoreError) as error:
            return self._wait_after(error, receives)
        seconds = pause(step, replication, receives)
        level, advice = "INFO", step.advice
        if step.does == REFUSE:
            level = "ERROR"
        elif step.does in (START, RESUME) and has_failed(replication) and receives > 1:
            level, advice = "ERROR", _FAILED
        elif lasts_too_long(step, receives):
            level, advice = "ERROR", _TOO_LONG
        self._log(level, replication, step.does, advice, wait_seconds=seconds, receives=receives)
        return seconds

    def look(self) -> None:
        """Start a replication that was never started, and report one that stands still: what an interrupted apply may leave behind.

        One that has run is not resumed here: a person may have stopped it.
        """
        if not self._wanted:
            return
        try:
            replication, step = self._look()
            if is_new(replication):
                self._do(step)
                self._log("ERROR" if step.does == REFUSE else "INFO", replication, step.does, step.advice)
            elif stands_still(replication, step, self._clock()):
                self._log("ERROR", replication, "stands_still", _STANDS_STILL)
        except (ClientError, BotoCoreError) as error:
            why = judge_asking(code_of(error))
            log("WARNING", "replication", outcome=why.outcome, error=str(error), advice=_RIGHTS if why.level == "ERROR" else why.advice)

    def _look(self) -> tuple[Replication, Step]:
        only = [{"Name": "replication-config-arn", "Values": [self._arn]}]
        found = self._dms.describe_replications(Filters=only)["Replications"]
        replication = Replication.of(found[0] if found else {"Status": "deleting"})
        # Asked only where the answer counts.
        has_files = self._wanted and rests(replication) and self._has_files()
        return replication, next_step(replication, wanted=self._wanted, has_files=has_files)

    def _has_files(self) -> bool:
        """Whether the epoch's folder holds a change file or a marker; DMS's own tables do not count."""
        bucket, last = self._bronze.bucket, self._bronze.prefix
        while True:
            page = self._s3.list_objects_v2(Bucket=bucket, Prefix=self._bronze.prefix, StartAfter=last)
            keys = [str(one["Key"]) for one in page.get("Contents", [])]
            if any(self._bronze.holds(bucket, key) or self._bronze.holds_marker(bucket, key) for key in keys):
                return True
            if not page.get("IsTruncated"):
                return False
            last = keys[-1]

    def _do(self, step: Step) -> None:
        if step.does in (START, RESUME):
            self._dms.start_replication(ReplicationConfigArn=self._arn, StartReplicationType=step.does)
        elif step.does == STOP:
            self._dms.stop_replication(ReplicationConfigArn=self._arn)

    def _wait_after(self, error: ClientError | BotoCoreError, receives: int) -> int:
        code, seconds = code_of(error), wait_seconds(receives)
        if code == "ResourceNotFoundFault":
            log("WARNING", "replication", outcome="ignored", arn=self._arn, error=str(error), advice=_NO_REPLICATION)
            return 0
        if code == _NOT_YET:  # It has changed its state since it was described, or is about to.
            log("INFO", "replication", outcome="waiting", arn=self._arn, error=str(error), wait_seconds=seconds)
            return seconds
        why = judge_asking(code)
        settles = code in _DENIED and receives <= _RIGHTS_SETTLE
        level = "WARNING" if settles else why.level
        log(level, "replication", outcome="waiting", arn=self._arn, error=str(error), advice=_RIGHTS if code in _DENIED else why.advice)
        return seconds

    def _log(self, level: str, replication: Replication, outcome: str, advice: str, **facts: Any) -> None:
        said = {"status": replication.status, "stop_reason": replication.stop_reason, "failures": replication.failures, **facts}
        log(level, "replication", outcome=outcome, arn=self._arn, advice=advice, **said)
