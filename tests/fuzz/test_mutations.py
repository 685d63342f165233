"""Mutated files of each reader: refused by name, quarantined with a reason, or in silver as an oracle in plain Python reads them.

Each test is a few runs of the job over tables of two dozen mutated files. ``PROPERTY_SEED`` and ``FUZZ_TIMES`` look further. A failure
names mutations with their seeds: ``FUZZ_REPLAY="csv:20260301:3:7" pytest tests/fuzz -k replay`` tries one alone.
"""

import os

import pytest
from _pytest.mark import ParameterSet

from support.fuzzing.forms import FORMS, Form
from support.fuzzing.running import FILES, fuzzed_table, outcomes, replayed, run_all
from support.histories import SEED
from support.lake import Lake

_TABLES = {"parquet": 3, "csv": 2, "csv_null": 1, "csv_gz": 1, "headerless": 2, "headerless_null": 1, "json": 2, "json_gz": 1}
_TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
_FEW = {"csv": 1, "headerless": 1, "json": 1, "parquet": 1}
_REPLAY = os.environ.get("FUZZ_REPLAY", "")
_MOST_TOLD, _MOST_CHARACTERS = 40, 500


def _cases() -> list[ParameterSet]:
    few = [pytest.param(form, SEED - 1, _FEW[form.name], id=f"{form.name}-few") for form in FORMS if form.name in _FEW]
    return [*few, *(pytest.param(form, SEED, _TIMES * _TABLES[form.name], id=form.name, marks=pytest.mark.long) for form in FORMS)]


@pytest.mark.parametrize(("form", "seed", "count"), _cases())
def test_mutated_file_is_refused_quarantined_or_equal(lake: Lake, form: Form, seed: int, count: int) -> None:
    tables = [fuzzed_table(lake, form, seed, number) for number in range(count)]
    run_all(lake, form, tables)
    found = outcomes(tables)
    print(f"{form.name}: {dict(found)} in {max(len(table.reports) for table in tables)} runs")  # noqa: T201
    problems = [f"{table.name}: {problem[:_MOST_CHARACTERS]}" for table in tables for problem in table.problems]
    print(*problems, sep="\n")  # noqa: T201
    assert not problems, f"{len(problems)} problems, PROPERTY_SEED={SEED}:\n" + "\n".join(problems[:_MOST_TOLD])
    assert found["merged"] > count * FILES // 4, found


if _REPLAY:

    def test_replay_of_one_mutation(lake: Lake) -> None:
        form = next(form for form in FORMS if form.name == _REPLAY.partition(":")[0])
        table = replayed(lake, form, _REPLAY)
        print(table.files, table.files[0].data, table.first)  # noqa: T201
        run_all(lake, form, [table])
        print(table.refused)  # noqa: T201
        assert not table.problems, "\n".join(table.problems)
