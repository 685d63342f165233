"""What happens after an apply, without a person: the function's messages to itself, and what DMS does about them."""

import json
import time
from typing import TYPE_CHECKING, Any

from support.local_aws import REGION
from support.moto_gaps import dms_serverless

if TYPE_CHECKING:
    from support.terraform.example_stacks import World

_SECONDS = 60


def deliver(pipeline: dict[str, Any]) -> None:
    """Hand everything that waits in the queue to the function, as if all delays were over; ``pipeline``: outputs of the module."""
    from support.moto_gaps.lambda_functions import deliver_waiting

    deliver_waiting(pipeline["trigger"]["queue"]["arn"])


def waiting(world: "World", pipeline: dict[str, Any]) -> int:
    """Return how many messages are in the queue, hidden or not."""
    names = ["", "NotVisible", "Delayed"]
    asked = [f"ApproximateNumberOfMessages{name}" for name in names]
    found = world.client("sqs").get_queue_attributes(QueueUrl=pipeline["trigger"]["queue"]["url"], AttributeNames=asked)["Attributes"]
    return sum(int(found[name]) for name in asked)


def settle(world: "World", pipeline: dict[str, Any]) -> None:
    """Deliver what waits until nothing is left that waits for the replication."""
    end = time.monotonic() + _SECONDS
    deliver(pipeline)
    while any(_asks_for_replication(body) for body in _bodies(world, pipeline)):
        assert time.monotonic() < end, f"the replication is not as wanted within {_SECONDS} s"
        time.sleep(0.5)
        deliver(pipeline)


def status(world: "World", arn: str) -> str:
    """Return what DMS says of a serverless replication."""
    only = [{"Name": "replication-config-arn", "Values": [arn]}]
    return str(world.client("dms").describe_replications(Filters=only)["Replications"][0]["Status"])


def starts(world: "World", arn: str) -> list[str]:
    """Return the kinds of all starts of a serverless replication."""
    return dms_serverless.starts(world.account, REGION, arn)


def _bodies(world: "World", pipeline: dict[str, Any]) -> list[str]:
    from moto.sqs.models import sqs_backends

    queue: Any = sqs_backends[world.account][REGION].queues[pipeline["trigger"]["queue"]["name"]]
    return [message.body for message in queue._messages]


def _asks_for_replication(body: str) -> bool:
    return json.loads(body).get("detail-type") == "Replication Wanted"
