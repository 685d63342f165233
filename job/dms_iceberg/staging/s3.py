"""The S3 side of ``staging.store``. ``AWS_ENDPOINT_URL`` points it at another server."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import ClientError

from dms_iceberg.staging.store import StoredObject, vanished

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING = {"NoSuchKey", "404", "NotFound"}


class S3Store:
    """A bucket and a prefix. One client for all threads; retries are botocore's adaptive ones."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix}/" if prefix else ""
        self.root = f"s3://{bucket}/{prefix}".rstrip("/")

    @cached_property
    def _client(self) -> "S3Client":
        config = ClientConfig(retries={"mode": "adaptive", "max_attempts": 8}, max_pool_connections=32)
        return boto3.client("s3", config=config)

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        """Yield objects page by page (ListObjectsV2 with StartAfter)."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": self.prefix + prefix}
        if start_after:
            request["StartAfter"] = self.prefix + start_after
        for page in self._client.get_paginator("list_objects_v2").paginate(**request):
            for item in page.get("Contents", []):
                key = item["Key"].removeprefix(self.prefix)
                if not key.endswith("/"):
                    yield StoredObject(key, item["Size"], item["ETag"].strip('"'), item["LastModified"])

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Read a part of an object with a ranged GET."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Key": self.prefix + key}
        if start or length is not None:
            request["Range"] = f"bytes={start}-{'' if length is None else start + length - 1}"
        try:
            return self._client.get_object(**request)["Body"].read()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _MISSING:
                raise vanished(self.root, key) from error
            raise

    def put(self, key: str, data: bytes) -> None:
        """Write an object; S3 shows it whole or not at all."""
        self._client.put_object(Bucket=self.bucket, Key=self.prefix + key, Body=data)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._client.delete_object(Bucket=self.bucket, Key=self.prefix + key)
