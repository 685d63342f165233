"""The lives of several stacks side by side: the provider waits for minutes, and hardly works meanwhile."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest
from _pytest.mark import ParameterSet

from support.local_aws import LocalAws
from support.terraform.after_apply import settle
from support.terraform.example_stacks import EXAMPLES, SECOND, SHORTEST, World, change, inputs
from support.terraform.stack import Stack


@attrs.define
class Life:
    """An example on its way; what a stage found out, or the error it ended with, is kept for the tests."""

    example: str
    world: World
    stack: Stack
    outputs: dict[str, Any] = attrs.field(factory=dict)
    drift: list[str] | None = None
    inputs: dict[str, Any] = attrs.field(factory=dict)
    """What `change` gave to the root module."""
    changed_outputs: dict[str, Any] = attrs.field(factory=dict)
    changed_drift: list[str] | None = None
    left: dict[str, Any] | None = None

    @property
    def pipeline(self) -> dict[str, Any]:
        """The outputs of the root module."""
        found: dict[str, Any] = self.outputs["pipeline"]
        return found

    def client(self, service: str) -> Any:
        """Return a boto3 client of the example's account."""
        return self.world.client(service)


class Lives:
    """All examples that a test run needs, stage by stage."""

    def __init__(self, aws: LocalAws, folder: Path, examples: list[str]) -> None:
        self.examples = examples
        self._aws, self._folder = aws, folder
        self._stages: list[tuple[str, Callable[[Life], None]]] = [("apply", _apply), ("change", _change), ("destroy", _destroy)]
        self._lives: dict[str, Life] = {}
        self._errors: dict[str, BaseException] = {}

    def at(self, stage: str, example: str) -> Life:
        """Return an example's life once all of them have come through a stage.

        Raises:
            BaseException: what ended this one, in this stage or one before.
        """
        while any(name == stage for name, _ in self._stages):
            _, work = self._stages.pop(0)
            with ThreadPoolExecutor(len(self.examples)) as threads:
                list(threads.map(lambda example, work=work: self._through(example, work), self.examples))
        if example in self._errors:
            raise self._errors[example]
        return self._lives[example]

    def _through(self, example: str, work: Callable[[Life], None]) -> None:
        if example in self._errors:
            return
        try:
            if example not in self._lives:
                self._lives[example] = self._new(example)
            work(self._lives[example])
        except BaseException as error:
            self._errors[example] = error

    def _new(self, example: str) -> Life:
        folder = self._folder / example
        folder.mkdir()
        world = World(self._aws, self._aws.new_account(), self._aws.new_account(), folder)
        aliases = ["lake"] if example == "cross-account" else []
        return Life(example, world, Stack(f"examples/{example}", folder, self._aws, world.account, aliases))


def _apply(life: Life) -> None:
    variables = EXAMPLES[life.example](life.world)
    life.inputs = inputs(life.example, life.world, variables)
    life.outputs = life.stack.apply(**variables)
    settle(life.world, life.outputs["pipeline"])
    life.drift = life.stack.drift()


def _change(life: Life) -> None:
    life.changed_outputs = change(life.stack, life.example, life.inputs)
    settle(life.world, life.changed_outputs["pipeline"])
    life.changed_drift = life.stack.drift()


def _destroy(life: Life) -> None:
    life.stack.destroy()
    life.left = life.stack.resources()


def chosen() -> list[ParameterSet]:
    """Return the examples that a test run applies: the shortest, a second for releases, all with DMS_ICEBERG_ALL_EXAMPLES."""
    every = list(EXAMPLES) if os.environ.get("DMS_ICEBERG_ALL_EXAMPLES") else [SHORTEST, SECOND]
    return [pytest.param(name, marks=[] if name == SHORTEST else pytest.mark.release) for name in every]
