"""The folders of a bucket, with a bounded number of requests: none is dropped, or what was not looked through is said by name."""

from collections.abc import Iterator, Sequence
from typing import Any

import boto3
import pytest
from moto import mock_aws

from benchmarks.old_bronze import fill
from dms_iceberg.bronze.nearest_folders import nameless
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.run import examine
from dms_iceberg.storage.s3 import S3Store

BUCKET = "bronze"


@pytest.fixture
def _s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        yield


def look(keys: Sequence[str], prefix: str) -> tuple[Any, int]:
    fill(BUCKET, keys)
    store, calls = S3Store(BUCKET, "dms"), []
    store._client.meta.events.register("before-call.s3.ListObjectsV2", lambda **_: calls.append(1))
    return store.folders(prefix), len(calls)


@pytest.mark.usefixtures("_s3")
def test_folders_behind_thousands_of_objects() -> None:
    flat = [f"dms/shop/{number:05}.csv" for number in range(4_000)]
    found, calls = look([*flat, "dms/shop/2026/x", "dms/shop/orders/x", "dms/shop//x", "dms/shop/orders0/x"], "shop/")
    assert found.names == ("2026", "orders", "orders0")
    assert (found.unseen, calls) == ((), 5)


@pytest.mark.usefixtures("_s3")
def test_a_folder_at_the_end_of_a_page() -> None:
    """Its keys sort after its name, and must not show it again; nor may the name that follows it be lost."""
    found, calls = look([*(f"dms/t{number:04}/x" for number in range(2_500)), "dms/t09990/x", "dms/t0999-/x"], "")
    assert len(found.names) == 2_502
    assert len(set(found.names)) == 2_502
    assert (found.unseen, calls) == ((), 3)


@pytest.mark.usefixtures("_s3")
def test_objects_without_end_are_passed_over_and_said() -> None:
    flat = [f"dms/2026{number:06}" for number in range(11_500)]
    found, calls = look([*flat, "dms/1/x", "dms/2026011200/x", "dms/3", "dms/3/x", "dms/orders/x"], "")
    assert found.names == ("1", "3", "orders")
    assert found.unseen == ("between 2026010998 and 3",)
    assert calls == 12


def put_table(client: Any, schema: str, table: str) -> None:
    for name, line in (("LOAD00000001.csv", "I,1,a\nI,2,b\n"), ("20260301-100001000.csv", "U,1,c\nD,2,\n")):
        client.put_object(Bucket=BUCKET, Key=f"dms/{schema}/{table}/{name}", Body=f"Op,id,v\n{line}".encode())


@pytest.mark.usefixtures("_s3")
def test_init_lists_folders_once_and_looks_only_at_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client("s3")
    for schema in ("crm", "shop"):
        for table in ("orders", "users"):
            put_table(client, schema, table)
    asked: list[tuple[str, str, str]] = []

    def note(params: dict[str, Any], **_: object) -> None:
        query = params["query_string"]
        asked.append((params["url_path"], str(query.get("prefix")), str(query.get("delimiter", ""))))

    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session())
    boto3.DEFAULT_SESSION.events.register("before-call.s3", note)  # type: ignore[attr-defined]
    found = examine(f"s3://{BUCKET}/dms", None, lambda names: [name for name in names if name == "shop.users"])
    assert set(found.keys) == {"shop.users"}
    folders = [prefix for _, prefix, delimiter in asked if delimiter]
    assert sorted(folders) == ["dms/", "dms/crm/", "dms/shop/"]
    # Of the rest only the first page of the folder that was named.
    assert {prefix for _, prefix, delimiter in asked if not delimiter} == {"dms/", "dms/shop/users/", "None"}
    assert {path for path, prefix, _ in asked if prefix == "None"} == {
        f"/dms/shop/users/{name}" for name in ("LOAD00000001.csv", "20260301-100001000.csv")
    }


@pytest.mark.usefixtures("_s3")
@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("dms//shop/orders/LOAD00000001.csv", "s3://bronze/dms"),
        ("dms//shop/orders/LOAD00000001.csv", "s3://bronze"),
        ("/shop/orders/LOAD00000001.csv", "s3://bronze"),
        ("dms/shop//orders/LOAD00000001.csv", "s3://bronze/dms"),
    ],
)
def test_a_folder_without_a_name_is_said(key: str, given: str) -> None:
    """As with a BucketFolder that ends with a slash. Spark takes two slashes for one, so it would look elsewhere."""
    fill(BUCKET, [key])
    with pytest.raises(BronzeError, match=r"two slashes in a row in its key.*BucketFolder of the endpoint begins or ends with a slash"):
        examine(given, None, lambda names: names)


@pytest.mark.usefixtures("_s3")
def test_a_table_below_a_folder_without_a_name() -> None:
    fill(BUCKET, ["dms//shop/orders/LOAD00000001.csv", "dms/shop//lines/LOAD00000001.csv", "dms/shop/sums/LOAD00000001.csv"])
    store = S3Store(BUCKET, "dms")
    assert "s3://bronze/dms//shop/orders/LOAD00000001.csv: there are two slashes" in nameless(store, "shop", "orders")
    assert "s3://bronze/dms/shop//lines/LOAD00000001.csv: there are two slashes" in nameless(store, "shop", "lines")
    assert nameless(store, "shop", "sums") == nameless(store, "shop", "others") == ""
