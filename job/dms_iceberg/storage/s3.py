"""The S3 implementation of ``storage.store``. ``AWS_ENDPOINT_URL`` points it at another server."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError, ReadTimeoutError, ResponseStreamingError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.folders import FolderPage, Folders, find_folders
from dms_iceberg.storage.store import StoredObject, vanished

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING = {"NoSuchKey", "404", "NotFound"}

CLIENT_SETTINGS = ClientConfig(
    # Adaptive: a throttled listing slows down all threads of the client. Waits are random, and double up to 20 s: half a minute in total.
    retries={"mode": "adaptive", "total_max_attempts": 8},
    # The defaults are a minute each. Times the attempts, a run would hang for a quarter of an hour where nothing answers.
    connect_timeout=5,
    read_timeout=20,
    max_pool_connections=32,
)
"""How patient the client is with S3."""

_READS = 4


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """Raise `BronzeError`, with what to do, for what S3 refuses while a person waits for an answer about ``uri``."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "unknown")
        raise BronzeError(
            f"{uri}: S3 refused ({code}). Compare the bucket's name and Region, and the rights: s3:ListBucket on the bucket, s3:GetObject "
            "below the folder, kms:Decrypt on the bucket's key; a bucket of another account needs the same in its own policy"
        ) from error
    except BotoCoreError as error:
        raise BronzeError(f"{uri}: S3 could not be asked: {error} Set credentials (such as AWS_PROFILE) and AWS_REGION") from error


class S3Store:
    """A bucket and a prefix. All threads share one client, which retries within bounds: see `CLIENT_SETTINGS`."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix}/" if prefix else ""
        self.root = f"s3://{bucket}/{prefix}".rstrip("/")

    @cached_property
    def _client(self) -> "S3Client":
        return boto3.client("s3", config=CLIENT_SETTINGS)

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

    def folders(self, prefix: str) -> Folders:
        """Return the common prefixes up to the next slash, with a bounded number of requests."""
        return find_folders(lambda start: self._folder_page(self.prefix + prefix, start))

    def _folder_page(self, whole: str, start: str) -> FolderPage:
        # Not by a paginator: its MaxItems counts objects only, and drops the folders of a page that it cuts.
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": whole, "Delimiter": "/"}
        if start:
            request["StartAfter"] = whole + start
        page = self._client.list_objects_v2(**request)
        names = [one["Prefix"].removeprefix(whole) for one in page.get("CommonPrefixes", [])]
        objects = [one["Key"].removeprefix(whole) for one in page.get("Contents", [])[-1:]]
        last = max([*names[-1:], *objects], key=str.encode, default="")
        # A key with two slashes has a folder without a name.
        return FolderPage(tuple(name.removesuffix("/") for name in names if name != "/"), last, not page["IsTruncated"])

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Read a part of an object with a ranged GET."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Key": self.prefix + key}
        if start or length is not None:
            request["Range"] = f"bytes={start}-{'' if length is None else start + length - 1}"
        # botocore retries requests, but does not read a response again whose connection broke half way.
        again = Retrying(
            retry=retry_if_exception_type(ResponseStreamingError),
            stop=stop_after_attempt(_READS),
            wait=wait_random_exponential(multiplier=0.5, max=5),
            reraise=True,
        )
        try:
            return again(self._get, request)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _MISSING:
                raise vanished(self.root, key) from error
            raise

    def _get(self, request: dict[str, Any]) -> bytes:
        body = self._client.get_object(**request)["Body"]
        try:
            return body.read()
        except (IncompleteReadError, ReadTimeoutError) as error:
            # One class for both, because botocore has already retried a ReadTimeoutError of the request itself.
            raise ResponseStreamingError(error=error) from error

    def put(self, key: str, data: bytes) -> None:
        """Write an object; S3 shows it whole or not at all."""
        self._client.put_object(Bucket=self.bucket, Key=self.prefix + key, Body=data)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._client.delete_object(Bucket=self.bucket, Key=self.prefix + key)
