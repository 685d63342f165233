"""What a batch of messages says, and the answer to those that ask for a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from events import Failure


@dataclass(frozen=True, slots=True)
class Message:
    """A message that asks for a run; its files exist since ``newest``, or a run failed then (``is_failure``), or the clock said so."""

    id: str
    receipt_handle: str
    receives: int
    newest: datetime
    is_failure: bool = False
    is_clock: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the messages that ask for a run: the fields of a log line, and the message that waits."""

    level: str
    outcome: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    waiting: Message | None = None


@dataclass(slots=True)
class Batch:
    """What a batch of messages says.

    Attributes:
        messages: those that ask for a run.
        states: records about the replication's state.
        starts: records that ask for the replication that Terraform wants, and when it asked.
        failed: records about runs that failed.
        kept: ids of messages that stay in the queue.
        files: number of change files.
        ignored: number of other objects and events.
        has_clock: whether one is a wake-up by the clock.
    """

    messages: list[Message] = field(default_factory=list)
    states: list[Mapping[str, Any]] = field(default_factory=list)
    failed: list[tuple[Mapping[str, Any], Failure]] = field(default_factory=list)
    starts: list[tuple[Mapping[str, Any], datetime]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    files: int = 0
    ignored: int = 0
    has_clock: bool = False
