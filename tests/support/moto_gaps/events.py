"""EventBridge: events reach the queues of rules that match them; a rule by the clock matches none, and other targets do not stop it."""

from typing import Any

from moto.events.models import Rule

from support.moto_gaps.patching import Function, around


def close_gaps() -> None:
    """Patch the delivery of events."""

    @around(Rule, "send_to_targets")
    def send_to_targets(original: Function, rule: Any, event: dict[str, Any], transform_input: bool = True) -> None:
        # moto takes a rule without a pattern for one that matches everything.
        if not rule.event_pattern.get_pattern():
            return
        held = rule.targets
        # It knows neither topics nor functions, and fails the sender.
        rule.targets = [target for target in held if target["Arn"].split(":")[2] not in ("sns", "lambda")]
        try:
            original(rule, event, transform_input)
        finally:
            rule.targets = held
