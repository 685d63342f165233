"""SQS: attributes in the form in which the provider compares them, and messages that are sent with a delay."""

import json
from typing import Any

from moto.sqs.models import Message, Queue

from support.moto_gaps.patching import Function, around, around_property


def close_gaps() -> None:
    """Patch ``aws_sqs_queue`` and ``aws_sqs_queue_redrive_allow_policy``."""
    # moto refuses RedriveAllowPolicy as unknown; the provider's waiter then runs for ever.
    Queue.redrive_allow_policy = None
    Queue.BASE_ATTRIBUTES = [*Queue.BASE_ATTRIBUTES, "RedriveAllowPolicy"]

    @around_property(Queue, "attributes")
    def attributes(found: dict[str, Any], queue: Queue) -> dict[str, Any]:
        # AWS writes JSON without blanks; with them every second plan shows a change.
        if "RedrivePolicy" in found:
            found["RedrivePolicy"] = json.dumps(queue.redrive_policy, separators=(",", ":"))
        # On destroy the provider sets it to "" and waits until it is absent.
        if not found.get("RedriveAllowPolicy"):
            found.pop("RedriveAllowPolicy", None)
        return found

    @around(Queue, "_set_attributes")
    def _set_attributes(original: Function, queue: Queue, attributes: dict[str, Any], now: Any = None) -> None:
        # moto drops the policy whenever another attribute is set; AWS keeps it.
        policy = getattr(queue, "policy", None)
        original(queue, attributes, now)
        if "Policy" not in attributes:
            queue.policy = policy

    @around(Queue, "add_message")
    def add_message(original: Function, queue: Queue, message: Message) -> None:
        # moto delivers inside the request that sends, and would wait there for the end of the delay.
        if not message.delayed:
            original(queue, message)
            return
        with queue._messages_lock:
            queue._messages.append(message)
