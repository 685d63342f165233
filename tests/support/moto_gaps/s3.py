"""S3: bucket policies with conditions."""

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

from support.moto_gaps.patching import Function, around


def close_gaps() -> None:
    """Patch ``aws_s3_bucket_policy``."""

    @around(FakeBucket, "get_permission")
    def get_permission(_original: Function, bucket: FakeBucket, action: str, resource: str) -> Any:
        # moto takes a Deny with a Condition for a Deny of everything: the usual "only over TLS" locks every object. Here
        # statements with a condition are not enforced at all, so nothing in these tests shows that they work.
        if bucket.policy is None:
            return PermissionResult.NEUTRAL
        document = json.loads(bucket.policy)
        statements = document["Statement"]
        document["Statement"] = [one for one in (statements if isinstance(statements, list) else [statements]) if not one.get("Condition")]
        return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)
