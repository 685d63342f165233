"""`init` on the random histories of the properties, with restarts, late files, added columns and moved keys, in every format."""

from pathlib import Path

import pytest

from dms_iceberg.discover.proposal import Entry
from dms_iceberg.init.finding import TableFinding
from dms_iceberg.init.role import Sure
from dms_iceberg.init.run import examine
from support.bronze_writer import FORMATS, BronzeFolder, Format
from support.histories import seeded_world
from support.table_kinds import ALL_KINDS

RUNS = 20
NAMED = [form for form in FORMATS if not form.needs_source_columns]


@pytest.mark.parametrize("form", NAMED, ids=lambda form: form.name)
@pytest.mark.parametrize(("seed", "likely"), [(1, 0), (9, 6), (11, 6), (36, 6)], ids=["whole-deletes", "9", "11", "36"])
def test_what_is_certain_or_likely_is_true(seed: int, likely: int, form: Format, tmp_path: Path) -> None:
    world = seeded_world(seed, ALL_KINDS, histories=6, per_table=60)
    folder = BronzeFolder(tmp_path, world, form)
    for run in range(RUNS):
        folder.deliver(run)
    found = examine(str(tmp_path), None, lambda names: names)
    shape, change = form.shape, found.bronze.change
    assert (change.op_column, change.timestamp_column, change.sequence_column) == ("Op", shape.timestamp_column, shape.sequence_column)
    assert (change.stream_position_column, change.before_image_prefix) == (shape.stream_position_column, shape.before_image_prefix)
    if form.shape.format.value == "csv":
        assert (found.bronze.csv.delimiter, found.bronze.csv.rfc4180, found.bronze.csv.null) == (
            shape.csv.delimiter,
            shape.csv.rfc4180,
            shape.csv.null,
        )
    keys = {kind.source: {column.name for column in kind.layout.columns if column.key} for kind in world.kinds}
    judged = 0
    for table, proposal in zip(found.tables, found.proposals, strict=True):
        assert isinstance(table, TableFinding)
        if isinstance(proposal, Entry) and found.keys[proposal.table].sure is not Sure.DOUBTFUL:
            judged += 1
            assert set(proposal.key) == keys[proposal.table]
        elif not isinstance(proposal, Entry):
            assert "no key can be proposed" in proposal.reasons[0]
    # Where deletes have whole rows and before-images are of all columns, only names are left.
    assert judged >= likely
