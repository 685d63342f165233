"""Which columns of a file are before-images, and what is done where that is not certain."""

from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.before_images import Images, find_images, image_warnings, refuse_undecided, silver_images
from dms_iceberg.bronze.columns import split_columns
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.bronze.unnamed_images import Affix
from dms_iceberg.config.image_names import image_of, imaged
from dms_iceberg.config.model import Bronze, Change, Column, Mask, OtherColumns, Rule, Table
from dms_iceberg.errors import BronzeError

MASKED = Column(name="email", mask=Mask.SHA256)
NO_PREFIX = Change(before_image_prefix=None)


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


@pytest.mark.parametrize(
    ("prefix", "suffix", "name", "base"),
    [
        ("BI_", None, "bi_Email", "email"),
        (None, "_old", "email_OLD", "email"),
        ("was_", "_", "was_email_", "email"),
        ("BI_", None, "BI_", None),
        ("ab", "bc", "abc", None),
        (None, None, "BI_email", None),
    ],
)
def test_prefix_and_suffix_name_an_image(prefix: str | None, suffix: str | None, name: str, base: str | None) -> None:
    change = Change(before_image_prefix=prefix, before_image_suffix=suffix)
    assert imaged(change, name) == base
    image = image_of(change, "email")
    assert image == (f"{prefix or ''}email{suffix or ''}" if prefix or suffix else None)
    assert image is None or imaged(change, image) == "email"


@pytest.mark.parametrize(
    "one",
    [
        table(Column(name="mail", expr="lower(email)", mask=Mask.SHA256)),
        table(Column(name="contact", source="EMAIL")),
        table(filter="email is not null"),
        table(rules=(Rule(name="r", expr="email <> ''"),)),
        table(drop=("email",)),
        table(Column(name="mail", renamed_from="email")),
        table(source_columns=("id", "email")),
    ],
)
def test_a_column_that_the_configuration_names_anywhere_is_known(one: Table) -> None:
    found = find_images(["id", "BI_id", "BI_email"], Change(), one)
    assert found == Images(known=frozenset({"BI_id", "BI_email"}))


def test_a_column_of_other_files_or_of_the_table_is_known() -> None:
    for known, existing in ((["Email"], []), ([], ["Email"])):
        assert find_images(["id", "bi_email"], Change(), table(), known, existing).known == {"bi_email"}


FILE = ["Op", "dms_commit_ts", "id", "name", "dms_change_seq"]


def in_file(*source: str, behind: tuple[str, ...] = ()) -> list[str]:
    return [*FILE[:3], *source, *FILE[4:], *behind]


def test_an_image_of_nothing_known_is_left_out_in_doubt_and_a_declared_one_is_a_column() -> None:
    names = in_file("name", behind=("BI_id", "bi_tool"))
    assert find_images(names, Change(), table()) == Images(known=frozenset({"BI_id"}), doubtful=frozenset({"bi_tool"}))
    for one in (table(Column(name="bi_tool")), table(Column(name="t", source="BI_TOOL")), table(Column(name="t", expr="upper(bi_tool)"))):
        assert find_images(["id", "bi_tool"], Change(), one).left_out == frozenset()
    # Whoever declares it knows better than the column beside it.
    assert find_images(["id", "tool", "bi_tool"], Change(), table(Column(name="bi_tool"))).left_out == frozenset()


def test_among_the_columns_of_the_source_a_name_like_an_image_is_one_of_them() -> None:
    for names in (in_file("tool", "bi_tool"), in_file("bi_tool", "name"), in_file("tool", "bi_tool", behind=("BI_id",))):
        assert find_images(names, Change(), table()).left_out <= {"BI_id"}
    # Without a sequence the last columns alone may be images.
    assert find_images(["Op", "id", "bi_tool", "name"], Change(), table()) == Images()
    assert find_images(["Op", "id", "tool", "bi_tool", "name", "BI_id", "BI_name"], Change(), table()).known == {"BI_id", "BI_name"}


def test_where_nothing_shows_whether_a_name_is_one_of_an_image_it_is_undecided() -> None:
    prefix = Affix("BI_")
    for names, ordered in (
        (["Op", "dms_commit_ts", "id", "name", "bi_tool"], True),
        (in_file("bi_tool"), False),
        (["id", "bi_tool"], True),
    ):
        assert find_images(names, Change(), table(), ordered=ordered) == Images(undecided={"bi_tool": ("tool", prefix)})
    # The place alone does not publish what is hidden, but with images where they belong it does.
    assert find_images(in_file("email", "bi_email"), Change(), table(MASKED)).undecided == {"bi_email": ("email", prefix)}
    assert find_images(in_file("email", "bi_email", behind=("BI_id",)), Change(), table(MASKED)).left_out == {"BI_id"}
    # Nor does it make a row's former key a column, or a column its former key.
    assert find_images(in_file("bi_id"), Change(), table()).undecided == {"bi_id": ("id", prefix)}


def test_where_silver_has_declared_columns_only_nothing_but_an_image_of_the_key_is_to_be_decided() -> None:
    one = table(MASKED, other_columns=OtherColumns.DROP)
    for names in (["id", "bi_tool"], in_file("email", "bi_email"), in_file("email", "old_email")):
        refuse_undecided(find_images(names, Change(), one), "f", Change(), one)
    with pytest.raises(BronzeError):
        refuse_undecided(find_images(in_file("bi_id"), Change(), one), "f", Change(), one)


@pytest.mark.parametrize(
    ("one", "change", "names", "says"),
    [
        (table(), Change(), in_file("bi_id"), "set bronze.change.before_image_prefix to what the task writes, or to null if it writes no"),
        (
            table(MASKED),
            Change(),
            in_file("email", "bi_email"),
            "or to null if it writes no before-images; or leave it out with drop. If it is a",
        ),
        (table(), Change(), ["id", "bi_tool"], """declare it in tables."public.t".columns, as {"name": "bi_tool"}, with a mask"""),
    ],
)
def test_each_way_out_of_a_refusal_leads_out(one: Table, change: Change, names: list[str], says: str) -> None:
    with pytest.raises(BronzeError) as caught:
        refuse_undecided(find_images(names, change, one), "f", change, one)
    assert says in str(caught.value)
    name = names[-1] if names[-1].startswith("bi_") else names[-2]
    if "drop" in str(caught.value):
        dropped = attrs.evolve(one, drop=(name,))
        refuse_undecided(find_images(names, change, dropped), "f", change, dropped)
    if "declare it" in str(caught.value):
        declared = attrs.evolve(one, columns=(*one.columns, Column(name=name)))
        assert find_images(names, change, declared) == Images()
    else:
        refuse_undecided(find_images(names, NO_PREFIX, table()), "f", NO_PREFIX, table())


def test_what_the_table_has_already_is_a_column_unless_it_is_an_image_of_a_known_one() -> None:
    assert find_images(["id", "BI_note"], Change(), table(), existing=["id", "BI_note"]).left_out == frozenset()
    assert silver_images(["id", "BI_note"], Change(), table(), ["id"]) == {}
    # A file has shown that it is the source's.
    assert silver_images(["id", "tool", "bi_tool"], Change(), table(), ["id", "tool", "Bi_tool"]) == {}
    assert silver_images(["id", "email", "BI_email"], Change(), table(), ["id"]) == {"BI_email": "email"}
    # Silver columns that are made of others are no columns of the source.
    made = table(Column(name="tool", expr="upper(kind)"))
    assert silver_images(["id", "tool", "bi_tool"], Change(), made, ["id", "kind", "bi_tool"]) == {}


@pytest.mark.parametrize(
    "change", [NO_PREFIX, Change(before_image_prefix="OLD_"), Change(before_image_prefix=None, before_image_suffix="_b")]
)
def test_images_under_the_prefix_of_dms_are_left_out_where_the_configuration_does_not_name_it(change: Change) -> None:
    names = ["id", "email", "note", "BI_email", "BI_note"]
    assert find_images(names, change, table()) == Images()
    assert find_images(names, change, table(MASKED)).undecided.keys() == {"BI_email"}
    assert find_images(names, change, table(drop=("note",))).undecided.keys() == {"BI_note"}
    assert find_images([*names, "BI_id"], change, table()).undecided.keys() == {"BI_email", "BI_note", "BI_id"}
    names = in_file("email", "note", behind=("BI_email", "BI_note"))
    assert find_images(names, change, table(MASKED)).unnamed == {"BI_email"}
    assert find_images([*names, "BI_id"], change, table()).unnamed == {"BI_email", "BI_note", "BI_id"}
    found = find_images([*names, "BI_id"], change, table(), existing=["BI_email"])
    assert (found.unnamed, found.shown) == ({"BI_note", "BI_id"}, {"BI_email"})


def test_what_is_left_out_is_no_source_column_and_tells_of_key_changes() -> None:
    found = [(name, "string") for name in ("Op", "id", "email", "dms_change_seq", "id_was", "email_was", "other_was")]
    change = Change(before_image_prefix=None, before_image_suffix="_was", timestamp_column=None)
    columns = split_columns(SchemaGroup(True, "", tuple(found), (), None), found, Bronze(uri="x", change=change), table())
    assert columns.names == ("id", "email")
    assert columns.before_image == {"id": "id_was"}
    assert columns.like_images == Images(frozenset({"id_was", "email_was"}), frozenset({"other_was"}))


def test_warnings_say_what_to_do() -> None:
    found = [Images(doubtful=frozenset({"bi_tool"})), Images(unnamed=frozenset({"BI_id"}), shown=frozenset({"BI_email"}))]
    doubt, unnamed, shown, retired = image_warnings(table(), Change(), found, {"BI_note": "note"})
    for part in ("'bi_tool'", "of a column 'tool'", "before_image_prefix is 'BI_'", "not added to s.t", 'tables."public.t".columns'):
        assert part in doubt
    assert "'BI_id'" in unnamed and "not added" in unnamed and "Set bronze.change.before_image_prefix to 'BI_'" in unnamed
    assert "'BI_email'" in shown and "whatever mask or drop says" in shown and "DROP COLUMN" in shown
    assert "'BI_note'" in retired and "NULL in every row" in retired and "snapshots" in retired
    # Nothing would have been added.
    assert image_warnings(table(other_columns=OtherColumns.DROP), Change(), found, {}) == [shown]
