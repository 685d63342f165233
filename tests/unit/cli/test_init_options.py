"""What `init` refuses and writes: one new file, and nothing beside it."""

import json
from pathlib import Path

import attrs
import pytest

from dms_emulator.files import FileShape
from dms_iceberg.cli.app import main
from dms_iceberg.config.load import load_config
from dms_iceberg.errors import ConfigError
from unit.init.emulated import LINES, Task


@attrs.frozen
class Ended:
    code: object
    out: str
    err: str


def command(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> Ended:
    with pytest.raises(SystemExit) as caught:
        main(["init", *arguments])
    shown = capfd.readouterr()
    return Ended(caught.value.code or 0, shown.out, shown.err)


@pytest.fixture
def bronze(tmp_path: Path) -> Path:
    task = Task(tmp_path / "bronze", FileShape())
    task.load()
    task.changes(1)
    task.load(LINES)
    return task.root


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["shop.yaml", "shop.json"])
def test_it_writes_the_document_and_nothing_else(name: str, bronze: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before, out = everything(tmp_path), tmp_path / name
    ended = command([str(bronze), "--out", str(out)], capfd)
    assert ended.code == 0
    assert everything(tmp_path) == before | {out: out.read_bytes()}
    assert f"dms-iceberg run {out}" in ended.out
    with pytest.raises(ConfigError, match="key_confirmed: false: init proposed the key"):
        load_config(str(out))
    out.write_text(out.read_text().replace('"key_confirmed": false', '"key_confirmed": true').replace("key_confirmed: false", ""))
    config = load_config(str(out))
    assert {name: table.key for name, table in config.tables.items()} == {
        "shop.orders": ("order_id",),
        "shop.order_lines": ("order_id", "line_no"),
    }


def test_a_file_that_is_there_is_not_overwritten(bronze: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shop.yaml"
    out.write_text("mine")
    ended = command([str(bronze), "--out", str(out)], capfd)
    assert ended.code == 2
    assert "is there already, and is not overwritten" in ended.err
    assert out.read_text() == "mine"


def test_without_out_the_document_is_on_standard_output(bronze: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = everything(tmp_path)
    ended = command([str(bronze)], capfd)
    assert ended.code == 0
    assert ended.out.startswith("# Written by dms-iceberg init")
    assert "next: compare the key of shop.order_lines, shop.orders with the primary key at the source" in ended.err
    assert everything(tmp_path) == before


def test_hcl(bronze: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = command([str(bronze), "--hcl"], capfd)
    assert "tables = {" in ended.out
    assert "key_confirmed = false" in ended.out


def test_some_tables(bronze: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = command([str(bronze), "--table", "shop.order_l*"], capfd)
    assert '"shop.order_lines":' in ended.out
    assert '"shop.orders":' not in ended.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "shop.txt"], "must end in .yaml, .yml, .json"),
        (["--out", "nowhere/shop.yaml"], "there is no folder nowhere"),
        (["--namespace", "quarantine"], "'quarantine' is the quarantine's"),
        (["--table", "shop.orderz"], "no folder <schema>/<table>/ is like this; there are shop.order_lines, shop.orders"),
        (["--source", "postgresql://ana:hunter2@db/shop"], "it holds a password"),
    ],
)
def test_usage(arguments: list[str], says: str, bronze: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = command([str(bronze), *arguments], capfd)
    assert ended.code == 2
    assert says in ended.err
    assert "hunter2" not in ended.err


@pytest.mark.parametrize("uri", ["s3://[", "s3://b/\udcff"])
def test_what_is_no_address(uri: str, capfd: pytest.CaptureFixture[str]) -> None:
    ended = command([uri], capfd)
    assert ended.code == 2
    assert "FOLDER: 's3://" in ended.err


def test_an_empty_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended = command([str(tmp_path)], capfd)
    assert ended.code == 1
    assert "no file with a name that DMS gives" in ended.err


def test_nothing_is_written_if_no_table_can_be_merged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bronze" / "shop" / "t" / "LOAD00000001.csv"
    path.parent.mkdir(parents=True)
    path.write_text("I,1,x\nI,2,y\n")
    out = tmp_path / "shop.json"
    ended = command([str(tmp_path / "bronze"), "--out", str(out)], capfd)
    assert ended.code == 1
    assert "Give --source" in ended.out
    assert not out.exists()


def test_json_has_the_same_document(bronze: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shop.json"
    command([str(bronze), "--out", str(out)], capfd)
    assert set(json.loads(out.read_text())["tables"]) == {"shop.orders", "shop.order_lines"}
