"""What a batch of a warm session asks of S3: it grows with what is new, not with what the table has been through."""

from collections import Counter
from pathlib import Path

import pytest

from support.cloud import open_cloud
from support.warm_job import WarmJob

pytestmark = pytest.mark.release
BATCHES = 4
# Iceberg itself keeps the manifests of eight.
TABLES = [f"t{number}" for number in range(10)]


def test_no_manifest_is_read_twice(tmp_path: Path) -> None:
    with open_cloud(tmp_path) as cloud, WarmJob(cloud.environment, cloud.folder) as job:
        document = cloud.document("requests", TABLES)
        for table in TABLES:
            cloud.load("requests", table, [1, 2, 3])
        assert job.run(document)["exit_code"] == 0
        for minute in range(BATCHES):
            for table in TABLES:
                cloud.changes("requests", table, minute, [("U", 1, f"in minute {minute}")])
            assert job.run(document)["exit_code"] == 0
        assert {cloud.rows("requests", table)[0] for table in TABLES} == {(1, f"in minute {BATCHES - 1}")}
        read = Counter(call.path for call in cloud.proxy.calls if call.operation == "GetObject" and call.path.endswith(".avro"))
    manifests = {path: times for path, times in read.items() if "/snap-" not in path}
    assert len(manifests) >= BATCHES * len(TABLES)
    assert {path: times for path, times in manifests.items() if times > 1} == {}
