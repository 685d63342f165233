"""Notifications of new objects, as S3 and SQS give them to Lambda."""

import json
from datetime import UTC, datetime
from typing import Any

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
CONFIG_URI = "s3://artifacts/config/shop.json"
FILE = "dms/shop/public/orders/2026/03/14/20260314-115959123.parquet"


def s3_record(key: str = FILE, at: datetime = NOON, *, bucket: str = "bronze", event: str = "ObjectCreated:Put") -> dict[str, Any]:
    """One record of a notification, in the shape S3 gives it."""
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "eu-central-1",
        "eventTime": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "eventName": event,
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "change-files",
            "bucket": {"name": bucket, "ownerIdentity": {"principalId": "A"}, "arn": f"arn:aws:s3:::{bucket}"},
            "object": {"key": key, "size": 1024, "eTag": "0" * 32, "sequencer": "0055AED6DCD90281E5"},
        },
    }


def s3_body(*records: dict[str, Any]) -> str:
    return json.dumps({"Records": list(records)})


def message(body: str, id_: str = "m-1", receives: int = 1) -> dict[str, Any]:
    """One message as Lambda hands it to the function."""
    return {
        "messageId": id_,
        "receiptHandle": f"handle-{id_}-{receives}",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(receives), "SentTimestamp": "1773489600000"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:shop-trigger",
        "awsRegion": "eu-central-1",
    }


def failure_body(run_id: str, at: datetime, job: str = "shop-merge") -> str:
    """What EventBridge sends when a run of a job fails."""
    detail = {"jobName": job, "severity": "ERROR", "state": "FAILED", "jobRunId": run_id, "message": "SystemExit: 1"}
    time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps({"version": "0", "source": "aws.glue", "detail-type": "Glue Job State Change", "time": time, "detail": detail})
