"""`init` on a bucket: what it asks of S3 does not grow with the number of objects."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest

from dms_iceberg.errors import BronzeError
from dms_iceberg.init.run import examine
from support.cloud import BRONZE, open_cloud, parquet
from support.lake import sequence, timestamp

pytestmark = pytest.mark.release
OBJECTS = 2_500
START = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with open_cloud(tmp_path) as cloud:
        s3 = cloud.client("s3")
        cloud.load("dms", "orders", range(1, 30))
        rows = [("I", timestamp("20260301100030"), 50, "x", sequence("20260301100030", 61), None)]
        data = parquet([*rows, ("D", timestamp("20260301100040"), 50, None, sequence("20260301100040", 73), None)])
        times = (START + timedelta(minutes=number) for number in range(1, OBJECTS + 1))
        with ThreadPoolExecutor(8) as pool:
            keys = [f"dms/public/orders/{at:%Y/%m/%d/%H/%Y%m%d-%H%M%S}000.parquet" for at in times]
            list(pool.map(lambda key: s3.put_object(Bucket=BRONZE, Key=key, Body=data), keys))
        monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.proxy.url)
        for given in (f"s3://{BRONZE}/dms/", f"s3://{BRONZE}/dms", f"s3://{BRONZE}"):
            before = len(cloud.proxy.calls)
            found = examine(given, None, lambda names: names)
            assert found.bronze.uri == f"s3://{BRONZE}/dms"
            (table,) = found.tables
            assert f"dms/{table.files.changes[-1].key}" == keys[-1]
            assert found.keys["public.orders"].columns == ("id",)
            assert len(cloud.proxy.calls) - before < 60
        with pytest.raises(BronzeError, match=r"s3://no-such-bucket/x: S3 refused \(NoSuchBucket\). Compare the bucket's name"):
            examine("s3://no-such-bucket/x", None, lambda names: names)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        # A session keeps the credentials that it has found.
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        with pytest.raises(BronzeError, match="S3 could not be asked: Unable to locate credentials"):
            examine(f"s3://{BRONZE}/dms", None, lambda names: names)
