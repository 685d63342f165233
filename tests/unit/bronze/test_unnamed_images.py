"""Before-images whose prefix or suffix the document does not name are told from a source's own columns."""

import pytest

from dms_iceberg.bronze.before_images import Images, find_images, image_warnings, refuse_undecided
from dms_iceberg.config.model import Change, Column, Mask, Table
from dms_iceberg.errors import BronzeError

NULL = Change(before_image_prefix=None)
OTHER = Change(before_image_prefix=None, before_image_suffix="_zz")
ORDER = "Op dms_commit_ts {} dms_change_seq {}"
LAYOUTS = ("{}", "Op dms_commit_ts {}", "Op dms_commit_ts {} dms_change_seq", "Op dms_commit_ts dms_change_seq {}")
SHOP = "id customer_id email email_verified_at name user_name status old_status paid_at created_by amount"


def table(*masked: str, key: str = "id", drop: tuple[str, ...] = ()) -> Table:
    columns = tuple(Column(name=name, mask=Mask.REDACT) for name in masked)
    return Table(source="public.t", target="s.t", key=tuple(key.split()), columns=columns, drop=drop)


JSON = "dms_change_seq dms_commit_ts"


def found(names: str, one: Table, change: Change = NULL, *, ordered: bool = True) -> Images:
    images = find_images(names.split(), change, one, ordered=ordered)
    assert not images.shown and not images.known
    return images


def unnamed(names: str, one: Table, change: Change = NULL) -> str:
    images = found(names, one, change)
    assert not images.undecided
    return " ".join(name for name in names.split() if name in images.unnamed)


def undecided(names: str, one: Table, change: Change = NULL, *, ordered: bool = True) -> str:
    images = found(names, one, change, ordered=ordered)
    assert not images.unnamed and images.undecided.keys() <= images.left_out
    return " ".join(name for name in names.split() if name in images.undecided)


@pytest.mark.parametrize("change", [NULL, OTHER, Change()])
@pytest.mark.parametrize(
    ("names", "one", "images"),
    [
        # All key columns and a masked or dropped one, whatever the affix.
        (ORDER.format("id email", "id_was email_was"), table("email"), "id_was email_was"),
        (ORDER.format("id email", "OLD_id OLD_email"), table("email"), "OLD_id OLD_email"),
        (ORDER.format("id email", "xx_id_y xx_email_y"), table("email"), "xx_id_y xx_email_y"),
        (ORDER.format("id email", "id_was email_was"), table(drop=("EMAIL",)), "id_was email_was"),
        (ORDER.format("id email", "Bemail Bid"), table("email"), "Bemail Bid"),
        # The masked column is in none of the files, or it has an image alone.
        (ORDER.format("id note", "id_was email_was note_was"), table("email"), "id_was email_was note_was"),
        (ORDER.format("id email", "email_was"), table("email"), "email_was"),
        (ORDER.format("id email", "etl_at email_was"), table("email"), "email_was"),
        # Keys alone, by their place.
        (ORDER.format("id v", "id_was"), table(), "id_was"),
        (ORDER.format("a b v", "b_x a_x"), table(key="a b"), "b_x a_x"),
        # Behind the sequence, beside a column of another rule.
        (ORDER.format("id email", "etl_at xx_id xx_email"), table("email"), "xx_id xx_email"),
        (ORDER.format("id v", "etl_at old_id old_v"), table(), "old_id old_v"),
    ],
)
def test_images_that_the_document_does_not_name(names: str, one: Table, images: str, change: Change) -> None:
    assert unnamed(names, one, change) == images


@pytest.mark.parametrize("change", [NULL, OTHER, Change()])
@pytest.mark.parametrize(
    ("names", "one", "images"),
    [
        # Among the source's columns, where no image is; but what a mask keeps back is not shown on that alone.
        (ORDER.format("id email previous_email", ""), table("email"), "previous_email"),
        (ORDER.format("id email emailOld", ""), table("email"), "emailOld"),
        (ORDER.format("id email old_id old_email", ""), table("email"), "old_email"),
        (ORDER.format("id email xx_id xx_email", ""), table("email"), "xx_email"),
        # Behind the sequence a rule of its own may have added it, from the masked column.
        (ORDER.format("id email", "hash_email"), table("email"), "hash_email"),
        (ORDER.format("id v", "etl_at x_id"), table("id"), "x_id"),
        # The last columns, without a sequence.
        ("Op dms_commit_ts id a b note b4_id b4_a b4_b", table("id"), "b4_id"),
        ("Op dms_commit_ts id v x_id x_v", table("id"), "x_id"),
        ("Op dms_commit_ts id v old_id old_v", table(), "old_id old_v"),
        ("Op dms_commit_ts a c v old_a old_c", table(key="a c"), "old_a old_c"),
        ("Op dms_commit_ts id v w x_id x_v x_w", table(), "x_id x_v x_w"),
        ("Op dms_commit_ts id email email_was", table("email"), "email_was"),
    ],
)
def test_what_the_file_does_not_decide_is_refused(names: str, one: Table, images: str, change: Change) -> None:
    assert undecided(names, one, change) == images


@pytest.mark.parametrize("change", [NULL, OTHER, Change()])
@pytest.mark.parametrize(
    ("names", "one", "images"),
    [
        (f"Op {JSON} email id note xx_email xx_id", table("email"), "xx_email"),
        (f"Op {JSON} email id note xx_email xx_id xx_note", table("email"), "xx_email xx_id xx_note"),
        (f"Op {JSON} email id id_was email_was", table("email"), "id_was email_was"),
        (f"Op {JSON} email id previous_email", table("email"), "previous_email"),
        (f"Op {JSON} id old_id old_status status", table(), "old_id old_status"),
        # Whatever the order says by chance.
        (ORDER.format("id email", "id_was email_was"), table("email"), "id_was email_was"),
        (ORDER.format("id old_id status old_status", ""), table(), "old_id old_status"),
    ],
)
def test_nothing_decides_in_json_lines(names: str, one: Table, images: str, change: Change) -> None:
    assert undecided(names, one, change, ordered=False) == images


@pytest.mark.parametrize(
    ("names", "one", "ordered"),
    [
        # By their place, and by images with the prefix that the document names: there is one rule.
        (ORDER.format("id big old_name", "BI_id"), table(drop=("g",)), True),
        (ORDER.format("id email previous_email", "BI_id"), table("email"), True),
        (ORDER.format("id email xx_id xx_email", "BI_id BI_email"), table("email"), True),
        (f"BI_email BI_id Op {JSON} email id previous_email", table("email"), False),
        # By their place.
        (ORDER.format("id old_id status old_status", ""), table(), True),
        (ORDER.format("id a b new_id new_a new_b", ""), table(), True),
        # Names that only have a word in them.
        (ORDER.format("id big", ""), table(drop=("g",)), True),
        (ORDER.format("id", "big etl_tag"), table(drop=("g",)), True),
        (f"Op {JSON} big id", table(drop=("g",)), False),
        ("Op dms_commit_ts id oldage beforehand", table(drop=("age", "hand")), True),
    ],
)
def test_what_is_shown_to_be_of_the_source_is_left_out_nowhere(names: str, one: Table, ordered: bool) -> None:
    left = find_images(names.split(), Change(), one, ordered=ordered).left_out
    assert left <= {"BI_id", "BI_email"}


@pytest.mark.parametrize(
    "layout", ["{}", "Op dms_commit_ts {}", "Op dms_commit_ts {} dms_change_seq", "Op dms_commit_ts dms_change_seq {}"]
)
@pytest.mark.parametrize(
    ("names", "one"),
    [
        (SHOP, table()),
        (SHOP, table("email")),
        (SHOP, table("name")),
        (SHOP, table("id", "name")),
        (SHOP, table(drop=("email", "amount"))),
        (" ".join(sorted(SHOP.split())), table("email")),
        ("id customer_id", table()),
        ("id name customer_id customer_name", table()),
        ("id name status customer_id customer_name", table("status")),
        ("id status old_status new_status", table()),
        ("id parent_id old_id", table()),
        ("id key_id id_card", table("id")),
        ("a b a_b b_a", table(key="a b")),
        ("order_id line_id parent_order_id parent_line_id qty", table(key="order_id line_id")),
        ("a data total last_name first_name", table("a", key="data")),
    ],
)
def test_columns_of_the_source_are_no_images(names: str, one: Table, layout: str) -> None:
    assert unnamed(layout.format(names), one) == ""


def test_a_file_from_before_a_rename_has_images_of_the_former_names() -> None:
    key, email = Column(name="key_2", renamed_from="id"), Column(name="mail", renamed_from="email", mask=Mask.REDACT)
    renamed = Table(source="public.t", target="s.t", key=("key_2",), columns=(key, email))
    for names, images in (
        (ORDER.format("id email", "id_was email_was"), "id_was email_was"),
        (ORDER.format("key_2 mail", "key_2_was mail_was"), "key_2_was mail_was"),
        (ORDER.format("id v", "id_was"), "id_was"),
        (ORDER.format("id email", "email_was"), "email_was"),
        (ORDER.format("id customer_id key_2", ""), ""),
    ):
        assert unnamed(names, renamed) == images


def test_a_declared_column_or_one_of_the_table_is_none() -> None:
    names = ORDER.format("id email", "id_was email_was").split()
    declared = Table(
        source="public.t", target="s.t", key=("id",), columns=(Column(name="email", mask=Mask.REDACT), Column(name="email_was"))
    )
    assert find_images(names, NULL, declared).left_out == {"id_was"}
    seen = find_images(names, NULL, table("email"), existing=["id", "email", "email_was"])
    assert (seen.unnamed, seen.shown) == ({"id_was"}, {"email_was"})
    seen = find_images(ORDER.format("id email email_was", "").split(), NULL, table("email"), existing=["id", "email", "email_was"])
    assert (seen.undecided, seen.shown, seen.left_out) == ({}, {"email_was"}, frozenset())


def test_the_warning_says_which_prefix_and_suffix_to_set() -> None:
    one = table("email")
    for images, settings in (
        ("id_was email_was", "Set bronze.change.before_image_suffix to '_was'; "),
        ("OLD_id OLD_email", "Set bronze.change.before_image_prefix to 'OLD_'; "),
        ("x_id_y x_email_y", "Set bronze.change.before_image_prefix to 'x_' and bronze.change.before_image_suffix to '_y'; "),
        ("BI_id BI_email", "Set bronze.change.before_image_prefix to 'BI_'; "),
    ):
        images_of_one = find_images(ORDER.format("id email", images).split(), NULL, one)
        (warning,) = image_warnings(one, NULL, [images_of_one, Images()], {})
        assert settings in warning and "not added to s.t" in warning


def test_the_refusal_names_both_readings_and_what_to_do() -> None:
    one = table("email")
    with pytest.raises(BronzeError) as caught:
        refuse_undecided(find_images(ORDER.format("id email was_email", "").split(), Change(), one), "f", Change(), one)
    text = str(caught.value)
    for part in (
        "f: the column 'was_email' of public.t may be a column of the source, or the before-image of 'email' with a prefix or suffix that",
        "(bronze.change.before_image_prefix is 'BI_')",
        "'email' is masked or dropped, so no before-image of it may be shown",
        """declare it in tables."public.t".columns, as {"name": "was_email"}, with a mask""",
        "If it is a before-image, set bronze.change.before_image_prefix to 'was_'.",
    ):
        assert part in text
    declared = Table(source="public.t", target="s.t", key=("id",), columns=(*one.columns, Column(name="was_email")))
    named = Change(before_image_prefix="was_")
    for two, change in ((declared, Change()), (table("email", drop=("was_email",)), Change()), (one, named)):
        refuse_undecided(find_images(ORDER.format("id email", "was_email").split(), change, two), "f", change, two)
