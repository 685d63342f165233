"""Whose a table is: what counts as another owner, and what does not."""

from pathlib import Path

import attrs
import pytest

from dms_iceberg.config.model import Bronze, Catalog, Config, Table
from dms_iceberg.silver.owner import (
    QUARANTINE_PROPERTY,
    Conflict,
    Kind,
    Owner,
    bronze_of,
    owner_of,
    owner_of_model,
    owner_of_quarantine,
)

TABLE = Table(source="public.orders", target="silver.orders", key=("id",))
CONFIG = Config(pipeline="shop", bronze=Bronze(uri="s3://acme/dms/shop"), catalog=Catalog(warehouse="w"), tables={})
OWNER = owner_of(CONFIG, TABLE)
OWNERS = {Kind.TABLE: OWNER, Kind.MODEL: owner_of_model(CONFIG, "gold.daily"), Kind.QUARANTINE: owner_of_quarantine(CONFIG, TABLE)}


def found(owner: Owner, properties: dict[str, str], evidence: Kind | None = None) -> Conflict | None:
    return owner.conflict("silver.orders", properties, lambda: evidence)


@pytest.mark.parametrize(
    "uris",
    [
        ["s3://acme/dms/shop", "s3://acme/dms/shop/", "s3a://acme/dms/shop", "S3n://acme/dms/shop", "s3://acme/dms/shop/epoch-2",
         "s3a://acme/dms/shop/epoch-17/"],
        ["s3://acme", "s3a://acme/", "s3://acme/epoch-3"],
        ["/data/dms", "/data/dms/", "file:///data/dms", "/data/dms/epoch-1", "/data/x/../dms", "file:///data/d%6ds"],
        ["/", "/epoch-2"],
    ],
)  # fmt: skip
def test_one_folder_is_one_text(uris: list[str]) -> None:
    assert len({bronze_of(attrs.evolve(CONFIG, bronze=Bronze(uri=uri))) for uri in uris}) == 1


def test_a_link_is_what_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bronze").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "bronze")
    monkeypatch.chdir(tmp_path)
    uris = [str(tmp_path / "bronze"), str(tmp_path / "link"), f"file://{tmp_path}/link/", "bronze"]
    assert len({bronze_of(attrs.evolve(CONFIG, bronze=Bronze(uri=uri))) for uri in uris}) == 1


@pytest.mark.parametrize("uri", ["s3://acme/dms/shop2", "s3://acme/dms", "s3://other/dms/shop", "/dms/shop", "s3://acme/dms/shop/epoch-x"])
def test_another_folder_is_another(uri: str) -> None:
    assert bronze_of(attrs.evolve(CONFIG, bronze=Bronze(uri=uri))) != bronze_of(CONFIG)


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_recorded_is_the_owners(kind: Kind) -> None:
    owner = OWNERS[kind]
    assert found(owner, owner.properties()) is None
    # A property is missing: the table is of this kind, and nothing tells another owner.
    for name in owner.properties():
        assert found(owner, {key: value for key, value in owner.properties().items() if key != name}, kind) is None


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("change", [{"pipeline": "stock"}, {"bronze": "s3://acme/dms/stock"}, {"name": "billing.orders"}], ids=str)
def test_one_difference_is_another_owner_and_both_are_named(kind: Kind, change: dict[str, str]) -> None:
    other = attrs.evolve(OWNERS[kind], **change)
    conflict = found(OWNERS[kind], other.properties())
    assert conflict is not None
    assert f"run --take-over {OWNERS[kind].name}" in conflict.text
    for text in (*change.values(), OWNERS[kind].pipeline, OWNERS[kind].bronze, OWNERS[kind].name):
        assert text in conflict.text
    assert next(iter(change.values())) in conflict.former
    assert ("If bronze.uri is wrong" in conflict.text) == ("bronze" in change)


def test_another_quarantine_is_no_other_owner() -> None:
    assert found(OWNER, OWNER.properties() | {QUARANTINE_PROPERTY: "rejected.silver__orders"}) is None


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("other", list(Kind))
def test_a_table_is_of_one_kind_and_no_takeover_makes_it_another(kind: Kind, other: Kind) -> None:
    for properties, evidence in ((OWNERS[other].properties(), None), ({}, other)):
        conflict = found(OWNERS[kind], properties, evidence)
        assert (conflict is None) == (kind is other)
        assert conflict is None or (conflict.former == "" and "--take-over" not in conflict.text)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_table_of_somebody_else_is_left_alone(kind: Kind) -> None:
    conflict = found(OWNERS[kind], {"owner": "me", "write.format.default": "orc"})
    assert conflict is not None
    assert "is somebody else's" in conflict.text
    assert conflict.former == ""
