"""Reading documents from files and S3, as JSON and YAML."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from dms_iceberg.config.load import load_config
from dms_iceberg.config.paths import absolute
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import FULL, sample

YAML = """\
version: 1
pipeline: shop            # written by hand
bronze:
  uri: bronze
  format: csv
  csv: {null: "", header: true}
catalog: {warehouse: ../lake}
tables:
  public.orders:
    target: silver.orders
    key: [order_id]
    columns:
      - {name: since, type: date, backfill: 2024-01-31}
"""


def problems(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(str(path))
    assert caught.value.source == str(path)
    return caught.value.problems


def test_json_file_and_paths_relative_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "a b%20"
    folder.mkdir()
    (folder / "shop.json").write_text(json.dumps(FULL))
    config = load_config(str(folder / "shop.json"))
    assert config.bronze.uri == str(folder / "bronze")
    assert config.state_uri == str(folder / "state")
    assert load_config((folder / "shop.json").as_uri()) == config


def test_the_state_is_beside_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.json").write_text(json.dumps(sample()))
    monkeypatch.chdir(tmp_path)
    assert load_config("shop.json").state_uri == str(tmp_path)


def test_yaml_means_what_json_would(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/shop.yml").write_text(YAML)
    config = load_config(str(tmp_path / "conf/shop.yml"))
    assert config.catalog.warehouse == str(tmp_path / "lake")
    assert config.bronze.csv.null == ""
    assert config.tables["public.orders"].columns[0].backfill == "2024-01-31"


def test_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "shop.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(sample()).encode())
    assert load_config(str(tmp_path / "shop.json")).pipeline == "shop"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b'{"version": 1,}', "not valid JSON at line 1, column 1"),
        ("a.json", b"", "not valid JSON at line 1, column 1: Expecting value"),
        ("a.json", b'{"a": NaN}', "not valid JSON: NaN is not JSON"),
        ("a.json", b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON: Exceeds the limit"),
        ("a.json", b"[" * 100_000, "not valid JSON: nested too deeply"),
        ("a.json", b'{"a": 1, "a": 2}', "the key 'a' appears twice in one object; only one of them can count"),
        ("a.json", b'{"a": "\xff"}', "not UTF-8 at byte 7; save the document as UTF-8"),
        ("a.json", rb'{"a": "\ud800"}', r"a: has \ud800, half of a character"),
        ("a.json", rb'{"\ud800": 1, "\ud800": 1}', r"the key '\ud800' appears twice"),
        ("a.yaml", b"a: 1\na: 2\n", "not valid YAML at line 2, column 1: the key 'a' appears twice in one object"),
        ("a.yaml", b"1: a\n", "not valid YAML at line 1, column 1: the key 1 is not text; put it in quotes"),
        ("a.yaml", b"[a]: b\n", "not valid YAML at line 1, column 1: the key ['a'] is not text; put it in quotes"),
        ("a.yaml", b"a: [1\n", "not valid YAML at line 2, column 1: "),
        ("a.yaml", b"a: 1\n---\nb: 2\n", "not valid YAML at line 2, column 1: "),
        ("a.yaml", b"a: !!python/name:os.system\n", "not valid YAML at line 1, column 4: could not determine a constructor"),
        ("a.yaml", b"a: \x00\n", "not valid YAML: "),
        ("a.yaml", b"- a\n", "the document must be an object, found a list"),
        ("a.yaml", b"", "the document must be an object, found null"),
        ("a.yaml", b"[" * 20_000, "not valid YAML: nested too deeply"),
        ("a.yaml", b"version: &v\n  version: *v\n", "nested too deeply, or refers to itself"),
    ],
)
def test_unreadable_content(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    (problem,) = problems(tmp_path / name)
    assert problem.startswith(message)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert problems(tmp_path / "a.json") == [f"the file does not exist: {tmp_path}/a.json"]
    assert problems(tmp_path) == ["the file cannot be read: Is a directory"]
    with pytest.raises(ConfigError, match="cannot read 'ftp:'; use s3://, file:// or a path"):
        load_config("ftp://host/a.json")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("s3://[", "'s3://[' is neither a path nor a URI: Invalid IPv6 URL"),
        ("file://[", "'file://[' is neither a path nor a URI: Invalid IPv6 URL"),
        ("s3://b/\udcff", r"'s3://b/\udcff' has bytes that are not UTF-8; choose another name"),
        ("/x/\udcff.json", r"'/x/\udcff.json' has bytes that are not UTF-8; choose another name"),
    ],
)
def test_what_is_no_address(uri: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(uri)
    assert caught.value.problems == [message]
    assert str(caught.value).isascii()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="acme")
        yield "acme"


def test_s3(bucket: str) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key="conf/shop.json", Body=json.dumps(FULL).encode())
    config = load_config("s3://acme/conf/shop.json")
    assert (config.bronze.uri, config.state_uri) == ("s3://acme/conf/bronze", "s3://acme/conf/state")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("s3://acme/none.json", "the object does not exist"),
        ("s3://other-bucket/a.json", "S3 refused to read the object: NoSuchBucket"),
        ("s3://acme", "write s3://bucket/key of the document"),
    ],
)
def test_s3_errors(bucket: str, uri: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(uri)
    assert caught.value.problems == [message]


@pytest.mark.parametrize(
    ("uri", "base", "expected"),
    [
        ("s3://b/p/", "/x", "s3://b/p"),
        ("s3a://b/p", "/x", "s3a://b/p"),
        ("data", "/x", "/x/data"),
        (".", "/x/", "/x"),
        ("../data/", "file:///x/y%20z", "/x/data"),
        ("/data", "s3://b/p", "/data"),
        ("data/../more", "s3://b/p", "s3://b/p/more"),
        ("..", "s3://b/p", "s3://b"),
        (".", "s3://b", "s3://b"),
        ("file:///a%20b", "s3://b", "/a b"),
        ("hdfs://host/p/", "/x", "hdfs://host/p"),
    ],
)
def test_absolute(uri: str, base: str, expected: str) -> None:
    assert absolute(uri, base) == expected


def test_a_path_stays_in_its_bucket() -> None:
    with pytest.raises(ValueError, match="climbs above the bucket"):
        absolute("../../x", "s3://b/p")
