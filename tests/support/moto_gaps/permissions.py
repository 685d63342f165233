"""IAM: code that runs as a role of a stack may do what the role's policies allow, and nothing else.

moto checks nothing by default, and when told to, knows resources for S3 only. Here every call of a session of a role *that exists* is
judged; other sessions (the tests' own administrator) may do everything. Judged are the role's own policies: actions, resources, and,
for objects in a bucket with a KMS key, the right to use the key. Not judged: conditions (an Allow counts, a Deny does not),
permissions boundaries, policies of buckets and keys, Lake Formation.
"""

import json
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from moto.awslambda.exceptions import InvalidParameterValueException
from moto.awslambda.models import LambdaBackend
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.exceptions import AccessDeniedError
from moto.iam.models import Policy, iam_backends
from moto.s3.exceptions import S3AccessDeniedError
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends

from support.moto_gaps.patching import Function, around

_ALWAYS = "sts:GetCallerIdentity"
_UNKNOWN = "*"
"""In place of a resource that we cannot tell: then only the action is judged."""
_KMS = {"s3:PutObject": "kms:GenerateDataKey", "s3:GetObject": "kms:Decrypt"}


def close_gaps() -> None:
    """Judge calls of roles, and the rights without which AWS refuses an event source mapping."""

    @around(ActionAuthenticatorMixin, "_authenticate_and_authorize_action")
    def _authenticate_and_authorize_action(_original: Function, self: Any, iam_request_cls: type, resource: str = _UNKNOWN) -> None:
        role = role_of(self.current_account, self.get_access_key())
        if role is None:
            return
        service = self.headers.get("Authorization", "").partition("Credential=")[2].split("/")[3:4]
        action = f"{''.join(service)}:{self._get_action()}"
        for needed, where in _needs(self, action, resource):
            if not allows(role, needed, where):
                if action.startswith("s3:"):
                    raise S3AccessDeniedError
                raise AccessDeniedError(user_arn=role, action=f"{needed} on {where}")

    @around(LambdaBackend, "create_event_source_mapping")
    def create_event_source_mapping(original: Function, backend: Any, spec: dict[str, Any]) -> Any:
        role, source = backend.get_function(spec["FunctionName"]).role, spec["EventSourceArn"]
        actions = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes") if ":sqs:" in source else ()
        for action in actions:
            if not allows(role, action, source):
                name = action.partition(":")[2]
                raise InvalidParameterValueException(f"The function execution role may not call {name} on {source}")
        return original(backend, spec)


def role_of(account: str, access_key: str) -> str | None:
    """Return the ARN of the role that a session's access key belongs to; None when there is no such role."""
    session = sts_backends[account]["aws"].get_assumed_role_from_access_key(access_key)
    name = session.role_arn.rsplit("/", 1)[1] if session else None
    roles = iam_backends[account]["aws"].roles.values()
    return next((str(role.arn) for role in roles if role.name == name), None)


def allows(role_arn: str, action: str, resource: str) -> bool:
    """Say whether the policies of a role allow an action on a resource."""
    found = [
        one["Effect"]
        for one in _statements(role_arn)
        if _matches(one.get("Action", []), action.lower(), lower=True)
        and (resource == _UNKNOWN or _matches(one.get("Resource", []), resource))
        and not (one["Effect"] == "Deny" and one.get("Condition"))
    ]
    return "Allow" in found and "Deny" not in found


def _statements(role_arn: str) -> Iterator[dict[str, Any]]:
    backend = iam_backends[role_arn.split(":")[4]]["aws"]
    name = role_arn.rsplit("/", 1)[1]
    inline = [backend.get_role_policy(name, policy)[1] for policy in backend.list_role_policies(name)]
    attached: Iterable[Policy] = backend.get_role(name).managed_policies.values()
    for document in [*inline, *(policy.document for policy in attached)]:
        statements = (json.loads(document) if isinstance(document, str) else document)["Statement"]
        yield from statements if isinstance(statements, list) else [statements]


def _matches(patterns: str | list[str], value: str, *, lower: bool = False) -> bool:
    listed = [patterns] if isinstance(patterns, str) else patterns
    # [ and ] are ordinary characters in IAM.
    return any(fnmatchcase(value, (one.lower() if lower else one).replace("[", "[[]")) for one in listed)


def _needs(call: Any, action: str, resource: str) -> Iterator[tuple[str, str]]:
    """Return the pairs of action and resource that AWS would ask for."""
    if action == _ALWAYS:
        return
    if action.startswith("s3:"):
        yield action, resource
        yield from _key(action, resource)
    elif action.startswith("glue:"):
        yield from ((action, f"arn:aws:glue:{call.region}:{call.current_account}:{one}") for one in _of_glue(call))
    elif action.startswith("sqs:") and call._get_param("QueueUrl"):
        account, name = call._get_param("QueueUrl").split("/")[-2:]
        yield action, f"arn:aws:sqs:{call.region}:{account}:{name}"
    elif action.startswith("dms:") and action.endswith(("TableStatistics", ":StartReplication", ":StopReplication")):
        yield action, call._get_param("ReplicationConfigArn") or call._get_param("ReplicationTaskArn")
    elif action.startswith("emr-serverless:"):
        yield from _of_emr(call, action)
    elif action.startswith("secretsmanager:") and call._get_param("SecretId"):
        yield action, call._get_param("SecretId")
    else:
        yield action, _UNKNOWN


def _key(action: str, resource: str) -> Iterator[tuple[str, str]]:
    name = resource.split(":::")[-1].split("/")[0]
    bucket = s3_backends.bucket_accounts.get(name)
    if action not in _KMS or bucket is None:
        return
    encryption = s3_backends[bucket[1]]["aws"].buckets[name].encryption or {}
    rule = encryption.get("Rule", {})
    key = (rule[0] if isinstance(rule, list) else rule).get("ApplyServerSideEncryptionByDefault", {}).get("KMSMasterKeyID")
    if key:
        yield _KMS[action], key


def _of_emr(call: Any, action: str) -> Iterator[tuple[str, str]]:
    """Return the pairs of a call of EMR Serverless: a start also tags the run, and hands it a role."""
    application, run = call._get_param("applicationId"), call._get_param("jobRunId")
    arn = f"arn:aws:emr-serverless:{call.region}:{call.current_account}:/applications/{application}"
    yield action, _UNKNOWN if application is None else f"{arn}/jobruns/{run}" if run else arn
    if action.endswith(":StartJobRun"):
        yield "emr-serverless:TagResource", f"{arn}/jobruns/new"
        yield "iam:PassRole", call._get_param("executionRoleArn")


def _of_glue(call: Any) -> Iterator[str]:
    """Return the resources of a call of Glue: for the catalog it asks for the right on each level."""
    job, database = call._get_param("JobName"), call._get_param("DatabaseName")
    kind = call._get_action()
    if job:
        yield f"job/{job}"
    elif "Database" in kind:
        name = call._get_param("Name") or (call._get_param("DatabaseInput") or {}).get("Name")
        yield "catalog"
        yield f"database/{name}" if name else "database/*"
    elif database:
        table = call._get_param("Name") or call._get_param("TableName") or (call._get_param("TableInput") or {}).get("Name")
        yield "catalog"
        yield f"database/{database}"
        yield f"table/{database}/{table or '*'}"
    else:
        yield "catalog"
