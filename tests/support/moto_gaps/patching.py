"""The two ways in which a class of moto is changed: a new API operation, or a method wrapped by ours."""

import functools
import re
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def operation(responses: type) -> Callable[[Function], Function]:
    """Add an API operation to the response class of a service; moto finds it by its name in snake case."""

    def add(function: Function) -> Function:
        setattr(responses, function.__name__, function)
        return function

    return add


def around(owner: type, name: str) -> Callable[[Function], Function]:
    """Replace the method ``name`` by a function that gets the original one first."""

    def replace(function: Function) -> Function:
        original = getattr(owner, name)

        @functools.wraps(original)
        def replacement(*arguments: Any, **named: Any) -> Any:
            return function(original, *arguments, **named)

        setattr(owner, name, replacement)
        return function

    return replace


def around_property(owner: type, name: str) -> Callable[[Function], Function]:
    """Replace the read-only property ``name`` by a function that gets the original value and the object."""

    def replace(function: Function) -> Function:
        original = getattr(owner, name).fget
        setattr(owner, name, property(lambda self: function(original(self), self)))
        return function

    return replace


def snake(name: str) -> str:
    """`ReplicationTaskArn` as `replication_task_arn`: how moto's objects name what the API names in camel case."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
