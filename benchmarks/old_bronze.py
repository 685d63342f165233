"""What it costs to list past files that were merged long ago: in a folder, and on S3, where the number of requests counts."""

import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import boto3

from benchmarks.small_tables import file_name, now
from dms_iceberg.bronze.keys import digits_of
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import LocalStore, ObjectStore

_PREFIX: Final = "shop/old/"
_BUCKET: Final = "bronze"
LAYOUTS: Final[dict[str, Callable[[datetime], str]]] = {
    "folders by hour": file_name,
    "one folder": lambda closed: file_name(closed).rpartition("/")[2],
}


def old_times(count: int, until: datetime) -> list[datetime]:
    """Return the close times of ``count`` files, a minute apart, the last of them two days before ``until``."""
    return [until - timedelta(days=2, minutes=one) for one in range(count)]


def local_seconds(folder: Path, count: int, layout: str) -> tuple[float, float]:
    """Return the seconds of a listing in an otherwise empty bronze, and with ``count`` old files; both with an hour of new files."""
    until, name = now(), LAYOUTS[layout]
    new = [until - timedelta(minutes=one) for one in range(60)]
    taken = []
    for kind, times in (("empty", new), ("old", [*new, *old_times(count, until)])):
        bronze = folder / f"{layout} {kind}"
        for path in (bronze / _PREFIX / name(one) for one in times):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        taken.append(min(_listed(LocalStore(bronze), until, len(new)) for _ in range(5)))
    return taken[0], taken[1]


def requests_of_s3(count: int, layout: str) -> tuple[int, int]:
    """Return the number of LIST requests in an otherwise empty bronze, and with ``count`` old objects; both with an hour of new ones."""
    from moto import mock_aws

    until, name = now(), LAYOUTS[layout]
    new = [until - timedelta(minutes=one) for one in range(60)]
    made = []
    outside = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    for times in (new, [*new, *old_times(count, until)]):
        with patch.dict(os.environ, {**outside, "AWS_DEFAULT_REGION": "us-east-1"}, clear=True), mock_aws():
            calls: list[Any] = []
            boto3.setup_default_session()
            boto3.client("s3").create_bucket(Bucket=_BUCKET)
            fill(_BUCKET, [_PREFIX + name(one) for one in times])
            assert boto3.DEFAULT_SESSION is not None
            boto3.DEFAULT_SESSION.events.register("before-call.s3.ListObjectsV2", lambda calls=calls, **_: calls.append(1))
            _listed(open_store(f"s3://{_BUCKET}"), until, len(new))
            made.append(len(calls))
    return made[0], made[1]


def _listed(store: ObjectStore, until: datetime, new: int) -> float:
    """Return the seconds of a listing whose look-back begins a day ago."""
    day = until - timedelta(days=1)
    started = time.perf_counter()
    found = [
        file for file in list_files(store, _PREFIX, digits_of(day), BronzeFormat.PARQUET, digits_of(until)) if file.order > digits_of(day)
    ]
    taken = time.perf_counter() - started
    if len(found) != new:
        raise AssertionError(f"{len(found)} of {new} new files were listed")
    return taken


def fill(bucket: str, keys: Sequence[str]) -> None:
    """Put empty objects into moto directly: so many requests would take minutes."""
    from moto.s3.models import s3_backends

    for backends in s3_backends.values():
        for backend in backends.values():
            if bucket in backend.buckets:
                for key in keys:
                    backend.put_object(bucket, key, b"")
                return
    raise AssertionError("moto has no such bucket")
