"""Random source histories: committed transactions over several tables, dense in what goes wrong.

Everything is drawn from a `random.Random`. Hypothesis gives one that it controls (and shrinks); thousands of
histories at once, or forty in one Spark run, come from a seeded one.

One *history* is one range of keys; several share tables, files and runs, and never a key. So one failing history
can be tried again alone.
"""

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import attrs
import pytest
from hypothesis import strategies as st

from support.deferred import deferred_statements
from support.odd_files import Delivery, arrivals_of, befallen, first_merged
from support.oracle import (
    Delete,
    Insert,
    Key,
    Row,
    Statement,
    Transaction,
    Truncate,
    Update,
    apply_deferred,
    apply_to_source,
    expected_silver,
)
from support.table_kind import KEYS, TableKind
from support.table_kinds import ALL_KINDS
from support.task_files import BronzeFile
from support.task_run import Profile, TablePlan, write_files

SEED = int(os.environ.get("PROPERTY_SEED", "20260301"))
WORLDS = int(os.environ.get("PROPERTY_WORLDS", "1"))
"""How many worlds each test looks at; the seed of the first is `SEED`."""
NUMBERS = [pytest.param(number, marks=[pytest.mark.release] if number else []) for number in range(WORLDS)]
"""The worlds as parameters; all but the first are for releases."""

# 2026-03-01 09:59:59.99 UTC: the first tick ends with the hour, so date folders change under way.
START_US = 1_772_359_199_990_000
# Mostly inside one tick of 10 ms, where the sequence's time part says nothing.
_STEPS_US = (0, 1, 40, 900, 2_000, 10_000, 70_000)
_SECOND_US, _TICK_US = 1_000_000, 10_000
_STEPS_BACK_US = (-1, -3_000, -25_000)


@attrs.frozen
class World:
    """Histories, how they were written as files, and how the files were handed over.

    Attributes:
        seed: what it was drawn from, for messages; 0 when Hypothesis drew it.
        kinds: the tables.
        transactions: all histories' transactions in the source's order.
        plans: by table name, the full load and where its changes begin.
        files: everything DMS writes, each table's in the order of names, full load first.
        arrivals: for each of ``files`` the run (from 0) before which it arrives.
        uploads: for some of ``files``, by their place, the run before which it is uploaded again, under another ETag.
        runs: how often the job runs while files arrive.
        max_files: bound of one batch.
        profile: whose habits the files have.
        truncates: the run with which the operator reports that all tables were truncated -> when that was, in microseconds since 1970 UTC.
    """

    seed: int
    kinds: tuple[TableKind, ...]
    transactions: tuple[Transaction, ...]
    plans: dict[str, TablePlan]
    files: tuple[BronzeFile, ...]
    arrivals: tuple[int, ...]
    runs: int
    max_files: int
    profile: Profile = Profile.POSTGRES
    uploads: Mapping[int, int] = attrs.field(factory=dict)
    truncates: Mapping[int, int] = attrs.field(factory=dict)

    def expected(self, kind: TableKind) -> dict[Key, Row]:
        """The oracle's silver table."""
        plan = self.plans[kind.name]
        return expected_silver(kind.name, self.transactions, kind.cleaning, plan.load_at, plan.changes_from)

    def bad_rows(self, kind: TableKind, files: Iterable[BronzeFile] | None = None) -> int:
        """Rows in files (all if none are given) that must end in quarantine; a delete is there when it has no key in silver."""
        columns = [column.name for column in kind.layout.columns]
        count = 0
        for file in self.files if files is None else files:
            for row in file.rows if file.table == kind.name else ():
                values = dict(zip(columns, row.change.values, strict=True))
                keyless = kind.cleaning.silver_key_of(kind.cleaning.key_of(values)) is None
                count += keyless or (row.change.op != "D" and kind.cleaning.is_bad(values))
        return count

    def overlaps(self, kind: TableKind) -> bool:
        """Whether the full load holds changes that come again."""
        plan = self.plans[kind.name]
        return plan.changes_from < plan.load_at

    def uploaded(self, kind: TableKind) -> list[BronzeFile]:
        """Files of a table that come a second time, under another ETag."""
        return [self.files[place] for place in self.uploads if self.files[place].table == kind.name]

    def early_copies(self, kind: TableKind) -> int:
        """Rows that are written for the second time in a file that arrives a run or more before the first writing."""
        latest: dict[int, int] = {}
        count = 0
        for file, run in zip(self.files, self.arrivals, strict=True):
            for row in file.rows if file.table == kind.name and not file.is_load else ():
                count += latest.get(row.number, 0) > run
                latest[row.number] = max(run, latest.get(row.number, 0))
        return count

    def owner(self, kind: TableKind, histories: int) -> dict[Key, int]:
        """Silver key -> history."""
        keys = {kind.cleaning.silver_key_of(kind.key(history, index)): history for history in range(histories) for index in range(KEYS)}
        return {key: history for key, history in keys.items() if key is not None}

    def only(self, kind: TableKind, history: int) -> "World":
        """This world with one table and one range of keys; files without any of its rows stay, empty."""
        mine = {kind.key(history, index) for index in range(KEYS)}

        def touches(statement: Statement) -> bool:
            if statement.table != kind.name or isinstance(statement, Truncate):
                return statement.table == kind.name
            key = kind.cleaning.key_of(statement.row) if isinstance(statement, Insert) else statement.key
            return key in mine

        kept = [place for place, file in enumerate(self.files) if file.table == kind.name]
        return attrs.evolve(
            self,
            kinds=(kind,),
            transactions=tuple(attrs.evolve(each, statements=tuple(filter(touches, each.statements))) for each in self.transactions),
            files=tuple(self.files[place].only(history) for place in kept),
            arrivals=tuple(self.arrivals[place] for place in kept),
            uploads={number: self.uploads[place] for number, place in enumerate(kept) if place in self.uploads},
        )

    def story(self) -> str:
        """The files and their rows, to be read by people."""
        lines = []
        for place, (file, run) in enumerate(zip(self.files, self.arrivals, strict=True)):
            if file.rows:
                again = f", again before run {self.uploads[place]}" if place in self.uploads else ""
                lines.append(f"{file.table} {file.folder and file.folder + '/'}{file.name} (before run {run}{again})")
                lines.extend(f"    {row}" for row in file.rows)
        return "\n".join(lines)


class Author:
    """Invents transactions that a source would accept."""

    def __init__(self, rng: Random, kinds: Sequence[TableKind], histories: int, keys: int = KEYS, *, rising: bool = False) -> None:
        """Begin; with ``rising`` each transaction has a clock tick of its own."""
        self._rng = rng
        self._rising = rising
        self._kinds = kinds
        self._histories = histories
        self._keys = keys
        self._live: dict[tuple[str, int], dict[Key, Row]] = {}
        self._place, self._count = 0, 1

    def transactions(self, count: int, truncates: int = 0) -> list[Transaction]:
        """So many transactions, most of them inside one tick with their neighbours; now and then the clock goes back.

        Some of them are truncates of all tables, in a second that no other transaction shares.
        """
        made, now = [], START_US
        self._count = count
        truncated = {self._rng.randrange(count) for _ in range(truncates)}
        for self._place in range(count):
            if self._place in truncated:
                now += _SECOND_US
                made.append(Transaction(now // _TICK_US * _TICK_US, tuple(Truncate(kind.name) for kind in self._kinds)))
                self._live.clear()
                now += _SECOND_US
                continue
            if self._rising:
                now += self._rng.choice((2, 7, 100)) * _TICK_US
            else:
                now += self._rng.choice(_STEPS_US if self._rng.random() < 0.97 else _STEPS_BACK_US)
            statements: list[Statement] = []
            for _ in range(self._rng.choice((1, 1, 2))):
                kind, history = self._rng.choice(self._kinds), self._rng.randrange(self._histories)
                for _ in range(self._rng.choice((1, 1, 2, 3))):
                    statements += self._act(kind, history)
            made.append(Transaction(now, tuple(statements)))
        return made

    def _act(self, kind: TableKind, history: int) -> list[Statement]:
        live = self._live.setdefault((kind.name, history), {})
        pool = [kind.key(history, index) for index in range(self._keys)]
        free = [key for key in pool if key not in live]
        taken = [key for key in pool if key in live]
        acts = ["insert"] * 3 * bool(free) + ["update"] * 4 * bool(taken) + ["delete"] * 2 * bool(taken)
        if free and taken and kind.moves:
            acts += ["move"] * 3 + ["swap"] * (len(taken) > 1)
        if kind.deferred and taken and self._rng.random() < 0.5:
            statements = deferred_statements(self._rng, kind, live, pool, lambda key: self._row(kind, key))
            apply_deferred(live, statements, kind.cleaning)
            return statements
        return self._statements(self._rng.choice(acts), kind, taken, free, live)

    def _statements(self, act: str, kind: TableKind, taken: list[Key], free: list[Key], live: dict[Key, Row]) -> list[Statement]:
        choose = self._rng.choice
        made: list[Statement] = []

        def commit(statement: Statement) -> None:
            apply_to_source(live, statement, kind.cleaning)
            made.append(statement)

        if act == "insert":
            commit(Insert(kind.name, self._row(kind, choose(free))))
        elif act == "update":
            key = choose(taken)
            commit(self._update(kind, key, key, live[key]))
        elif act == "delete":
            key = choose(taken)
            commit(Delete(kind.name, key, live[key]))
        elif act == "move":
            key = choose(taken)
            commit(self._update(kind, key, choose(free), live[key]))
        else:
            one, two = self._rng.sample(taken, 2)
            through = choose(free)
            for old, new in ((one, through), (two, one), (through, two)):
                commit(self._update(kind, old, new, live[old]))
        return made

    def _row(self, kind: TableKind, key: Key) -> Row:
        row = {name: self._rng.choice(pool) for name, pool in kind.pools.items()}
        if kind.lifetimes:
            alive = kind.columns_at(self._place, self._count)
            row = {name: value if name in alive else None for name, value in row.items()}
        if kind.spellings:
            key = tuple(self._rng.choice(kind.spellings.get(part, (part,))) for part in key)
        return row | dict(zip(kind.cleaning.source_key, key, strict=True))

    def _update(self, kind: TableKind, old: Key, new: Key, before: Row) -> Update:
        row = dict(self._row(kind, new))
        unsent = {name for name in kind.kept if self._rng.random() < 0.5}
        row.update({name: before[name] for name in unsent})
        return Update(kind.name, old, row, frozenset(unsent), before)


def make_world(
    rng: Random,
    kinds: Sequence[TableKind],
    *,
    histories: int,
    transactions: int,
    keys: int = KEYS,
    runs: int | None = None,
    restarts: int | None = None,
    max_files: int | None = None,
    cut: float = 0.25,
    seed: int = 0,
    by_file: bool = False,
    whole_seconds: bool = False,
    truncates: int = 0,
    rising: bool = False,
    steady: bool = False,
) -> World:
    """Invent histories, write them as files and choose how the files arrive.

    Args:
        rng: every choice comes from it.
        kinds: tables.
        histories: ranges of keys in each table.
        transactions: how many the source commits in all.
        keys: keys of a range, at most `KEYS`; fewer make a denser history.
        runs: the job runs so often; drawn when None.
        restarts: the task starts again so often; drawn when None.
        max_files: bound of one batch; drawn when None.
        cut: how likely a file is closed after a row.
        seed: for messages.
        by_file: files have neither commit time nor sequence, so whatever is written again is written to the end of the stream.
        whole_seconds: the source is a MySQL, whose commit times are whole seconds.
        truncates: all tables are truncated so often at most, and each truncate is reported before one of the runs, in order.
        rising: each transaction has a clock tick of its own, so a file that arrives in order holds nothing late.
        steady: the source's clock never goes back, so commit times are an order without a sequence.
    """
    author = Author(rng, kinds, histories, keys, rising=rising)
    committed = author.transactions(transactions, truncates)
    if steady:
        latest = itertools.accumulate((one.commit_us for one in committed), max)
        committed = [attrs.evolve(one, commit_us=at) for one, at in zip(committed, latest, strict=True)]
    if whole_seconds:
        committed = [attrs.evolve(one, commit_us=one.commit_us // 1_000_000 * 1_000_000) for one in committed]
    plans, files, profile = write_files(
        rng,
        kinds,
        committed,
        histories,
        cut,
        rng.choice((0, 0, 1, 1, 2)) if restarts is None else restarts,
        copies=not by_file,
        profile=Profile.MYSQL if whole_seconds else None,
    )
    count = rng.randint(1, 4) if runs is None else runs
    deliveries: list[Delivery] = []
    for kind in kinds:
        written = [file for file in files if file.table == kind.name]
        arrived = map(Delivery, written, arrivals_of(rng, written, count, in_order=kind.in_order))
        # What an update leaves out is taken from what came before it, so such a table's files come once and in order.
        deliveries += arrived if kind.in_order else befallen(rng, list(arrived), count, by_file=by_file)
    begin = first_merged(deliveries)
    moments = [one.commit_us for one in committed if one.statements and isinstance(one.statements[0], Truncate)]
    told = sorted(rng.sample(range(count), len(moments))) if moments else []
    return World(
        seed=seed,
        kinds=tuple(kind.begun_with(begin[kind.name]) if kind.name in begin else kind for kind in kinds),
        transactions=tuple(committed),
        plans=plans,
        files=tuple(one.file for one in deliveries),
        arrivals=tuple(one.run for one in deliveries),
        uploads={place: one.again for place, one in enumerate(deliveries) if one.again is not None},
        runs=count,
        max_files=rng.choice((1, 2, 3, 7, 1_000)) if max_files is None else max_files,
        profile=profile,
        truncates=dict(zip(told, moments, strict=True)),
    )


def seeded_world(
    seed: int,
    kinds: Sequence[TableKind] = ALL_KINDS,
    *,
    histories: int = 6,
    per_table: int = 70,
    by_file: bool = False,
    whole_seconds: bool = False,
    **shape: int,
) -> World:
    """A large world for one Spark run: about ``per_table`` acts on each table; ``shape`` goes to `make_world`."""
    count = math.ceil(per_table * len(kinds) / 1.3)
    written = {"by_file": by_file, "whole_seconds": whole_seconds}
    return make_world(Random(seed), kinds, histories=histories, transactions=count, keys=4, cut=0.12, seed=seed, **written, **shape)


def small_worlds(kinds: Sequence[TableKind] = ALL_KINDS) -> st.SearchStrategy[World]:
    """One history of one table, small enough to be read when it fails."""
    return st.builds(
        lambda rng, kind, count, keys: make_world(rng, [kind], histories=1, transactions=count, keys=keys),
        st.randoms(use_true_random=False),
        st.sampled_from(list(kinds)),
        st.integers(1, 8),
        st.integers(2, 4),
    )
