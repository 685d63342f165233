"""Random histories of names: whatever a source does to its columns, none that silver withholds is shown where files have a trace of it.

The oracle knows the columns themselves; the product sees their names, file by file and batch by batch.
"""

import random

import attrs
import pytest

from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.config.model import Column, Mask, Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.held_columns import FoundNames, newly_held, recorded_held, without_held
from dms_iceberg.silver.name_changes import follow
from dms_iceberg.silver.publish_guard import refuse_published
from dms_iceberg.silver.seen_columns import Seen
from dms_iceberg.silver.withheld import MadeMask, Withheld

NAMES = ["a", "b", "c", "d", "e", "f"]
SECRET = "a"
TABLES = [
    Table(source="public.t", target="s.t", key=("id",), columns=(Column(name=SECRET, mask=Mask.REDACT),)),
    Table(source="public.t", target="s.t", key=("id",), drop=(SECRET,)),
]


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


@attrs.define
class Silver:
    """What a table remembers, as runs leave it."""

    table: Table
    seen: Seen = attrs.field(factory=lambda: Seen(whole=True))
    withheld: Withheld = attrs.field(factory=Withheld)
    columns: set[str] = attrs.field(factory=set)

    def merge(self, files: list[dict[str, int]]) -> set[int]:
        """Merge a batch; return the columns of the source that it shows."""
        structures = [{"id": "id"} | {name: name for name in one} for one in files]
        found = FoundNames(structures, structures)
        held = {**recorded_held(self.table, self.withheld), **newly_held(self.table, self.withheld, self.seen, found, sorted(self.columns))}
        table, names = without_held(self.table, held), list(dict.fromkeys(name for one in structures for name in one))
        refuse_published(table, self.withheld, names)
        clear = {one.source for one in silver_columns(table, names) if one.declared.mask is None}
        self.columns |= {one.name for one in silver_columns(table, names)}
        masks = {SECRET: MadeMask("redact")} if table.columns else {}
        self.withheld = attrs.evolve(self.withheld.after(table, names, masks), held=held)
        self.seen = attrs.evolve(self.seen.plus(names), gone=follow(self.seen, structures).gone)
        return {number for one in files for name, number in one.items() if name in clear}


@pytest.mark.parametrize("table", TABLES, ids=["masked", "dropped"])
def test_no_secret_is_shown_where_files_have_a_trace_of_it(table: Table) -> None:
    shown = told = 0
    for seed in range(800):
        chance = random.Random(seed)
        source, silver = Source(chance, {SECRET: 0, "b": -1, "c": -2}), Silver(table)
        batch: list[dict[str, int]] = []
        for _ in range(8):
            batch.append(dict(source.columns))
            if chance.random() < 0.6:
                try:
                    seen = silver.merge(batch)
                except SchemaChangeError as error:
                    assert "Nothing was written" in str(error) or "No row was written" in str(error)
                    told += 1
                    break
                assert 0 not in seen or source.is_traceless, (seed, batch, silver)
                shown += len(seen)
                batch = []
            source.change()
            if source.is_traceless:
                break
    assert shown > 300 and told < 80, (shown, told)
