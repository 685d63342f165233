"""The parts of the AWS clients that the trigger uses."""

from collections.abc import Mapping
from typing import Any, Protocol


class Glue(Protocol):
    """The part of the Glue client that is used."""

    def get_job_runs(self, *, JobName: str, MaxResults: int) -> Mapping[str, Any]:
        """List runs, the newest first."""

    def start_job_run(self, *, JobName: str, Arguments: dict[str, str], JobRunQueuingEnabled: bool) -> Mapping[str, Any]:
        """Start a run."""


class Sqs(Protocol):
    """The part of the SQS client that is used."""

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> object:
        """Hide a message for so many seconds from now."""

    def send_message(self, *, QueueUrl: str, MessageBody: str, MessageAttributes: dict[str, Any]) -> object:
        """Send a message."""
