"""Present names of columns that were renamed at the source: golden texts."""

from dms_iceberg.changes.present_names import PresentNames, present_names
from dms_iceberg.config.model import Change, Column, Table

MAIL = Column(name="mail", renamed_from="email")
CHANGE = Change(before_image_prefix="BI_")


def found(*names: str, by_row: bool = True, column: Column = MAIL, change: Change = CHANGE, other_type: str = "string") -> PresentNames:
    table = Table(source="public.t", target="s.t", key=("id",), columns=(column,))
    types = [(name, other_type if name == "email" else "string") for name in names]
    return present_names(types, table, change, by_row=by_row)


def test_nothing_is_done_without_the_old_name() -> None:
    for by_row in (True, False):
        assert found("id", "mail", "BI_mail", by_row=by_row) == PresentNames()
        assert found("id", "email", column=Column(name="mail", source="email", renamed_from="email"), by_row=by_row) == PresentNames()


def test_files_of_one_structure_are_renamed_whole() -> None:
    for by_row in (True, False):
        renamed = found("id", "Email", "bi_email", by_row=by_row)
        assert renamed == PresentNames(("`id`", "`Email` AS `mail`", "`bi_email` AS `BI_mail`"))
    # The source uses the name again.
    for image in ("BI_email", "BI_mail"):
        assert found("id", "email", "mail", image, by_row=False) == PresentNames()


def test_an_image_may_keep_the_former_name_of_its_column() -> None:
    """A mapping rule renames a column, and the name of its before-image stays that of the source's column."""
    assert found("id", "mail", "BI_email", by_row=False) == PresentNames(("`id`", "`mail`", "`BI_email` AS `BI_mail`"))
    assert found("id", "mail", "BI_email", "BI_mail", by_row=False) == PresentNames()


def test_rows_of_both_structures_are_judged_one_by_one() -> None:
    both = "(`email` IS NOT NULL) AND (`Mail` IS NOT NULL)"
    named = found("email", "id", "Mail")
    assert named.select == (
        f"CASE WHEN {both} THEN `email` END AS `email`",
        "`id`",
        f"CASE WHEN {both} THEN `Mail` ELSE coalesce(`Mail`, `email`) END AS `Mail`",
    )
    assert named.former == {"email"}
    assert named.problem is not None and named.problem.startswith("coalesce(CASE WHEN `email` IS NOT NULL THEN 'ambiguous_rename: ")


def test_values_of_two_types_meet_as_text() -> None:
    select = found("email", "mail", other_type="bigint").select
    assert select is not None and "coalesce(CAST(`mail` AS string), CAST(`email` AS string))" in select[1]
    assert found("email", "mail", other_type="void").select == found("email", "mail").select


def test_a_line_may_lack_what_its_image_has() -> None:
    named = found("email", "BI_email", "mail")
    both = "(`email` IS NOT NULL OR `BI_email` IS NOT NULL) AND (`mail` IS NOT NULL)"
    assert named.select is not None
    assert named.select[1:3] == (
        f"CASE WHEN NOT ({both}) THEN `BI_email` END AS `BI_mail`",
        f"CASE WHEN {both} THEN `BI_email` END AS `BI_email`",
    )
    assert named.former == {"email", "bi_email"}
    assert found("BI_email", "mail").former == {"bi_email"}
    assert found("BI_email", "id").select == ("`BI_email` AS `BI_mail`", "`id`")


def test_a_new_name_like_an_image_of_the_old_one_is_no_image() -> None:
    named = found("email", "BI_email", column=Column(name="BI_email", renamed_from="email"))
    assert named.former == {"email"} and named.select is not None and len(named.select) == 2
