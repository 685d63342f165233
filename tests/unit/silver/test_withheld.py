"""What a table keeps back, by what it remembers; and its salts."""

from typing import Any

import pytest

from dms_iceberg.config.model import Column, Mask, OtherColumns, Table
from dms_iceberg.config.salts import check_of, refuse_unset_salts, resolve_salt, unset_salts
from dms_iceberg.errors import ConfigError, SchemaChangeError
from dms_iceberg.silver.memory.cleaning import CLEANING_PROPERTY, Cleaning, refuse_other_key_values
from dms_iceberg.silver.memory.publish_guard import refuse_published
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import LEFT_OUT, MadeMask, Withheld
from dms_iceberg.sql.mask_text import is_plain

NAMES = ["id", "email", "ssn", "phone"]
EMAIL = Column(name="email", mask=Mask.SHA256, mask_salt="env:S")
HASHED = MadeMask("sha256", "env:S", "abcd", "string")


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


def after(one: Table, names: list[str] | None = None, before: Withheld | None = None) -> Withheld:
    masks = {column.name.lower(): MadeMask(column.mask.value, column.mask_salt or "") for column in one.columns if column.mask}
    return (before or Withheld()).after(one, names or NAMES, masks)


def refused(one: Table, withheld: Withheld, names: list[str] | None = None, checks: dict[str, str] | None = None) -> str:
    try:
        refuse_published(one, withheld, names or NAMES, checks)
    except SchemaChangeError as error:
        return str(error)
    return ""


def test_the_type_of_a_key_that_is_text_survives_and_follows_renames() -> None:
    made = Withheld().after(table(EMAIL), NAMES, {"email": HASHED}, {"id": "decimal(10,2)", "email": "string"})
    assert made.texts == {"id": "decimal(10,2)"}
    assert Withheld.from_text(made.to_text()) == made
    # Of a batch without the column, and under its new name.
    assert made.after(table(EMAIL), NAMES, {"email": HASHED}).renamed({"id": "No"}).texts == {"no": "decimal(10,2)"}
    assert "texts" not in Withheld().to_text()


def test_what_is_kept_back_survives_its_text_and_follows_renames() -> None:
    made = Withheld({"e-mail": HASHED}, {"ssn": LEFT_OUT}, True)
    assert Withheld.from_text(made.to_text()) == made
    assert made.renamed({"e-mail": "Mail"}).masks == {"mail": HASHED}
    assert Withheld.from_properties({}) is None


@pytest.mark.parametrize(
    ("one", "sources"),
    [
        (table(EMAIL, drop=("SSN",)), {"email": "sha256", "ssn": LEFT_OUT}),
        (table(EMAIL, Column(name="mail", source="email")), {}),
        (table(EMAIL, Column(name="tail", source="email", mask=Mask.PARTIAL)), {"email": "partial"}),
        (table(Column(name="hidden", expr="lower(email)", mask=Mask.REDACT), drop=("email",)), {"email": LEFT_OUT}),
        (table(Column(name="email", expr="lower(email)", mask=Mask.REDACT)), {"email": "redact"}),
        (table(Column(name="email", expr="lower(email)")), {}),
        (table(other_columns=OtherColumns.DROP), {"email": LEFT_OUT, "ssn": LEFT_OUT, "phone": LEFT_OUT}),
    ],
)
def test_a_source_column_is_kept_back_as_far_as_no_silver_column_shows_it(one: Table, sources: dict[str, str]) -> None:
    assert after(one).sources == sources


def test_what_files_do_not_have_stays_as_it_was() -> None:
    made = after(table(EMAIL, drop=("ssn",)), ["id", "phone"], Withheld({"email": HASHED}, {"email": "sha256", "ssn": LEFT_OUT}))
    assert (made.masks, made.sources) == ({"email": HASHED}, {"email": "sha256", "ssn": LEFT_OUT})
    assert after(table(), NAMES, made).masks == {}


def test_a_source_column_by_its_earlier_name() -> None:
    made = after(table(EMAIL))
    one = table(Column(name="clear", source="mail", renamed_from="email"))
    assert "s.t.clear was masked and would now receive clear text." in refused(one, made, ["id", "mail"])
    assert refused(table(Column(name="clear", source="mail")), made, ["id", "mail"]) == ""


@pytest.mark.parametrize("before", [Withheld(), Withheld({"mail": HASHED}, {"mail": "redact"})])
def test_a_column_with_the_former_name_of_a_masked_one_may_be_that_column(before: Withheld) -> None:
    mail = Column(name="mail", renamed_from="email", mask=Mask.REDACT)
    for made in (before, after(table(mail), ["id", "mail"], before)):
        assert "s.t.email was masked and would now receive clear text." in refused(table(mail), made, ["id", "mail", "email"])
        assert refused(table(mail), made, ["id", "mail"]) == ""
        for allowed in (table(mail, publish=("email",)), table(mail, drop=("email",)), table(mail, Column(name="email", mask=Mask.REDACT))):
            assert refused(allowed, made, ["id", "mail", "email"]) == ""
    assert after(table(mail), ["id", "mail"]).sources == {"mail": "redact", "email": "redact"}


def test_only_what_files_have_is_published() -> None:
    made = after(table(EMAIL, drop=("ssn",)))
    assert refused(table(), made, ["id", "phone"]) == ""
    # Without files, what is declared counts.
    refuse_published(table(), made, None)
    with pytest.raises(SchemaChangeError, match=r"s\.t\.email was masked"):
        refuse_published(table(Column(name="email")), made, None)


def test_a_salt_is_its_content_where_that_is_known() -> None:
    made = Withheld({"email": HASHED})
    moved = table(Column(name="email", mask=Mask.SHA256, mask_salt="env:T"))
    assert refused(moved, made, checks={"env:T": "abcd"}) == ""
    assert "it was env:S and is env:T" in refused(moved, made, checks={"env:T": "ffff"})
    assert "the content of env:S has changed" in refused(table(EMAIL), made, checks={"env:S": "ffff"})
    assert refused(moved, made) == "", "no salt was looked at"
    unknown = Withheld({"email": MadeMask("sha256", "env:S")})
    assert "it was env:S and is env:T" in refused(moved, unknown, checks={"env:T": "abcd"})
    assert refused(table(EMAIL), unknown, checks={"env:S": "ffff"}) == ""


def test_words_are_for_columns_and_for_the_filter_apart() -> None:
    made = Withheld({"filter": HASHED}, {"filter": "sha256"}, True)
    names = ["id", "filter"]
    error = refused(table(), made, names)
    assert 'say so there with "publish": ["`filter`", "filter"].' in error
    assert "was filtered" not in refused(table(publish=("filter",)), made, names)
    assert "s.t.filter was masked" in refused(table(publish=("filter",)), made, names)
    assert "s.t.filter was masked" not in refused(table(publish=("`filter`",)), made, names)
    assert refused(table(publish=("`filter`", "filter")), made, names) == ""


def test_a_type_that_shows_the_same_text_is_no_other_mask() -> None:
    made = Withheld({"email": MadeMask("sha256", "env:S", text="decimal(10,2)")})
    properties = Cleaning.of(table(EMAIL, key=("email",))).to_properties() | {"dms-iceberg.withheld": made.to_text()}

    def keyed(type_: str | None, **changes: Any) -> Table:
        return table(Column(name="email", mask=Mask.SHA256, mask_salt="env:S", type=type_, **changes), key=("email",))

    for type_ in (None, "decimal(10,2)", "decimal(38,2)"):
        refuse_other_key_values(keyed(type_), properties)
    for other in (keyed("decimal(10,3)"), keyed("int"), keyed(None, trim=True)):
        with pytest.raises(SchemaChangeError, match="its values would have other hashes"):
            refuse_other_key_values(other, properties)
    refuse_other_key_values(keyed("int"), {name: text for name, text in properties.items() if name != CLEANING_PROPERTY})


@pytest.mark.parametrize("now", [{"trim": True}, {"expr": "lower(email)", "type": "string"}, {"type": "string", "format": "x"}])
def test_a_key_that_would_be_computed_in_another_way_is_refused(now: dict[str, Any]) -> None:
    plain, other = table(key=("email",)), table(Column(name="email", **now), key=("email",))
    for made, meant in ((plain, other), (other, plain)):
        refuse_other_key_values(made, Cleaning.of(made).to_properties())
        with pytest.raises(SchemaChangeError, match=r"'email'.*computed in another way.*--rebuild"):
            refuse_other_key_values(meant, Cleaning.of(made).to_properties())
    refuse_other_key_values(table(Column(name="email", **now)), Cleaning.of(table()).to_properties())


def test_plain_texts() -> None:
    for type_, of in (("string", "int"), ("int", "bigint"), ("int", "decimal(10,0)"), ("decimal(10,2)", "decimal(12,2)"), ("date", "date")):
        assert is_plain(type_, of)
    for type_, of in (("int", "decimal(10,2)"), ("double", "float"), ("float", "double"), ("double", "string"), ("date", "timestamp")):
        assert not is_plain(type_, of)


def test_columns_that_were_seen() -> None:
    seen = Seen().plus(["Id", "e-mail"])
    assert Seen.from_properties(seen.to_properties()) == seen
    assert seen.names == {"id", "e-mail"}
    assert Seen.from_properties({}) == Seen()


def test_salts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_of("pepper") == check_of("pepper") != check_of("paprika")
    assert len(bytes.fromhex(check_of("pepper"))) == 2
    monkeypatch.setenv("S", "pepper")
    assert (resolve_salt("env:S"), unset_salts(table(EMAIL))) == ("pepper", [])
    monkeypatch.setenv("S", "")
    with pytest.raises(ConfigError, match=r"columns\[0\]\.mask_salt: the environment variable S is not set"):
        refuse_unset_salts(table(EMAIL))
    refuse_unset_salts(table(Column(name="email", mask=Mask.SHA256, mask_salt="secret:arn:x"), Column(name="n", mask=Mask.REDACT)))


def test_a_mask_and_a_drop_that_no_file_has_met_are_kept_back_as_well() -> None:
    """A typing error in the document would publish the column with the first file that has it."""
    withheld = after(table(EMAIL, drop=("ssn",)), ["id"])
    assert (withheld.masks["email"].mask, withheld.sources) == ("sha256", {"email": "sha256", "ssn": LEFT_OUT})
    misspelt = table(Column(name="emial", mask=Mask.SHA256, mask_salt="env:S"), drop=("snn",))
    told = refused(misspelt, withheld, ["id", "email", "ssn"])
    assert "s.t.email was masked and would now receive clear text." in told
    assert "'ssn' was left out and would now be published." in told
    assert refused(table(EMAIL, drop=("ssn",)), withheld) == refused(misspelt, withheld, ["id"]) == ""
