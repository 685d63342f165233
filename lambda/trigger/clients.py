"""The parts of the AWS clients that more than one module uses, and the codes of their errors."""

from collections.abc import Mapping
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError


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

    def send_message(self, *, QueueUrl: str, MessageBody: str, **further: Any) -> object:
        """Send a message, with ``MessageAttributes`` or ``DelaySeconds`` perhaps."""


class DescribesReplications(Protocol):
    """The part of the DMS client that describes serverless replications."""

    def describe_replications(self, *, Filters: list[dict[str, Any]]) -> Mapping[str, Any]:
        """Describe serverless replications."""


def serverless_replication(dms: DescribesReplications, arn: str) -> Mapping[str, Any] | None:
    """Return what DMS says of the serverless replication of a configuration; None if it lists none."""
    only = [{"Name": "replication-config-arn", "Values": [arn]}]
    found: list[Mapping[str, Any]] = dms.describe_replications(Filters=only)["Replications"]
    return found[0] if found else None


def code_of(error: ClientError | BotoCoreError) -> str:
    """Return the error's code; that of an outage where there was no connection, no answer in time, or no credentials."""
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else "ServiceUnavailable"
