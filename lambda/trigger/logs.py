"""The function's log: one JSON object a line, without keys' contents and without message bodies."""

import json
import sys
from typing import Any


def log(level: str, event: str, **facts: Any) -> None:
    """Write a line. Not with logging, whose lines are JSON only with one of Lambda's log formats."""
    sys.stdout.write(json.dumps({"level": level, "event": event, **facts}) + "\n")
