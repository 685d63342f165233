"""Mutated files of each reader: refused by name, quarantined with a reason, or read as an oracle in plain Python reads them.

Two thousand files go through the readers only, whose rows are judged one by one; some go through whole runs of the job.
``PROPERTY_SEED`` and ``FUZZ_TIMES`` look further. A failure names mutations with their seeds:
``FUZZ_REPLAY="csv:20260301:3:7" pytest tests/fuzz -k replay`` tries one alone.
"""

import os
from collections.abc import Sequence

import pytest
from _pytest.mark import ParameterSet

from support.fuzzing.forms import FORMS, Form
from support.fuzzing.read_rows import read_all
from support.fuzzing.running import FuzzedTable, fuzzed_table, outcomes, replayed, run_all
from support.histories import SEED
from support.lake import Lake

_TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
_REPLAY = os.environ.get("FUZZ_REPLAY", "")
_TABLES = 11
"""So many tables of each form make two thousand mutations."""
_MERGED, _MERGED_FILES = ("parquet", "csv", "headerless", "json"), 12
_ENOUGH = 100
_MOST_GOOD_REJECTED = 0.1
_MOST_TOLD, _MOST_CHARACTERS = 40, 500


def _cases() -> list[ParameterSet]:
    few = [pytest.param(form, SEED - 1, 1, id=f"{form.name}-few", marks=() if form.name in _MERGED else pytest.mark.long) for form in FORMS]
    return [*few, *(pytest.param(form, SEED, _TIMES * _TABLES, id=form.name, marks=pytest.mark.long) for form in FORMS)]


@pytest.mark.parametrize(("form", "seed", "count"), _cases())
def test_rows_of_mutated_files_are_refused_rejected_or_right(lake: Lake, form: Form, seed: int, count: int) -> None:
    tables = [fuzzed_table(lake, form, seed, number) for number in range(count)]
    read_all(lake, form, tables)
    _check(form, tables)


@pytest.mark.long
@pytest.mark.parametrize("form", [form for form in FORMS if form.name in _MERGED], ids=lambda form: form.name)
def test_merged_rows_of_mutated_files_are_right(lake: Lake, form: Form) -> None:
    tables = [fuzzed_table(lake, form, SEED, number, _MERGED_FILES) for number in range(_TIMES)]
    run_all(lake, form, tables)
    _check(form, tables)


def _check(form: Form, tables: Sequence[FuzzedTable]) -> None:
    found = outcomes(tables)
    good, rejected = (sum(values) for values in ([table.good for table in tables], [table.good_rejected for table in tables]))
    print(f"{form.name}: {dict(found)}, {rejected} of {good} good rows in quarantine")  # noqa: T201
    problems = [f"{table.name}: {problem[:_MOST_CHARACTERS]}" for table in tables for problem in table.problems]
    print(*problems, sep="\n")  # noqa: T201
    assert not problems, f"{len(problems)} problems, PROPERTY_SEED={SEED}:\n" + "\n".join(problems[:_MOST_TOLD])
    # Of a dozen files, chance may damage most.
    assert found["read"] > (found.total() // 4 if found.total() >= _ENOUGH else 0), found
    assert rejected <= _MOST_GOOD_REJECTED * good, f"{rejected} of {good} good rows are in quarantine"


if _REPLAY:

    def test_replay_of_one_mutation(lake: Lake) -> None:
        form = next(form for form in FORMS if form.name == _REPLAY.partition(":")[0])
        for way in (read_all, run_all):
            table = replayed(lake, form, _REPLAY)
            print(way.__name__, table.files, table.files[0].data, table.first)  # noqa: T201
            way(lake, form, [table])
            print(table.refused)  # noqa: T201
            assert not table.problems, "\n".join(table.problems)
