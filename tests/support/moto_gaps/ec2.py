"""EC2: rules of security groups keep their descriptions."""

import inspect
from typing import Any

from moto.ec2.models.security_groups import SecurityGroupRule

from support.moto_gaps.patching import Function, around, around_property


def close_gaps() -> None:
    """Patch ``aws_vpc_security_group_ingress_rule`` and its twin: moto forgets what a rule with a group or a prefix list is for."""

    @around(SecurityGroupRule, "__init__")
    def init(original: Function, rule: Any, *arguments: Any, **named: Any) -> None:
        original(rule, *arguments, **named)
        given = inspect.signature(original).bind(rule, *arguments, **named).arguments
        rule.of_prefix_list = (given.get("prefix_list_id") or {}).get("Description")

    @around_property(SecurityGroupRule, "description")
    def description(found: str | None, rule: Any) -> str | None:
        return found or rule.source_group.get("Description") or rule.of_prefix_list
