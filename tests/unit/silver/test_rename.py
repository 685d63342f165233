"""Declared renames: which are still to be done, and what of the table's properties follows them."""

import json
from typing import Any

from dms_iceberg.config.model import Column, Mask, Table
from dms_iceberg.silver.memory.cleaning import Cleaning, other_cleaning
from dms_iceberg.silver.memory.key import KEY_PROPERTY, refuse_other_key
from dms_iceberg.silver.schema.rename import RenameColumn, renamed, renamed_properties, renames
from dms_iceberg.silver.table import ADDED_PROPERTY, BACKFILL_PROPERTY, BEFORE_PROPERTY


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


NOW = table(Column(name="person", renamed_from="id"), Column(name="Mail", renamed_from="E-Mail", mask=Mask.REDACT), key=("person",))
BEFORE = table(Column(name="e-mail", mask=Mask.REDACT))
DONE = [RenameColumn("id", "person"), RenameColumn("e-mail", "Mail")]


def test_a_rename_is_due_while_the_table_has_the_old_name_and_not_the_new_one() -> None:
    assert renames(NOW, ["id", "e-mail", "n"]) == DONE
    assert renames(NOW, ["PERSON", "mail", "n"]) == []
    # The source has a new column of the old name.
    assert renames(NOW, ["person", "mail", "e-mail"]) == []
    # Silver keeps the name, the source has a new one.
    assert renames(table(Column(name="email", source="mail", renamed_from="email")), ["id", "email"]) == []


def test_statement_and_types() -> None:
    assert DONE[1].sql("`c`.`t`") == "ALTER TABLE `c`.`t` RENAME COLUMN `e-mail` TO `Mail`"
    assert renamed({"id": "int", "e-mail": "string"}, DONE) == {"person": "int", "Mail": "string"}


def test_key_cleaning_and_what_is_known_of_columns_go_by_the_new_names() -> None:
    before = {KEY_PROPERTY: '["id"]', BACKFILL_PROPERTY + "e-mail": "{}", ADDED_PROPERTY + "e-mail": "a01", "other": "x"} | Cleaning.of(
        BEFORE
    ).to_properties()
    after = renamed_properties(DONE, before)
    assert json.loads(after[KEY_PROPERTY]) == ["person"]
    assert after[BACKFILL_PROPERTY + "Mail"] == "{}" and after[ADDED_PROPERTY + "Mail"] == "a01" and "other" not in after
    refuse_other_key(NOW, after)
    assert other_cleaning(NOW, after, ["person", "Mail"]) is None


def test_what_a_table_was_made_with_before_a_rebuild_goes_by_the_new_names_too() -> None:
    before = {KEY_PROPERTY: '["id","e-mail"]'} | Cleaning.of(BEFORE).to_properties()
    after = renamed_properties(DONE, {KEY_PROPERTY: '["id"]', BEFORE_PROPERTY + "17": json.dumps(before)})
    told = json.loads(after[BEFORE_PROPERTY + "17"])
    assert json.loads(told[KEY_PROPERTY]) == ["person", "Mail"]
    assert other_cleaning(NOW, told, ["person", "Mail"]) is None
