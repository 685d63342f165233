"""What files tell of names that change hands: which columns appear, vanish and come back, and which of them are held back."""

from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.choices import NewColumns
from dms_iceberg.config.model import Column, Mask, Mode, OtherColumns, SchemaChanges, Table
from dms_iceberg.errors import ConfigError, SchemaChangeError
from dms_iceberg.silver.memory.cleaning import UNFILLED, Cleaning, other_cleaning
from dms_iceberg.silver.memory.forgotten_names import refuse_forgotten_names
from dms_iceberg.silver.memory.held_columns import (
    FoundNames,
    Lines,
    held_columns,
    held_warnings,
    left_to_policy,
    recorded_held,
    told_columns,
    without_held,
)
from dms_iceberg.silver.memory.late_declarations import as_declared, refuse_late_renames, unfilled
from dms_iceberg.silver.memory.name_changes import NameChanges, Switch, follow, follow_lines, rename_questions
from dms_iceberg.silver.memory.publish_guard import refuse_published
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.table_memory import Memory
from dms_iceberg.silver.memory.withheld import LEFT_OUT, Withheld
from dms_iceberg.silver.schema.rename import RenameColumn, renamed_properties
from dms_iceberg.silver.schema.unknown_columns import refuse_other_forms

SEEN = Seen(frozenset({"id", "email"}))
MASKED = Column(name="email", mask=Mask.REDACT)


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


def files(*structures: str) -> list[dict[str, str]]:
    return [{name.lower(): name for name in text.split()} for text in structures]


def held(
    one: Table, *structures: str, seen: Seen = SEEN, existing: tuple[str, ...] = ("id",), **sources: str
) -> dict[str, tuple[str, ...]]:
    found = FoundNames(files(*structures))
    return dict(held_columns(one, Withheld(sources=sources), seen, found, existing))


@pytest.mark.parametrize(
    ("structures", "switches", "returned", "gone"),
    [
        (["id email"], [], set(), set()),
        (["id email Note"], [], set(), set()),
        (["id"], [], set(), {"email"}),
        (["id Mail"], [Switch(("Mail",), ("email",))], set(), {"email"}),
        (["id", "id email"], [], {"email"}, set()),
        # Added first, dropped later: no rename, as the values were there twice.
        (["id email mail", "id mail"], [], set(), {"email"}),
        (["id mail", "id post"], [Switch(("mail",), ("email",)), Switch(("post",), ("mail",))], set(), {"email", "mail"}),
    ],
)
def test_files_are_followed_one_after_the_other(structures: list[str], switches: list[Switch], returned: set[str], gone: set[str]) -> None:
    assert follow(SEEN, files(*structures)) == NameChanges(tuple(switches), frozenset(returned), frozenset(gone))


def test_a_new_table_begins_with_its_first_file_and_an_old_one_where_it_was() -> None:
    assert follow(Seen(), files("id district", "id region")).switches == (Switch(("region",), ("district",)),)
    after = Seen(SEEN.names, frozenset({"email"}))
    assert Seen.from_properties(after.to_properties()) == after
    # The column went before: the new one is none that went with it.
    assert follow(after, files("id note")).switches == ()
    assert follow(after, files("id email")).returned == {"email"}


def test_a_renamed_column_takes_over_a_name_that_is_gone() -> None:
    seen = Seen(frozenset({"id", "a", "b", "c"}), frozenset({"b"})).renamed([("a", "b")])
    assert seen == Seen(frozenset({"id", "b", "c"}))
    assert follow(seen, files("id b c")) == NameChanges()
    # Both are gone by now: the name that comes back is the renamed column's.
    assert Seen(frozenset({"id", "a", "b"}), frozenset({"a", "b"})).renamed([("a", "b")]) == Seen(frozenset({"id", "b"}), frozenset({"b"}))
    # Files have both names.
    assert Seen(frozenset({"id", "a", "b"})).renamed([("a", "b")]) == Seen(frozenset({"id", "a", "b"}))
    assert Seen(frozenset({"id", "b"}), frozenset({"b"})).renamed([("a", "b")]) == Seen(frozenset({"id", "b"}), frozenset({"b"}))


def test_json_lines_may_omit_what_is_null() -> None:
    assert follow_lines(SEEN, files("id mail", "id email")).switches == ()
    found = follow_lines(SEEN, files("id mail"))
    assert found == NameChanges((Switch(("mail",), ("email",)),))
    assert follow_lines(Seen(), files("id mail")).switches == ()


def test_the_question_names_both_and_is_not_asked_of_what_the_document_tells() -> None:
    switches = [Switch(("mail",), ("email",))]
    (text,) = rename_questions("public.t", switches, set())
    assert '{"name": "mail", "renamed_from": "email"}' in text and "--rebuild public.t" in text
    assert rename_questions("public.t", switches, told_columns(table(Column(name="mail")))) == []


@pytest.mark.parametrize(
    "one",
    [
        table(MASKED),
        table(drop=("EMAIL",)),
        table(Column(name="hash", source="email", mask=Mask.SHA256)),
        table(Column(name="contact", source="email", renamed_from="email", mask=Mask.SHA256)),
        table(Column(name="email", expr="lower(email)", mask=Mask.SHA256)),
        table(Column(name="email", expr="'x'", mask=Mask.SHA256)),
    ],
)
def test_what_comes_as_a_withheld_column_goes_is_held_back(one: Table) -> None:
    assert held(one, "id mail") == {"mail": ("email",)}
    assert held(one, "id email", "id mail") == {"mail": ("email",)}
    # Of a new table, in one batch.
    assert held(one, "id email", "id mail", seen=Seen(), existing=()) == {"mail": ("email",)}
    # A name that silver had before.
    assert held(one, "id mail", seen=Seen(SEEN.names | {"mail"}, frozenset({"mail"})), existing=("id", "mail")) == {"mail": ("email",)}
    # The former name of another column is free, and that column has its present name.
    city = attrs.evolve(one, columns=(*one.columns, Column(name="city", renamed_from="town")))
    assert held(city, "id email city", "id city town") == {"town": ("email",)}
    seen, withheld = Seen(frozenset({"id", "email", "city", "town"}), frozenset({"email"})), Withheld(held={"town": ("email",)})
    assert recorded_held(city, withheld, seen) == withheld.held
    assert held_columns(city, withheld, seen, FoundNames(files("id city town")), ()) == withheld.held
    assert recorded_held(city, withheld, Seen(frozenset({"id", "email", "town"}))) == {}
    # What the table withholds, whatever the document says now.
    assert held(table(), "id mail", email=LEFT_OUT) == {"mail": ("email",)}


@pytest.mark.parametrize(
    ("one", "structures", "seen"),
    [
        (table(MASKED), ["id email note"], SEEN),
        (table(MASKED), ["id note"], Seen(SEEN.names, frozenset({"email"}))),
        (table(MASKED), ["id mail"], Seen(SEEN.names | {"mail"})),
        (table(MASKED), ["id email", "id mail email"], Seen()),
        (table(drop=("never",)), ["id mail"], SEEN),
        # The policy keeps it out, or stops the table.
        (table(MASKED, schema_changes=SchemaChanges.STRICT), ["id mail"], SEEN),
        (table(MASKED, new_columns=NewColumns.ADD), ["id mail"], SEEN),
        (table(MASKED, other_columns=OtherColumns.DROP), ["id mail"], SEEN),
        (table(MASKED, Column(name="mail")), ["id mail"], SEEN),
        (table(MASKED, Column(name="post", source="mail")), ["id mail"], SEEN),
        (table(MASKED, drop=("mail",)), ["id mail"], SEEN),
        (table(MASKED, publish=("mail",)), ["id mail"], SEEN),
        (table(), ["id mail"], SEEN),
    ],
)
def test_other_new_columns_appear(one: Table, structures: list[str], seen: Seen) -> None:
    assert held(one, *structures, seen=seen) == {}


def test_a_name_that_another_column_had_is_followed_from_file_to_file() -> None:
    seen = Seen(SEEN.names | {"mail"})
    assert held(table(MASKED), "id email mail", "id email", "id mail", seen=seen, existing=("id", "mail")) == {"mail": ("email",)}
    # The other column is still there when the secret goes.
    assert held(table(MASKED), "id email mail", "id mail", seen=seen, existing=("id", "mail")) == {}
    # A late file has an older structure, and a rebuild begins with one.
    found = FoundNames(files("id mail"), files("id email"))
    assert held_columns(table(MASKED), Withheld(), Seen(seen.names, frozenset({"email"})), found, ("id", "mail")) == {}


@pytest.mark.parametrize(
    ("structures", "expected"),
    [
        # The secret is gone when the other column comes.
        (["id email", "id mail", "id mail note"], {"mail": ("email",)}),
        (["id email", "id", "id note"], {}),
        (["id email", "id email note", "id note"], {}),
        (["id email", "id mail note"], {"mail": ("email",), "note": ("email",)}),
        (["id email", "id mail", "id post"], {"mail": ("email",), "post": ("mail",)}),
        (["id email", "id mail", "id email", "id post"], {"mail": ("email",), "post": ("email",)}),
    ],
)
def test_what_is_held_back_does_not_depend_on_the_batches(structures: list[str], expected: dict[str, tuple[str, ...]]) -> None:
    one, count = table(MASKED), len(structures)
    for cuts in range(2 ** (count - 1)):
        seen, withheld, batch = Seen(), Withheld(), list[str]()
        for number, text in enumerate(structures):
            batch.append(text)
            if number == count - 1 or cuts >> number & 1:
                found = held_columns(one, withheld, seen, FoundNames(files(*batch)), ())
                seen = attrs.evolve(seen.plus(" ".join(batch).split()), gone=follow(seen, files(*batch)).gone)
                withheld = attrs.evolve(withheld, held=found, sources=dict.fromkeys(found, LEFT_OUT))
                batch = []
        assert withheld.held == expected, cuts


def test_a_late_file_may_have_any_column_under_a_new_name_also_one_that_is_gone() -> None:
    gone = Seen(SEEN.names, frozenset({"email"}))
    assert held_columns(table(MASKED), Withheld(), gone, FoundNames(late=files("id post")), ("id",)) == {"post": ("email",)}
    assert held_columns(table(MASKED), Withheld(), gone, FoundNames(late=files("id email post")), ("id",)) == {}
    # Another file of the batch shows where it came from.
    found = FoundNames(files("id email note", "id note"), files("id note"))
    assert held_columns(table(MASKED), Withheld(), SEEN, found, ("id",)) == {}


def test_what_the_schema_policy_keeps_out_is_remembered_for_another_policy() -> None:
    quarantining = table(MASKED, schema_changes=SchemaChanges.QUARANTINE)
    assert held(quarantining, "id mail") == {"mail": ("email",)}
    assert left_to_policy(quarantining, {"mail": ("email",)}, Withheld(), ("id", "email")) == {"mail": ("email",)}
    assert left_to_policy(table(MASKED), {"mail": ("email",)}, Withheld(), ("id", "email")) == {}
    # A name that silver has, or that was held back before, changes no structure.
    assert left_to_policy(quarantining, {"mail": ("email",)}, Withheld(), ("id", "Mail")) == {}
    assert left_to_policy(quarantining, {"mail": ("email",)}, Withheld(sources={"mail": LEFT_OUT}), ("id",)) == {}
    kept = Memory(kept_out={"mail": ("email",)}).withheld_after(quarantining, Shape((), {}), ["id", "mail"])
    assert recorded_held(table(MASKED), kept, SEEN) == {"mail": ("email",)}
    # The other policies as well see a name that another column had.
    seen = Seen(SEEN.names | {"mail"})
    for policy in (SchemaChanges.QUARANTINE, SchemaChanges.STRICT):
        one = table(MASKED, schema_changes=policy)
        assert held(one, "id email mail", "id email", "id mail", seen=seen, existing=("id", "mail")) == {"mail": ("email",)}


B_TO_C, A_TO_B = {"c": "b"}, {"b": "a"}
SHIFTED = [Column(name="b", renamed_from="a"), Column(name="c")]


@pytest.mark.parametrize(
    ("columns", "renames", "existing", "names", "refused"),
    [
        # The document has forgotten the rename.
        ([], B_TO_C, "c", "b", True),
        ([], B_TO_C, "c", "c", False),
        ([], B_TO_C, "c", "b c", False),
        ([Column(name="c")], B_TO_C, "c", "b", True),
        ([Column(name="c", renamed_from="b")], B_TO_C, "c", "b", False),
        ([Column(name="c", source="d")], B_TO_C, "c", "b", True),
        # It says what the name stands for by now.
        ([Column(name="b")], B_TO_C, "b c", "b", False),
        # One name after the other: the document knows the last two.
        ([Column(name="c", renamed_from="b")], B_TO_C | A_TO_B, "c", "a", True),
        ([Column(name="c", renamed_from="b")], B_TO_C | A_TO_B, "c", "b", False),
        ([], B_TO_C | A_TO_B, "c", "a", True),
        # The name went to another column after that; validate refuses to declare both.
        (SHIFTED, B_TO_C | A_TO_B, "b c", "a b", True),
        (SHIFTED[:1], B_TO_C | A_TO_B, "b c", "a b", True),
        ([], B_TO_C | A_TO_B, "b c", "a b", True),
        (SHIFTED, B_TO_C | A_TO_B, "b c", "a c", False),
        (SHIFTED, B_TO_C | A_TO_B, "b c", "b c", False),
        (SHIFTED, B_TO_C | A_TO_B, "b c", "b", False),
        # The source uses the former name for another column.
        (SHIFTED, B_TO_C | A_TO_B, "b c", "a b c", False),
        ([Column(name="b", renamed_from="a")], A_TO_B, "b", "a b", False),
    ],
)
def test_files_from_before_a_rename_that_the_document_has_forgotten_are_refused(
    columns: list[Column], renames: dict[str, str], existing: str, names: str, refused: bool
) -> None:
    file = BronzeFile(True, "", "", key="public/t/old.parquet", size=0, etag="", extension="parquet")
    group = SchemaGroup(True, "", tuple((name, "string") for name in f"id {names}".split()), (file,), None)
    made = attrs.evolve(Cleaning(), renames=renames)
    for by_row in (False, True):
        with pytest.raises(SchemaChangeError, match="instead, which is what") if refused else nullcontext():
            refuse_forgotten_names(table(*columns), [group], [group], made, ["id", *existing.split()], by_row=by_row and "c" not in names)
    # What comes after the merged files is no such file, unless it has an earlier name than the declared one.
    is_chain = any(column.renamed_from == "b" for column in columns) and refused
    with pytest.raises(SchemaChangeError) if is_chain else nullcontext():
        refuse_forgotten_names(table(*columns), [group], [], made, ["id", *existing.split()], by_row=False)


def lines(*texts: str, is_first: bool = False) -> FoundNames:
    """Files of JSON lines, each as its rows, separated by ``|``."""
    found = []
    for text in texts:
        rows = [set(row.split()) for row in text.split("|")]
        beside = {name: frozenset(*[set().union(*(row - {name} for row in rows if name in row))]) for name in set().union(*rows)}
        found.append(Lines(frozenset(beside), beside, is_first=is_first))
    return FoundNames(lines=found)


@pytest.mark.parametrize(
    ("files_", "expected"),
    [
        (["id email mail"], {}),
        (["id email|id mail"], {"mail": ("email",)}),
        (["id email|id mail|id email mail"], {}),
        (["id mail", "id email mail"], {"mail": ("email",)}),
        (["id email mail", "id mail"], {}),
        # Nothing shows that a column is gone: the first new one may only have come in rows without an address.
        (["id note", "id post"], {"note": ("email",), "post": ("email", "note")}),
    ],
)
def test_lines_tell_by_their_rows(files_: list[str], expected: dict[str, tuple[str, ...]]) -> None:
    assert held_columns(table(MASKED), Withheld(), SEEN, lines(*files_), ("id",)) == expected
    # It is the same file by file.
    seen, withheld = SEEN, Withheld()
    for one in files_:
        found = held_columns(table(MASKED), withheld, seen, lines(one), ("id",))
        seen, withheld = seen.plus(one.replace("|", " ").split()), Withheld(held=found, sources=dict.fromkeys(found, LEFT_OUT))
    assert withheld.held == expected


def test_the_first_load_shows_one_moment() -> None:
    one = lines("id email|id mail", is_first=True)
    assert held_columns(table(MASKED), Withheld(), Seen(), one, ()) == {}


def test_a_key_cannot_be_held_back() -> None:
    with pytest.raises(SchemaChangeError, match="key: the column 'mail' comes in files that no longer have 'email'"):
        held(table(MASKED, key=("mail",)), "mail")


def test_what_is_held_back_is_remembered_until_the_document_tells_what_it_is() -> None:
    withheld = Withheld(sources={"email": "redact", "mail": LEFT_OUT}, held={"mail": ("email",)})
    assert Withheld.from_text(withheld.to_text()) == withheld
    assert recorded_held(table(MASKED), withheld, SEEN) == {"mail": ("email",)}
    for one in (table(MASKED, Column(name="mail")), table(MASKED, drop=("Mail",)), table(MASKED, new_columns=NewColumns.ADD)):
        assert recorded_held(one, withheld, SEEN) == {}
        refuse_published(one, withheld, ["id", "mail"])
    refuse_published(without_held(table(MASKED), ["mail"]), withheld, ["id", "mail"])
    with pytest.raises(SchemaChangeError, match="'mail' was left out and would now be published"):
        refuse_published(table(MASKED), withheld, ["id", "mail"])
    (text,) = held_warnings(table(MASKED), withheld, withheld.held)
    assert (
        "'mail' is held back" in text and '{"name": "mail", "renamed_from": "email"} with its mask' in text and "--rebuild public.t" in text
    )
    (text,) = held_warnings(table(drop=("email",)), withheld, withheld.held)
    assert '"mail" in tables."public.t".drop' in text


RENAMED = table(Column(name="mail", renamed_from="email"))


def test_a_rename_that_comes_too_late_is_refused_and_one_that_was_done_is_not() -> None:
    before = Cleaning.of(table()).to_properties()
    with pytest.raises(SchemaChangeError, match="has both 'email' and 'mail', so the rename cannot be done in place") as error:
        refuse_late_renames(RENAMED, before, ["id", "email", "mail"])
    assert "--rebuild public.t" in str(error.value)
    swap = table(Column(name="a", renamed_from="b"), Column(name="b", renamed_from="a"))
    with pytest.raises(SchemaChangeError, match="has both 'b' and 'a'"):
        refuse_late_renames(swap, before, ["id", "a", "b"])
    for there in (["id", "email"], ["id", "mail"]):
        refuse_late_renames(RENAMED, before, there)
    # Silver keeps its name.
    refuse_late_renames(table(Column(name="email", source="mail", renamed_from="email")), before, ["id", "email", "mail"])
    done = before | renamed_properties([RenameColumn("email", "mail")], before)
    # The source uses the old name for another column.
    refuse_late_renames(RENAMED, done, ["id", "email", "mail"])
    made = as_declared(Cleaning.of(table()), RENAMED, Withheld(), ["id", "mail"]).to_properties()
    refuse_late_renames(RENAMED, made, ["id", "email", "mail"])
    both = as_declared(Cleaning.of(table()), RENAMED, Withheld(), ["id", "email", "mail"])
    assert both.renames == {}


def test_a_column_that_files_had_before_silver_is_unfilled() -> None:
    withheld = Withheld(sources={"email": LEFT_OUT, "later": "redact"})
    assert unfilled(table(Column(name="email")), ["Email"], withheld, SEEN) == {"email"}
    assert unfilled(RENAMED, ["mail"], withheld, SEEN) == {"mail"}
    assert unfilled(table(Column(name="copy", source="email")), ["copy"], Withheld(), SEEN) == {"copy"}
    assert unfilled(table(Column(name="loud", expr="upper(email)")), ["loud"], Withheld(), SEEN) == {"loud"}
    for one, name in ((table(), "note"), (table(Column(name="later")), "later"), (table(Column(name="n", expr="note || 'x'")), "n")):
        assert unfilled(one, [name], withheld, SEEN) == set()
    # A column that was NULL in every file showed no type.
    assert unfilled(table(), ["email"], Withheld(), SEEN) == set()
    after = as_declared(Cleaning.of(table()), RENAMED, withheld, ["id", "mail"])
    assert after.columns == {"mail": UNFILLED}


def test_a_masked_column_that_has_a_name_of_its_own_keeps_its_values_when_the_source_renames_it() -> None:
    contact = Column(name="contact", source="mail", renamed_from="email", mask=Mask.REDACT)
    made = Cleaning.of(table(Column(name="contact", source="email", mask=Mask.REDACT)))
    assert as_declared(made, table(contact), Withheld(sources={"email": "redact"}), ["id", "contact"]).columns == made.columns
    # What was merged while the new name was held back is not in the column.
    held = Withheld(sources={"email": "redact", "mail": LEFT_OUT}, held={"mail": ("email",)})
    assert as_declared(made, table(contact), held, ["id", "contact"]).columns == made.columns | {"contact": UNFILLED}


def test_what_came_while_it_was_held_back_is_missing_in_the_renamed_column() -> None:
    def renamed_after(held: Withheld) -> Cleaning | None:
        properties = Cleaning.of(table(MASKED)).to_properties() | {"dms-iceberg.withheld": held.to_text()}
        return Cleaning.from_properties(renamed_properties([RenameColumn("email", "mail")], properties))

    after = renamed_after(Withheld(sources={"email": "redact", "mail": LEFT_OUT}, held={"mail": ("email",)}))
    assert after is not None and after.columns == {"mail": UNFILLED} and after.renames == {"mail": "email"}
    # The schema policy has kept it out, so its rows are in quarantine.
    after = renamed_after(Withheld(sources={"email": "redact"}, held={"mail": ("email",)}))
    assert after is not None and UNFILLED not in after.columns.values()


def test_rows_that_may_stand_beside_those_of_another_configuration() -> None:
    loud = Column(name="loud", expr="upper(note)")
    made = Cleaning.of(table(loud))
    renamed = attrs.evolve(made, renames={"mail": "email"})
    declared = Column(name="mail", renamed_from="email")
    assert made.is_that_of(table(loud)) and renamed.is_that_of(table(loud, declared))
    assert renamed.is_that_of(table(loud)), "the rename was done, and is not declared any more"
    assert not made.is_that_of(table(loud, declared)), "the values are in the column of the former name"
    assert not renamed.is_that_of(table(loud, Column(name="mail", renamed_from="post")))
    late = attrs.evolve(made, columns={**made.columns, "loud": UNFILLED})
    assert late.is_that_of(table(loud)) and late.is_that_of(table()) and late.unfilled() == {"loud": UNFILLED}
    for other in (table(), table(loud, filter="id > 0"), table(loud, MASKED), table(Column(name="loud", expr="note"))):
        assert not made.is_that_of(other)
    assert not late.is_that_of(table(loud, MASKED))


def test_other_track_columns_are_told_of() -> None:
    def tracks(*names: str) -> Table:
        return table(mode=Mode.HISTORY, track_columns=names)

    made = Cleaning.of(tracks("email")).to_properties()
    assert other_cleaning(tracks("EMAIL"), made, ["id", "email"]) is None
    for now in (tracks(), tracks("email", "note")):
        assert "another configuration of track_columns" in (other_cleaning(now, made, ["id", "email"]) or "")
    # A mirror that becomes a history.
    assert other_cleaning(tracks("email"), Cleaning.of(table()).to_properties(), ["id"]) is None
    assert as_declared(Cleaning.of(table()), tracks("email"), Withheld(), ["id"]) == Cleaning.of(tracks("email"))


COMPOSED, DECOMPOSED = "\u00e9t\u00e9", "e\u0301te\u0301"


@pytest.mark.parametrize(
    ("written", "there"),
    [
        (COMPOSED, DECOMPOSED),
        (DECOMPOSED, COMPOSED),
        ("stra\u00dfe", "STRASSE"),
        ("\ufb01eld", "field"),
        ("pa\u017fs", "pass"),
        ("\uff4e", "n"),
    ],
)
def test_a_name_in_another_unicode_form_is_refused(written: str, there: str) -> None:
    for one in (table(drop=(written,)), table(Column(name=written, mask=Mask.REDACT)), table(Column(name="x", source=written))):
        with pytest.raises(ConfigError, match="another Unicode form"):
            refuse_other_forms(one, ["id", there])
    refuse_other_forms(table(drop=(written, there)), ["id", there])
    refuse_other_forms(table(drop=(there.upper() if there.isascii() else there,)), ["id", there])
