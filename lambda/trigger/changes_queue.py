"""The queue that the function reads: hides messages that wait, sets unreadable ones aside, and sends those that follow an apply."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from clients import Sqs
from decision import wait_seconds
from events import APPLIED, OWN_SOURCE, REPLICATION_WANTED
from logs import log
from settings import Settings

_SETTLING_SECONDS = 15
"""S3 and IAM know of what an apply has just made only after seconds."""


def receives(record: Mapping[str, Any]) -> int:
    """Return how often a message was received, this time included."""
    return int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))


def sent_at(record: Mapping[str, Any]) -> datetime:
    """Return when a message was sent, by SQS's clock."""
    return datetime.fromtimestamp(int(record.get("attributes", {}).get("SentTimestamp", 0)) / 1000, UTC)


class ChangesQueue:
    """Everything that is done to messages beside deleting them, which Lambda does."""

    def __init__(self, sqs: Sqs, settings: Settings) -> None:
        self._sqs = sqs
        self._settings = settings

    def hide(self, message_id: str, receipt_handle: str, seconds: int) -> None:
        """Hide a message for so many seconds."""
        try:
            self._sqs.change_message_visibility(QueueUrl=self._settings.queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds)
        except (ClientError, BotoCoreError) as error:
            advice = "The message comes back after the queue's visibility timeout. Allow the function's role sqs:ChangeMessageVisibility."
            log("WARNING", "visibility", message_id=message_id, error=str(error), advice=advice)

    def hide_for_a_while(self, record: Mapping[str, Any]) -> str:
        """Hide a message, longer with each receive; return its id."""
        return self.hide_for(record, wait_seconds(receives(record)))

    def hide_for(self, record: Mapping[str, Any], seconds: int) -> str:
        """Hide a message for so many seconds; return its id."""
        self.hide(record["messageId"], record["receiptHandle"], seconds)
        return str(record["messageId"])

    def set_aside(self, record: Mapping[str, Any], reason: str) -> bool:
        """Move an unreadable message to the dead-letter queue at once; return False if that failed."""
        facts = {"message_id": record["messageId"], "reason": reason}
        try:
            self._sqs.send_message(
                QueueUrl=self._settings.dead_letter_queue_url,
                MessageBody=record["body"],
                MessageAttributes={"reason": {"DataType": "String", "StringValue": reason}},
            )
        except (ClientError, BotoCoreError) as error:
            advice = "The message stays in the queue. Allow the function's role sqs:SendMessage on the dead-letter queue."
            log("ERROR", "dead_letter_failed", **facts, error=str(error), advice=advice)
            return False
        advice = "Find who sends such messages. If one named a change file, start a run of the job by hand; then delete the message."
        log("ERROR", "dead_lettered", **facts, advice=advice)
        return True

    def send_after_apply(self, *, run: bool, replication: bool, now: datetime) -> list[str]:
        """Send the messages that follow an apply, and return their kinds: ask for a run, and for the replication that is wanted.

        Two messages, since each is done at its own time.

        Args:
            run: whether a run is asked for.
            replication: whether the replication is, if Terraform says whether it should run.
            now: the time of the run.

        Raises:
            ClientError: SQS refused one.
            BotoCoreError: there was no answer.
        """
        kinds = [APPLIED] if run else []
        if replication and self._settings.start is not None:
            kinds.append(REPLICATION_WANTED)
        for kind in kinds:
            body = {"source": OWN_SOURCE, "detail-type": kind, "time": now.astimezone(UTC).isoformat(), "detail": {}}
            self._sqs.send_message(QueueUrl=self._settings.queue_url, MessageBody=json.dumps(body), DelaySeconds=_SETTLING_SECONDS)
        return kinds
