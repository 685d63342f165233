"""Driving the job over a random world, and looking at what it left."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.bronze.keys import digits_of, earlier
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import NO_REQUEST, RunRequest
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.progress import ACCOUNTING_KEY
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.quarantine.tables import quarantine_table
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import BatchReport, RunReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.quoting import quote
from support.awkward_kinds import NAN
from support.bronze_writer import BronzeFolder, Format
from support.confirming import confirming
from support.crowding import clear_events, told_events
from support.histories import World
from support.mode_oracles import Event, ModeOracle, at_us, mirrored
from support.oracle import Key, Row
from support.table_kind import SCHEMA, TableKind

_NUMBERS = itertools.count(1)
Story = Callable[[TableKind, World], Iterable[Event]]
_LONGEST_SHOWN = 4_000
_BOOKS = ("applied", "superseded", "stale", "filtered", "quarantined")


@attrs.frozen
class Difference:
    """A silver key whose row is not the oracle's; None where there is no row."""

    kind: TableKind
    key: Key
    expected: Row | None
    found: Row | None

    def __str__(self) -> str:
        return f"{self.kind.name} {_short(self.key)}:\n      expected {_short(self.expected)}\n      found    {_short(self.found)}"


@attrs.frozen
class RowDifference:
    """A silver key whose rows, as a multiset, are not those that a mode's oracle tells."""

    kind: TableKind
    key: Key
    missing: list[Row]
    surplus: list[Row]

    def __str__(self) -> str:
        lines = [f"      missing {row}" for row in self.missing] + [f"      surplus {row}" for row in self.surplus]
        return "\n".join([f"{self.kind.name} {self.key!r}:", *lines])


def _short(shown: object) -> str:
    """What it looks like, without the middle of a very long key."""
    text = repr(shown)
    return text if len(text) < _LONGEST_SHOWN else f"{text[:200]} ... {text[-200:]}"


class Merging:
    """A world's bucket folder and silver tables, and the job between them."""

    def __init__(
        self,
        spark: SparkSession,
        warehouse: Path,
        folder: Path,
        world: World,
        form: Format,
        before: "Merging | None" = None,
        epoch: int | None = None,
    ) -> None:
        """Prepare a world; one ``before`` it leaves its tables to be loaded again. The ``epoch`` of the load differs unless it is given."""
        number = next(_NUMBERS)
        self.world = world
        self._spark = spark
        self._namespace = before._namespace if before is not None else f"properties_{number}"
        self._folder = BronzeFolder(folder / f"bronze_{number}" / f"epoch-{epoch or number}", world, form)
        self._folder.root.mkdir(parents=True)
        self._document = self._folder.document(warehouse, self._namespace)
        self.config = parse_config(self._document)
        self._word = RunRequest(frozenset(self.config.tables)) if before is not None else NO_REQUEST
        self._truncates: dict[str, list[int]] = {kind.source: [] for kind in world.kinds}

    @property
    def root(self) -> Path:
        """The folder that the files arrive in."""
        return self._folder.root

    def configured(self, entries: Mapping[str, Mapping[str, Any]]) -> Config:
        """The configuration with other ``entries`` of some tables, by their names without a schema."""
        changed = {f"{SCHEMA}.{name}": {**self._document["tables"][f"{SCHEMA}.{name}"], **entry} for name, entry in entries.items()}
        return parse_config({**self._document, "tables": {**self._document["tables"], **changed}})

    def deliver(self, number: int) -> None:
        """Let the files arrive that come before a run."""
        self._folder.deliver(number)
        for moments in self._truncates.values():
            moments += [self.world.truncates[number]] if number in self.world.truncates else []

    def run(self) -> RunReport:
        """One run of the job; no table may fail. A second load is there before it, or its table was empty."""
        request = self._request()
        report = confirming(lambda told: run(self._spark, self.config, request=told), request)
        errors = {name: table.error for name, table in report.tables.items() if table.error}
        assert not errors, errors
        for name in request.truncate:
            self._truncates[name].pop(0)
        return report

    def run_all(self) -> list[RunReport]:
        """Deliver the files run by run, with the job after each delivery, and check each batch's books."""
        reports = []
        for number in range(self.world.runs):
            self.deliver(number)
            reports.append(self.run())
        while self._request().truncate:
            reports.append(self.run())
        self.check_books(reports)
        return reports

    def truncate_before_the_load(self) -> None:
        """Report a truncate from before the loads once bronze has lost their files: it is refused, and nothing is written."""
        held = {kind.source: self._target(kind) for kind in self.world.kinds if self._holds_something(kind)}
        written = {name: moment for name, target in held.items() if (moment := target.progress().load_written)}
        for path in self._folder.root.rglob("*LOAD*"):
            path.unlink()
        if not written:
            return
        before = self.snapshots()
        at = earlier(min(written.values()), seconds=self.world.seed % 3 * 3600)
        report = run(self._spark, self.config, request=RunRequest(truncate=frozenset(written), truncated_at=at))
        assert set(report.errors) == set(written), (at, written)
        assert self.snapshots() == before

    def _request(self) -> RunRequest:
        """What the operator asks for: also to truncate the tables that have waited longest for it, once they hold something."""
        there = {kind.source: self._truncates[kind.source] for kind in self.world.kinds if self._holds_something(kind)}
        there = {name: moments for name, moments in there.items() if moments}
        if not there:
            return self._word
        at = min(moments[0] for moments in there.values())
        chosen = frozenset(name for name, moments in there.items() if moments[0] == at)
        return attrs.evolve(self._word, truncate=chosen, truncated_at=digits_of(at_us(at)))

    def _target(self, kind: TableKind) -> TargetTable:
        return TargetTable(self._spark, self.config.catalog.name, self.config.tables[kind.source].target)

    def _holds_something(self, kind: TableKind) -> bool:
        target = self._target(kind)
        return target.exists() and target.head() is not None

    def check_books(self, reports: Sequence[RunReport]) -> None:
        """The books of every batch balance, and are those that its snapshot has."""
        for kind in self.world.kinds:
            summaries = {row.snapshot_id: row.summary for row in self._snapshots(kind)}
            for report in reports:
                for batch in report.tables[kind.source].batches:
                    self._check_books(kind.source, batch, summaries)

    def differences(self, kinds: Sequence[TableKind] = ()) -> list[Difference]:
        """Where silver and oracle disagree; for all kinds of the world if none are given."""
        found = []
        for kind in kinds or self.world.kinds:
            expected = mirrored(kind, clear_events(kind, self.world)) if kind.deferred else self.world.expected(kind)
            silver = self.silver(kind)
            found += [
                Difference(kind, key, expected.get(key), silver.get(key))
                for key in sorted(expected.keys() | silver.keys(), key=repr)
                if _frozen(kind, expected.get(key, {})) != _frozen(kind, silver.get(key, {}))
            ]
        return found

    def state(self, kind: TableKind) -> tuple[Any, ...]:
        """All that a silver table and its quarantine tell: types, rows with their metadata columns, progress, open rows.

        Without what differs between two deliveries of the same files: names of replays, and when files were written.
        """
        table = self.config.tables[kind.source]
        target = TargetTable(self._spark, self.config.catalog.name, table.target)
        if not target.exists():
            return ()
        self._spark.sql(f"REFRESH TABLE {self._name(kind)}")
        frame = self._spark.table(self._name(kind))
        progress = target.progress()
        waiting = open_rows(self._spark, self.config, table, progress)
        # Each file's folder has the number of its world.
        reasons = (
            Counter(tuple(row) for row in waiting.select("reason", "key", "row_number").collect()) if waiting is not None else Counter()
        )
        rows = sorted(repr(row.asDict()) for row in frame.collect())
        return (
            tuple(frame.dtypes),
            rows,
            attrs.evolve(progress, replay="", loads=MergedLoads(), load_written="", recent=tuple((at, b"") for at, _ in progress.recent)),
            reasons,
        )

    def silver(self, kind: TableKind) -> dict[Key, Row]:
        """A silver table's declared columns by key, instants as UTC wall clocks."""
        frame = self._spark.table(self._name(kind))
        declared = [name for name in frame.columns if not name.startswith("_cdc_")]
        # A column that the source has for a while may be in no file that was read.
        lacking = kind.cleaning.columns.keys() - set(declared)
        assert lacking <= kind.lifetimes.keys(), lacking
        assert len(declared) + len(lacking) == len(kind.cleaning.columns), declared
        rows = _collected(frame, kind.cleaning.columns)
        made: dict[Key, Row] = {tuple(row[name] for name in kind.cleaning.silver_key): row for row in rows}
        assert len(made) == len(rows), f"{kind.name}: a key twice"
        return made

    def row_differences(self, oracle: ModeOracle, story: Story = told_events, kinds: Sequence[TableKind] = ()) -> list[RowDifference]:
        """Where silver and a mode's oracle disagree, key by key, for all kinds of the world if none are given.

        ``story`` tells what happened to a table.
        """
        found = []
        for kind in kinds or self.world.kinds:
            key_of = partial(_key_of, kind)
            expected, silver = (
                Counter(_frozen(kind, row) for row in rows)
                for rows in (oracle.expected(kind, story(kind, self.world)), self._rows(kind, oracle))
            )
            missing, surplus = [*map(dict, (expected - silver).elements())], [*map(dict, (silver - expected).elements())]
            for key in sorted({*map(key_of, missing), *map(key_of, surplus)}, key=repr):
                found.append(RowDifference(kind, key, [r for r in missing if key_of(r) == key], [r for r in surplus if key_of(r) == key]))
        return found

    def _rows(self, kind: TableKind, oracle: ModeOracle) -> list[Row]:
        return _collected(self._spark.table(self._name(kind)), (*kind.cleaning.columns, *oracle.columns))

    def quarantined(self, kind: TableKind) -> Counter[str]:
        """Rows in a table's quarantine by reason."""
        name = quarantine_table(self.config, self.config.tables[kind.source])
        if not self._spark.catalog.tableExists(name):
            return Counter()
        return Counter(row.reason.split(":")[0] for row in self._spark.table(name).select("reason").collect())

    def open_reasons(self, kind: TableKind) -> Counter[str]:
        """Open rows in a table's quarantine by reason."""
        return Counter(reason for reason, _ in self._open(kind))

    def waits(self, difference: Difference) -> bool:
        """Whether silver only has a row still, of the load, whose removal waits in quarantine: the limit "Keys that look crowded"."""
        kind = difference.kind
        stays = difference.expected is None and difference.found is not None and self.world.overlaps(kind)
        return stays and self._is_ambiguous(kind, difference.key)

    def waits_for(self, kind: TableKind, key: Key) -> bool:
        """Whether versions of a key wait in quarantine, because it only looks crowded while changes that the load has seen come again."""
        return self.world.overlaps(kind) and self._is_ambiguous(kind, key)

    def _is_ambiguous(self, kind: TableKind, key: Key) -> bool:
        shown = json.dumps(dict(zip(kind.cleaning.silver_key, key, strict=True)), separators=(",", ":"))
        return ("ambiguous_key_change", shown) in self._open(kind)

    def _open(self, kind: TableKind) -> list[tuple[str, str]]:
        """Reason and key of the open rows in a table's quarantine."""
        target = TargetTable(self._spark, "lake", f"{self._namespace}.{kind.name}")
        target.refresh()
        rows = open_rows(self._spark, self.config, self.config.tables[kind.source], target.progress())
        return [] if rows is None else [(row.reason, row.key) for row in rows.select("reason", "key").collect()]

    def replay(self, kind: TableKind) -> None:
        """Replay what a table's quarantine has; it may not fail."""
        report = replay(self._spark, self.config, (kind.source,))
        assert not report.errors, report.errors

    def snapshots(self) -> dict[str, list[int]]:
        """The snapshot ids of each table that exists, oldest first."""
        return {kind.name: [row.snapshot_id for row in self._snapshots(kind)] for kind in self.world.kinds}

    def _snapshots(self, kind: TableKind) -> list[Any]:
        sql = f"SELECT snapshot_id, summary FROM {self._name(kind)}.snapshots ORDER BY committed_at"
        return self._spark.sql(sql).collect()

    def _check_books(self, name: str, batch: BatchReport, summaries: dict[int, Any]) -> None:
        books = {word: getattr(batch, word) for word in ("rows_read", *_BOOKS)}
        assert batch.rows_read == sum(books[word] for word in _BOOKS), f"{name}: {books}"
        if batch.rows_read == batch.quarantined and batch.files == 0:
            # A replay that settles nothing commits nothing.
            return
        assert batch.snapshot_id is not None
        kept = json.loads(summaries[batch.snapshot_id][ACCOUNTING_KEY])
        assert {word: kept[word] for word in books} == books, f"{name}: the snapshot says {kept}"

    def _name(self, kind: TableKind) -> str:
        return f"lake.{self._namespace}.{kind.name}"


def _key_of(kind: TableKind, row: Row) -> Key:
    return tuple(row[name] for name in kind.cleaning.silver_key)


def _frozen(kind: TableKind, row: Row) -> tuple[tuple[str, Any], ...]:
    """The row as what can be compared and counted: -0.0 is not 0.0, as Python has it, but in a key, where either may stand for both."""
    return tuple(
        (name, "-0.0" if isinstance(value, float) and str(value) == "-0.0" and name not in kind.cleaning.silver_key else value)
        for name, value in sorted(row.items())
        if name not in kind.forgotten
    )


def _collected(frame: DataFrame, names: Iterable[str]) -> list[Row]:
    """The rows with these columns, NULL where the table has no such column."""
    types = dict(frame.dtypes)
    return [
        {name: NAN if value != value else value for name, value in row.asDict().items()}
        for row in frame.selectExpr(*(_shown(name, types.get(name)) for name in names)).collect()
    ]


def _shown(name: str, type_: str | None) -> str:
    if type_ is None:
        return f"NULL AS {quote(name)}"
    # A collected timestamp is in the machine's zone; a wall clock of the session's zone (UTC) is the same everywhere.
    return f"CAST({quote(name)} AS timestamp_ntz) AS {quote(name)}" if type_ == "timestamp" else quote(name)
