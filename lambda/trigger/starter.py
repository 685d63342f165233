"""Starts, resumes or stops a serverless replication as Terraform wants it, and never blocks an apply (`starting` decides)."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from clients import DescribesReplications, code_of, serverless_replication
from decision import judge_asking, lasts_too_long, wait_seconds
from loads import Replication
from logs import log
from settings import Settings
from starting import (
    ABSENT,
    AFTER_A_REFUSAL,
    DELETE_FIRST,
    DONE,
    LONGEST_ABSENCE,
    LONGEST_CHANGE,
    NEXT_EPOCH,
    REFUSE,
    RESUME,
    START,
    STOP,
    WAIT,
    Step,
    has_failed,
    is_missed,
    is_new,
    is_stopped_by_hand,
    is_stuck,
    next_step,
    pause,
    rests,
    stands_still,
)

_NOT_YET, _NOT_THERE, _NOT_A_FIRST_START = "InvalidResourceStateFault", "ResourceNotFoundFault", "InvalidParameterCombinationException"
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "AccessDeniedFault"})
_RIGHTS_SETTLE = 3
"""Receives during which a refusal may mean that IAM does not know a new right yet."""
_BETWEEN_REPORTS = timedelta(hours=1)
_NO_REPLICATION = (
    "DMS lists no replication of the name REPLICATION_ARN. Wait if Terraform is replacing it. If somebody has deleted it, set "
    "load_epoch to the next number and apply."
)
_PART_MISSING = (
    "DMS misses something that the replication needs: its source or target endpoint, its subnet group, or the secret of an endpoint. The "
    "error names it; apply Terraform again, or create it again. The request is repeated, less and less often."
)
_STOPPED_BY_HAND = "Nothing to do if that was meant. Somebody has stopped it since the apply. To resume it: output commands.resume."
_RIGHTS = (
    "Allow the function's role dms:DescribeReplications, dms:StartReplication or dms:StopReplication on the replication named by "
    "REPLICATION_ARN, and s3:ListBucket on its folder in bronze. With an AccessDeniedFault look at the roles of DMS as well: perhaps "
    "it may not use an endpoint any more."
)
_FIRST_START_REFUSED = (
    "DMS takes no start-replication from a replication that was started before, and there is nothing that a resume could go on from. "
    "Correct what had its first start fail (failures; network, secret, source settings), then set load_epoch to the next number and "
    "apply."
)
_UNKNOWN = (
    "An error of DMS or S3 that this function does not know: correct the cause it names. The request is repeated, less and less often."
)
_FAILED = (
    "Correct what DMS names (network, secret, source settings). Nothing else is to be done: the start is tried again, later each time."
)
_STANDS_STILL = (
    "The source keeps its changes meanwhile. Read DMS's log, correct the cause and resume it: output commands.resume. Where it should "
    "stand still, set start = false and apply."
)
_NEVER_RAN = (
    "Its first start has failed. Read failures and DMS's log, correct the cause (network, secret, source settings) and start it: output "
    "commands.start. Where it should stand still, set start = false and apply."
)
_TOO_LONG = "Look at the replication in the DMS console. AWS Support can free one that is caught in this state."


class Dms(DescribesReplications, Protocol):
    """The part of the DMS client that is used."""

    def start_replication(self, *, ReplicationConfigArn: str, StartReplicationType: str) -> object:
        """Start or resume one."""

    def stop_replication(self, *, ReplicationConfigArn: str) -> object:
        """Stop one."""


class S3(Protocol):
    """The part of the S3 client that is used."""

    def list_objects_v2(self, *, Bucket: str, Prefix: str, StartAfter: str) -> Mapping[str, Any]:
        """List a page of objects."""


class Starter:
    """Brings one replication to the state that Terraform wants. The state is DMS's, and the message in the queue.

    It remembers only when the clock last reported something: a clock of minutes would report it each time.
    """

    def __init__(self, dms: Dms, s3: S3, settings: Settings, clock: Callable[[], datetime]) -> None:
        self._dms = dms
        self._s3 = s3
        self._bronze = settings.bronze
        self._arn = settings.replication_arn
        self._wanted = bool(settings.start)
        self._clock = clock
        self._reported_at: datetime | None = None

    def go_on(self, receives: int, wanted_at: datetime) -> int:
        """Do the next step; return after how many seconds to come again, 0 if nothing is left to do.

        Args:
            receives: how often the message that asks for it was received.
            wanted_at: when Terraform asked for it.
        """
        replication = None
        try:
            replication = self._described()
            step = self._step(replication)
            is_by_hand = step.does in (START, RESUME) and is_stopped_by_hand(replication, wanted_at)
            if is_by_hand:
                step = Step(DONE)
            self._do(step)
        except (ClientError, BotoCoreError) as error:
            seconds = AFTER_A_REFUSAL if code_of(error) == _NOT_A_FIRST_START else wait_seconds(receives)
            level, advice = _level_of_error(error, replication, receives)
            self._log(level, replication, "waiting", advice, error=str(error), wait_seconds=seconds, receives=receives)
            return seconds
        seconds = pause(step, replication, receives)
        # By hand, or start was false in an apply minutes before, whose stop has only now come to its end.
        level, advice = ("WARNING", _STOPPED_BY_HAND) if is_by_hand else _level_of_step(step, replication, receives)
        self._log(level, replication, step.does, advice, wait_seconds=seconds, receives=receives)
        return seconds

    def look(self) -> None:
        """Start a replication that was never started, and report one that stands still: what an interrupted apply may leave behind.

        One that has run is not resumed here: a person may have stopped it.
        """
        if not self._wanted:
            return
        replication = None
        try:
            replication = self._described()
            step = self._step(replication)
            if is_new(replication) and step.does == START:
                self._do(step)
                self._log("INFO", replication, step.does, step.advice)
                return
        except (ClientError, BotoCoreError) as error:
            # The clock does not count: what may pass with a message is reported here at once, once an hour; but a state that has just
            # changed only where the replication is old.
            level, advice = _level_of_error(error, replication, LONGEST_ABSENCE)
            created_at = replication.created_at if replication is not None else None
            if code_of(error) == _NOT_YET and level == "INFO" and created_at and self._clock() - created_at > LONGEST_CHANGE:
                level, advice = "ERROR", _TOO_LONG
            self._report(level, replication, "waiting", advice, error=str(error))
            return
        if replication.status == ABSENT:
            self._report("ERROR", replication, "absent", _NO_REPLICATION)
        elif is_stuck(replication, self._clock()):
            self._report("ERROR", replication, step.does, _TOO_LONG)
        elif is_new(replication) or stands_still(replication, step, self._clock()):
            advice = step.advice or (_NEVER_RAN if step.does == START else _STANDS_STILL)
            self._report("ERROR", replication, step.does if is_new(replication) else "stands_still", advice)

    def _report(self, level: str, replication: Replication | None, outcome: str, advice: str, **facts: Any) -> None:
        """Log what the clock found, unless this process has reported within the last hour."""
        now = self._clock()
        if level == "ERROR" and self._reported_at is not None and now - self._reported_at < _BETWEEN_REPORTS:
            return
        if level == "ERROR":
            self._reported_at = now
        self._log(level, replication, outcome, advice, **facts)

    def _described(self) -> Replication:
        try:
            found = serverless_replication(self._dms, self._arn)
        except ClientError as error:
            if code_of(error) != _NOT_THERE:
                raise
            found = None
        return Replication.of(found or {"Status": ABSENT})

    def _step(self, replication: Replication) -> Step:
        # Asked only where the answer counts.
        has_files = self._wanted and rests(replication) and self._has_files()
        return next_step(replication, wanted=self._wanted, has_files=has_files)

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

    def _log(self, level: str, replication: Replication | None, outcome: str, advice: str, **facts: Any) -> None:
        said = (
            {}
            if replication is None
            else {
                "status": replication.status,
                "stop_reason": replication.stop_reason,
                "failures": replication.failures,
                "load_statistics": replication.load.facts,
            }
        )
        log(level, "replication", outcome=outcome, arn=self._arn, advice=advice, **said, **facts)


def _level_of_step(step: Step, replication: Replication, receives: int) -> tuple[str, str]:
    """Return the level and the advice of a step that a message asked for."""
    if step.does == REFUSE:
        return "ERROR", step.advice
    if step.does == WAIT and replication.status == ABSENT:
        return "ERROR" if is_missed(receives) else "WARNING", _NO_REPLICATION
    if step.does in (START, RESUME) and has_failed(replication) and receives > 1:
        return "ERROR", _FAILED
    if step.does == WAIT and lasts_too_long(receives):
        return "ERROR", _TOO_LONG
    return "INFO", step.advice


def _level_of_error(error: ClientError | BotoCoreError, replication: Replication | None, receives: int) -> tuple[str, str]:
    """Return the level and the advice of an error of DMS or S3; the replication is None if DMS could not be asked for it."""
    code = code_of(error)
    is_away = replication is not None and replication.status == "deprovisioned"
    if code == _NOT_YET:  # It has changed its state since it was described, or is about to.
        if is_away and receives > _RIGHTS_SETTLE:
            return "ERROR", NEXT_EPOCH + DELETE_FIRST
        return ("ERROR", _TOO_LONG) if lasts_too_long(receives) else ("INFO", "")
    if code == _NOT_THERE:  # It was there when it was described.
        return "ERROR" if is_missed(receives) else "WARNING", _PART_MISSING
    if code == _NOT_A_FIRST_START:
        return "ERROR", _FIRST_START_REFUSED + (DELETE_FIRST if is_away else "")
    if code in _DENIED:
        return "WARNING" if receives <= _RIGHTS_SETTLE else "ERROR", _RIGHTS
    why = judge_asking(code)
    return why.level_after(receives), why.advice if why.outcome == "waiting" else _UNKNOWN
