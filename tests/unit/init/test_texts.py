"""What the texts of columns show: values that DMS has cut, and amounts of money."""

from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry
from dms_iceberg.dms.convert import cut_text
from dms_iceberg.dms.types import DmsType
from dms_iceberg.init.document import terraform_tables, yaml_document
from dms_iceberg.init.finding import Found
from dms_iceberg.init.run import examine
from dms_iceberg.init.texts import cut_at, money_scale
from unit.init.emulated import catalog_of
from unit.init.test_own_columns import parquet


def only_entry(found: Found) -> Entry:
    (entry,) = found.proposals
    assert isinstance(entry, Entry), entry
    return entry


@pytest.mark.parametrize(
    ("values", "kilobytes"),
    [
        (["a" * 32768] * 2, 32),
        (["é" * 512] * 2, 1),
        # Between two characters: of 63 KB up to three bytes stay free.
        ([cut_text(63 * 1024)(begin + "€" * 40_000) for begin in ("", "a", "ab")], 63),
        ([cut_text(2048)(begin + "\U0001f600" * 800) for begin in ("", "a", "ab", "abc")], 2),
        # In characters, whatever bytes these have.
        (["é" * 700 + "a" * 324, "ü" * 1024], 1),
        # A byte of a character that is cut in its middle is a byte.
        (["é" * 511 + "a\udcc3"] * 2, 1),
        (["a" * 2048, "b" * 2048, "short", "é"], 2),
        (["a" * 1024, "b"], 0),
        (["a" * 1024, "b" * 1024, "c" * 1025], 0),
        (["a" * 1023] * 3, 0),
        (["é" * 510] * 3, 0),
        (["x"] * 3, 0),
        ([], 0),
    ],
)
def test_where_texts_are_cut(values: list[str], kilobytes: int) -> None:
    assert cut_at(values) == kilobytes


def test_bytes_that_are_cut() -> None:
    assert cut_at(["00" * 4096] * 2, hexadecimal=True) == 4
    assert cut_at(["00" * 4095] * 2, hexadecimal=True) == 0


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (["$1,234.00", "-$0.50", "$92,233,720,368,547,758.07"], 2),
        (["¥1,234", "¥7"], 0),
        (["€ 1.50", "$-1.5"], 2),
        (["1,234.00"], 2),
        # With the decimal comma, or what is no amount at all.
        (["1.234,00 €"], None),
        (["$1,23"], None),
        (["$1,234.00", "none"], None),
        (["A12"], None),
        (["#12"], None),
        ([], None),
    ],
)
def test_amounts_of_money(values: list[str], scale: int | None) -> None:
    assert money_scale(values) == scale


CATALOG = catalog_of(
    "bills",
    [
        ("id", "int8", "bigint", "int8"),
        ("paid", "money", "money", "numeric(38,4)"),
        ("story", "text", "text", "nclob"),
    ],
)
STORY = "á" * 512


def bills(folder: Path, *paid: str) -> Path:
    (folder / "shop" / "bills").mkdir(parents=True)
    loaded = "".join(f'I,{number},"{amount}",{STORY}\n' for number, amount in enumerate(paid))
    (folder / "shop" / "bills" / "LOAD00000001.csv").write_text(f"Op,id,paid,story\n{loaded}")
    (folder / "shop" / "bills" / "20260301-100001000.csv").write_text(f'Op,id,paid,story\nU,1,"$7.00",{STORY}\nD,2,,\n')
    return folder


def test_a_column_of_money_is_proposed_as_a_number(tmp_path: Path) -> None:
    found = examine(str(bills(tmp_path, "$1,234.00", "-$5.25", "$0.00")), None, lambda names: names)
    text = yaml_document(found, "silver")
    assert "amounts with a currency sign or commas, as money of PostgreSQL: text in silver" in " ".join(text.replace("#", "").split())
    # A comment without its sign is a part of the document.
    lines = [line.replace("# ", "", 1) if line.startswith(("    # columns", "    #   -")) else line for line in text.split("\n")]
    document: Any = load_yaml("\n".join(lines), "init.yaml")
    del document["tables"]["shop.bills"]["key_confirmed"]
    (paid,) = (one for one in parse_config(document).tables["shop.bills"].columns if one.name == "paid")
    assert (paid.expr, str(paid.type)) == ("regexp_replace(`paid`, '[^0-9.()A-Za-z-]', '')", "decimal(38,2)")
    assert 'expr = "regexp_replace(`paid`' in terraform_tables(found, None)


def test_money_of_a_catalog_is_declared_as_the_files_have_it(tmp_path: Path) -> None:
    with_sign = only_entry(examine(str(bills(tmp_path / "sign", "$1,234.00", "-$5.25", "$0.00")), CATALOG, lambda names: names))
    assert [(one.name, bool(one.expression), one.type) for one in with_sign.declared if one.name == "paid"] == [
        ("paid", True, "decimal(38,2)")
    ]
    folder = bills(tmp_path / "plain", "1234.0000", "-5.2500", "0.0000")
    change = folder / "shop/bills/20260301-100001000.csv"
    change.write_text(change.read_text().replace("$7.00", "7.0000"))
    plain = only_entry(examine(str(folder), CATALOG, lambda names: names))
    assert [(one.name, one.expression, one.type) for one in plain.declared if one.name == "paid"] == [("paid", "", "decimal(38,4)")]


@pytest.mark.parametrize("catalog", [None, CATALOG])
def test_texts_and_bytes_that_are_cut_are_said(catalog: Catalog | None, tmp_path: Path) -> None:
    entry = only_entry(examine(str(bills(tmp_path, "$1.00", "$2.00", "$3.00")), catalog, lambda names: names))
    assert any(note.startswith("story") and "(LobMaxSize)" in note and "(1 KB)" in note for note in entry.notes), entry.notes
    binary = tmp_path / "binary" / "shop" / "bills"
    binary.mkdir(parents=True)
    row = {"id": pa.int64(), "scan": pa.binary()}
    (binary / "LOAD00000001.parquet").write_bytes(parquet(row, *((number, b"\xff" * 2048) for number in range(3))))
    (binary / "20260301-100001000.parquet").write_bytes(parquet({"Op": pa.string(), **row}, ("U", 1, b"\x00"), ("D", 2, None)))
    if catalog is not None:
        table = catalog.tables[0]
        scan = attrs.evolve(table.columns[2], name="scan", type="bytea", shown="bytea", dms=DmsType.parse("blob"))
        catalog = attrs.evolve(catalog, tables=(attrs.evolve(table, columns=(table.columns[0], scan)),))
    entry = only_entry(examine(str(tmp_path / "binary"), catalog, lambda names: names))
    assert any(note.startswith("scan") and "(2 KB)" in note for note in entry.notes), entry.notes
