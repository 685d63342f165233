"""Before-images whose prefix or suffix the document does not name are told from a source's own columns."""

import pytest

from dms_iceberg.bronze.before_images import Images, find_images, image_warnings
from dms_iceberg.config.model import Change, Column, Mask, Table

NULL = Change(before_image_prefix=None)
OTHER = Change(before_image_prefix=None, before_image_suffix="_b")
ORDER = "Op dms_commit_ts {} dms_change_seq {}"
LAYOUTS = ("{}", "Op dms_commit_ts {}", "Op dms_commit_ts {} dms_change_seq", "Op dms_commit_ts dms_change_seq {}")
SHOP = "id customer_id email email_verified_at name user_name status old_status paid_at created_by amount"


def table(*masked: str, key: str = "id", drop: tuple[str, ...] = ()) -> Table:
    columns = tuple(Column(name=name, mask=Mask.REDACT) for name in masked)
    return Table(source="public.t", target="s.t", key=tuple(key.split()), columns=columns, drop=drop)


def unnamed(names: str, one: Table, change: Change = NULL) -> str:
    found = find_images(names.split(), change, one)
    assert not found.shown
    return " ".join(name for name in names.split() if name in found.unnamed)


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
        # No order of columns: JSON lines.
        ("Op dms_change_seq dms_commit_ts email id note xx_email xx_id", table("email"), "xx_email"),
        ("Op dms_change_seq dms_commit_ts email id note xx_email xx_id xx_note", table("email"), "xx_email xx_id xx_note"),
        ("Op dms_change_seq dms_commit_ts email id id_was email_was", table("email"), "id_was email_was"),
        # The masked column is in none of the files, or it has an image alone.
        (ORDER.format("id note", "id_was email_was note_was"), table("email"), "id_was email_was note_was"),
        (ORDER.format("id email", "email_was"), table("email"), "email_was"),
        (ORDER.format("id email previous_email", ""), table("email"), "previous_email"),
        # Keys alone, by their place.
        (ORDER.format("id v", "id_was"), table(), "id_was"),
        (ORDER.format("a b v", "b_x a_x"), table(key="a b"), "b_x a_x"),
        # A masked key, once another column has an image as well.
        ("Op dms_commit_ts id a b note b4_id b4_a b4_b", table("id"), "b4_id"),
        ("Op dms_commit_ts id v x_id x_v", table("id"), "x_id"),
        # Without a place, by their word.
        ("Op dms_commit_ts id v old_id old_v", table(), "old_id old_v"),
        ("Op dms_commit_ts a c v old_a old_c", table(key="a c"), "old_a old_c"),
        ("Op dms_commit_ts id v w x_id x_v x_w", table(), "x_id x_v x_w"),
    ],
)
def test_images_that_the_document_does_not_name(names: str, one: Table, images: str, change: Change) -> None:
    assert unnamed(names, one, change) == images


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
    found = find_images(names, NULL, table("email"), existing=["id", "email", "email_was"])
    assert (found.unnamed, found.shown) == ({"id_was"}, {"email_was"})


def test_the_warning_says_which_prefix_and_suffix_to_set() -> None:
    one = table("email")
    for images, settings in (
        ("id_was email_was", "Set bronze.change.before_image_suffix to '_was'; "),
        ("OLD_id OLD_email", "Set bronze.change.before_image_prefix to 'OLD_'; "),
        ("x_id_y x_email_y", "Set bronze.change.before_image_prefix to 'x_' and bronze.change.before_image_suffix to '_y'; "),
        ("BI_id BI_email", "Set bronze.change.before_image_prefix to 'BI_'; "),
    ):
        found = find_images(ORDER.format("id email", images).split(), NULL, one)
        (warning,) = image_warnings(one, NULL, [found, Images()], {})
        assert settings in warning and "not added to s.t" in warning
