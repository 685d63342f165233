"""Files below a folder without a name: said as what they are, and no statement that the load is complete makes an empty table of them."""

from collections.abc import Iterator
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import BranchState, RunContext, RunRequest
from dms_iceberg.loads.no_files import find_no_files
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.s3 import S3Store

BUCKET, TABLE = "bronze", "shop.orders"


CONFIG = parse_config(
    {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": f"s3://{BUCKET}/dms"},
        "catalog": {"type": "glue", "warehouse": "s3://silver/"},
        "tables": {TABLE: {"target": "silver.orders", "key": ["id"]}},
    }
)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        found = boto3.client("s3")
        found.create_bucket(Bucket=BUCKET)
        yield found


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("key", ["dms//shop/orders/LOAD00000001.parquet", "dms/shop//orders/20260301-100001000.parquet"])
def test_no_empty_table_is_offered(client: Any, key: str, told: bool) -> None:
    client.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    request = RunRequest(load_complete=frozenset([TABLE]) if told else frozenset())
    context = RunContext(cast(Any, None), CONFIG, S3Store(BUCKET, "dms"), "run", request=request)
    found = find_no_files(context, CONFIG.tables[TABLE], BranchState(Progress(), None), Pending([], [], [], []))
    assert found is not None
    assert f"s3://{BUCKET}/{key}: there are two slashes in a row in its key" in found.text
    assert "--load-complete" not in found.text
    assert found.is_wrong


def test_an_empty_table_is_offered_where_nothing_is(client: Any) -> None:
    client.put_object(Bucket=BUCKET, Key="dms/shop/lines/LOAD00000001.parquet", Body=b"x")
    context = RunContext(cast(Any, None), CONFIG, S3Store(BUCKET, "dms"), "run")
    found = find_no_files(context, CONFIG.tables[TABLE], BranchState(Progress(), None), Pending([], [], [], []))
    assert found is not None
    assert f"--load-complete {TABLE}" in found.text
