"""S3 and KMS: a policy of a bucket or key that refuses its deletion is obeyed.

moto asks the policy of a bucket for its objects only, and that of a key never. Judged here are statements without a condition that
refuse a deletion to everybody.
"""

import json
from typing import Any

from moto.kms.exceptions import AccessDeniedException
from moto.kms.responses import KmsResponse
from moto.s3.exceptions import S3AccessDeniedError
from moto.s3.responses import S3Response

from support.moto_gaps.patching import Function, around


def close_gaps() -> None:
    """Patch the end of ``aws_s3_bucket``, ``aws_s3_bucket_policy`` and ``aws_kms_key``."""
    for method, action in (("delete_bucket", "s3:DeleteBucket"), ("delete_bucket_policy", "s3:DeleteBucketPolicy")):

        @around(S3Response, method)
        def delete(original: Function, response: Any, action: str = action) -> Any:
            bucket = response.backend.head_bucket(response.bucket_name)
            if bucket.policy and _refuses(bucket.policy, action):
                raise S3AccessDeniedError
            return original(response)

    @around(KmsResponse, "schedule_key_deletion")
    def schedule_key_deletion(original: Function, response: Any) -> Any:
        if _refuses(response.kms_backend.get_key_policy(response._get_param("KeyId")), "kms:ScheduleKeyDeletion"):
            raise AccessDeniedException("with an explicit deny in a resource-based policy")
        return original(response)


def _refuses(policy: str | bytes, action: str) -> bool:
    statements = json.loads(policy)["Statement"]
    for one in statements if isinstance(statements, list) else [statements]:
        actions = one.get("Action", [])
        everybody = one.get("Principal") in ("*", {"AWS": "*"})
        if (
            one["Effect"] == "Deny"
            and everybody
            and not one.get("Condition")
            and action in ([actions] if isinstance(actions, str) else actions)
        ):
            return True
    return False
