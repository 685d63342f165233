"""The descriptions of the modes fit each other, the configuration's names, and the columns of their tables."""

import pytest

from dms_iceberg.config.model import Mode
from dms_iceberg.modes.lookup import MODES, table_mode
from dms_iceberg.modes.metadata_columns import METADATA_COLUMNS
from dms_iceberg.modes.mirror import MIRROR
from dms_iceberg.modes.table_mode import TableMode

COLUMNS = ["id", "v"]


def test_every_mode_of_the_configuration_has_its_description() -> None:
    assert list(MODES) == list(Mode)
    assert all(table_mode(mode).name == mode.value for mode in Mode)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_own_columns_are_those_that_its_facts_name(mode: TableMode) -> None:
    assert not set(mode.own_columns) & set(METADATA_COLUMNS)
    assert list(mode.metadata_columns) == [*METADATA_COLUMNS, *mode.own_columns]
    assert {*mode.switch, *([mode.mark] if mode.mark else [])} <= set(mode.own_columns)
    # Without a value in this column a row that was a mirror's would never be taken for one that has been switched.
    assert not mode.switch or mode.mark in mode.switch
    assert (mode.mark in mode.present) if mode.mark else (mode.present == "true")


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_rows_of_a_batch_have_all_columns_of_the_table(mode: TableMode) -> None:
    names = [text.rpartition(" AS ")[2].strip("`") for text in mode.row_select(COLUMNS)]
    assert sorted(names) == sorted([*COLUMNS, *mode.metadata_columns])


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_what_is_a_log_is_only_appended_to(mode: TableMode) -> None:
    assert mode.is_log == (mode.merge_sql is None) == (mode.truncate is None) == bool(mode.has_values)
    assert mode.keeps_every_change or not (mode.is_log or mode.has_versions)
    assert not (mode.keeps_every_change and mode.direct_select)
    # A load is merged into the others by this column.
    assert mode.is_log or mode.is_replaced_by_load or mode.mark


def test_only_a_mirror_is_what_the_source_is() -> None:
    facts = ("forgets_older", "is_replaced_by_load", "takes_partial_updates", "is_bulk_loaded", "is_verified")
    assert {name for name, mode in MODES.items() for fact in facts if getattr(mode, fact)} == {MIRROR.name}
    assert all(getattr(MIRROR, fact) for fact in facts)
