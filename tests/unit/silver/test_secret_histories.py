"""Random histories of names: whatever a source does to its columns, none that silver withholds is shown where files have a trace of it.

The oracle knows the columns themselves; the product sees their names, file by file and batch by batch.
"""

import random
from collections.abc import Iterable, Iterator, Sequence

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.config.former_names import former_in_file, former_names
from dms_iceberg.config.model import Column, Mask, Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.memory.held_columns import FoundNames, Lines, held_columns, recorded_held, without_held
from dms_iceberg.silver.memory.late_declarations import refuse_reused_names
from dms_iceberg.silver.memory.name_changes import follow, without_reused_names
from dms_iceberg.silver.memory.publish_guard import refuse_published
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import MadeMask, Withheld

NAMES = ["a", "b", "c", "d", "e", "f"]
SECRET = "a"
TABLES = [
    Table(source="public.t", target="s.t", key=("id",), columns=(Column(name=SECRET, mask=Mask.REDACT),)),
    Table(source="public.t", target="s.t", key=("id",), drop=(SECRET,)),
    Table(source="public.t", target="s.t", key=("id",), columns=(Column(name=SECRET, expr=f"lower({SECRET})", mask=Mask.REDACT),)),
    Table(
        source="public.t", target="s.t", key=("id",), columns=(Column(name="shown", source=SECRET, renamed_from=SECRET, mask=Mask.REDACT),)
    ),
]
KINDS = ["masked", "dropped", "masked expression", "renamed in silver"]


@attrs.define
class Source:
    """A table at the source: the number of each column by its name. Column 0 is the secret one."""

    random: random.Random
    columns: dict[str, int]
    made: int = 0
    is_traceless: bool = False

    def change(self) -> None:
        """Rename, drop or add columns, as one migration."""
        before = dict(self.columns)
        for _ in range(self.random.choice((1, 1, 2))):
            free = [name for name in NAMES if name not in self.columns]
            used = sorted(self.columns)
            what = self.random.choice(("rename", "rename", "add", "drop"))
            if what == "rename" and free and used:
                self.columns[self.random.choice(free)] = self.columns.pop(self.random.choice(used))
            elif what == "add" and free:
                self.made += 1
                self.columns[self.random.choice(free)] = self.made
            elif what == "drop" and len(used) > 1:
                del self.columns[self.random.choice(used)]
        was, now = ({number: name for name, number in one.items()} for one in (before, self.columns))
        if 0 in was and 0 in now and was[0] != now[0]:
            # The name was that of another column until now, or the former name is that of another one: no file shows the change.
            self.is_traceless |= now[0] in before or was[0] in self.columns


File = dict[str, int]
"""The column of the source that each name of a file stands for."""


@attrs.define
class Silver:
    """What a table remembers, as runs leave it."""

    table: Table
    seen: Seen = attrs.field(factory=Seen)
    withheld: Withheld = attrs.field(factory=Withheld)
    columns: set[str] = attrs.field(factory=set)

    def merge(
        self, files: list[File], late: Sequence[File] = (), lines: Sequence[Lines] = (), raw: Sequence[File] | None = None
    ) -> set[int]:
        """Merge a batch; return the columns of the source that it shows. ``raw`` are the files by their own names, not the present ones."""
        every = [{"id": "id"} | {name: name for name in one} for one in files]
        structures, self.seen = without_reused_names(zip(raw or files, every, strict=True), self.table, self.seen, self.withheld.held)
        others = [{"id": "id"} | {name: name for name in one} for one in late]
        found = FoundNames(lines=lines) if lines else FoundNames(structures, others)
        held = held_columns(self.table, self.withheld, self.seen, found, sorted(self.columns))
        table, names = without_held(self.table, held), list(dict.fromkeys(name for one in (*every, *others) for name in one))
        refuse_published(table, self.withheld, names)
        clear = {one.source for one in silver_columns(table, names) if one.declared.mask is None}
        self.columns |= {one.name for one in silver_columns(table, names)}
        masks = {one.name: MadeMask("redact") for one in table.columns if one.mask is not None}
        self.withheld = attrs.evolve(self.withheld.after(table, names, masks), held=held)
        self.seen = attrs.evolve(self.seen.plus(names), gone=frozenset() if lines else follow(self.seen, structures).gone)
        return {number for one in (*files, *late) for name, number in one.items() if name in clear}


def histories(chance: random.Random, length: int = 8) -> Iterator[File]:
    """Yield files of a source until a change that no file shows."""
    source = Source(chance, {SECRET: 0, "b": -1, "c": -2})
    for _ in range(length):
        yield dict(source.columns)
        source.change()
        if source.is_traceless:
            break


def cut(chance: random.Random, count: int) -> list[range]:
    """Group files into batches."""
    ends = [*sorted(chance.sample(range(1, count), chance.randrange(count))), count] if count > 1 else [count]
    return [range(begin, end) for begin, end in zip([0, *ends], ends, strict=False) if begin < end]


@pytest.mark.parametrize("table", TABLES, ids=KINDS)
def test_no_secret_is_shown_where_files_have_a_trace_of_it_and_the_batches_do_not_matter(table: Table) -> None:
    shown = held = 0
    for seed in range(800):
        chance = random.Random(seed)
        files = list(histories(chance))
        outcomes = []
        for _ in range(3):
            silver, seen = Silver(table), set[int]()
            for batch in cut(chance, len(files)):
                seen |= silver.merge([files[number] for number in batch])
            assert 0 not in seen, (seed, files, silver)
            shown += len(seen)
            held += len(silver.withheld.held)
            outcomes.append(silver.withheld.held)
        assert outcomes == outcomes[:1] * 3, (seed, files)
    assert shown > 1_000 and held > 1_000


@pytest.mark.parametrize("table", TABLES, ids=KINDS)
def test_no_secret_is_shown_by_a_late_file(table: Table) -> None:
    late = 0
    for seed in range(800):
        chance = random.Random(seed)
        files = list(histories(chance))
        order = sorted(range(len(files)), key=lambda number: number + (number > 0 and chance.random() < 0.3) * chance.randrange(1, 5))
        silver, newest, known = Silver(table), -1, set[str]()
        for batch in cut(chance, len(order)):
            numbers = sorted(order[place] for place in batch)
            behind = [files[number] for number in numbers if number < newest]
            seen = silver.merge([files[number] for number in numbers if number > newest], behind)
            # Of a name that files had already, or that is used again, only the file before shows that it was free.
            merged = {*order[: batch.start], *numbers}
            alone = [files[number] for number in numbers if number < newest or number - 1 not in merged]
            hidden = any(number == 0 and (name in known or SECRET in one) for one in alone for name, number in one.items())
            assert 0 not in seen or hidden, (seed, files, order, batch, numbers, newest, silver.seen, silver.withheld)
            if hidden and 0 in seen:
                break
            late += len(behind)
            newest = max(newest, *numbers)
            known |= {name for number in numbers for name in files[number]}
    assert late > 300


def rows_of(chance: random.Random, one: File) -> list[File]:
    """Return rows of JSON lines, which omit what is NULL."""
    return [{name: number for name, number in one.items() if chance.random() < 0.6} for _ in range(chance.randrange(1, 4))]


def had_secret(files: Sequence[Sequence[File]]) -> bool:
    return any(SECRET in row for rows in files for row in rows)


def lines_of(rows: Sequence[File]) -> Lines:
    whole = [{*row, "id"} for row in rows]
    names = frozenset(name for row in whole for name in row)
    return Lines(names, {name: frozenset(other for row in whole if name in row for other in row) for name in names})


@pytest.mark.parametrize("table", TABLES, ids=KINDS)
def test_no_secret_is_shown_by_lines_and_the_batches_do_not_matter(table: Table) -> None:
    shown = held = 0
    for seed in range(800):
        chance = random.Random(seed)
        files, known = list[list[File]](), set[str]()
        for one in histories(chance):
            if any(number == 0 and name != SECRET and name in known for name, number in one.items()):
                # A line may omit any name, so one that comes back shows nothing.
                break
            known |= one.keys()
            files.append(rows_of(chance, one))
            if table.drop and any(number == 0 and name != SECRET for name, number in one.items()) and not had_secret(files):
                # Nor one that no line had yet.
                files.pop()
                break
        outcomes = []
        for _ in range(3):
            silver, seen = Silver(table), set[int]()
            for batch in cut(chance, len(files)):
                rows = [row for number in batch for row in files[number]]
                seen |= silver.merge(rows, lines=[lines_of(files[number]) for number in batch])
            assert 0 not in seen, (seed, files, silver)
            shown += len(seen)
            held += len(silver.withheld.held)
            outcomes.append(silver.withheld.held)
        assert outcomes == outcomes[:1] * 3, (seed, files)
    assert shown > 300 and held > 300, (shown, held)


def told(table: Table, held: Iterable[str], one: File) -> Table:
    """Return the document once it says what the held-back columns are, which the last file shows to whoever knows the source."""
    columns, drop = {column.name: column for column in table.columns}, list(table.drop)
    for name in held:
        if one.get(name) == 0 and table.drop:
            drop.append(name)
        elif one.get(name) == 0:
            secret = columns[SECRET]
            columns[SECRET] = attrs.evolve(secret, source=name, renamed_from=secret.source_name)
        elif name in one:
            columns[name] = Column(name=name)
    return attrs.evolve(table, columns=tuple(columns.values()), drop=tuple(drop))


def group(one: File) -> SchemaGroup:
    file = BronzeFile(True, "", "", key="public/t/a.parquet", size=0, etag="", extension="parquet")
    return SchemaGroup(True, "", tuple((name, "string") for name in one), (file,), None)


def by_present_names(one: File, table: Table) -> File:
    former = {old: new for new, old in former_in_file(one, table).items()}
    return {former.get(name, name): number for name, number in one.items()}


@pytest.mark.parametrize("table", TABLES[:2], ids=KINDS[:2])
def test_no_secret_is_shown_once_the_document_says_what_columns_are(table: Table) -> None:
    declared = shown = refused = reused = 0
    for seed in range(800):
        chance = random.Random(seed)
        files = list(histories(chance, 12))
        silver = Silver(table)
        for batch in cut(chance, len(files)):
            said = {column.name for column in silver.table.columns if column.mask is None} | {old for old, _ in former_names(silver.table)}
            if any(number == 0 and name in said for place in batch for name, number in files[place].items()):
                # The document says that the name is no secret, or none any more.
                break
            now = [by_present_names(files[number], silver.table) for number in batch]
            silver.seen = silver.seen.renamed(former_names(silver.table))
            try:
                refuse_reused_names(silver.table, [group(files[number]) for number in batch], silver.seen)
                seen = silver.merge(now, raw=[files[number] for number in batch])
            except SchemaChangeError:
                refused += 1
                break
            assert 0 not in seen, (seed, now, batch, silver.table.columns, silver.withheld)
            reused += any(former_in_file(files[number], silver.table) for number in batch)
            shown += len(seen)
            held = recorded_held(silver.table, silver.withheld, silver.seen)
            if held and chance.random() < 0.7:
                declared += 1
                silver.table = told(silver.table, held, now[-1])
    assert declared > 300 and shown > 1_000 and refused < 200 and (reused > 10 or table.drop), (declared, shown, refused, reused)
