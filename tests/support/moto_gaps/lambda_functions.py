"""Lambda: functions run as processes of this machine, where moto wants Docker.

The zip, the handler and the environment are the function's own; its credentials are a session of its role, so that its calls go to its own
account. Python is the one of the tests, not the runtime's.

Limits of moto that stay: an event source mapping delivers inside the request that sends a message. There is no poller, no batching
window and no limit of concurrency, and a message that was not handled is tried again only when the next one arrives. Retry *timing*
cannot be tested.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.awslambda.models import LambdaBackend, LambdaFunction, lambda_backends
from moto.sqs.models import sqs_backends
from moto.sts.models import sts_backends

from support.moto_gaps.patching import Function, around

_PASSED_ON = ("PATH", "HOME", "LANG")
_BOOTSTRAP = """
import importlib, json, os, sys
module, function = sys.argv[1].rsplit(".", 1)
sys.path.insert(0, os.getcwd())
class Context:
    function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
    aws_request_id, invoked_function_arn, memory_limit_in_mb = "request-1", sys.argv[2], int(sys.argv[3])
    log_group_name = log_stream_name = "tests"
    def get_remaining_time_in_millis(self):
        return 30000
real, sys.stdout = sys.stdout, sys.stderr
answer = getattr(importlib.import_module(module.replace("/", ".")), function)(json.load(sys.stdin), Context())
real.write(json.dumps(answer))
"""
_endpoints: list[str] = []


@contextmanager
def endpoint(url: str) -> Iterator[None]:
    """Say where the server is that functions call back to; afterwards it is the one from before again."""
    _endpoints.append(url)
    try:
        yield
    finally:
        _endpoints.remove(url)


def credentials(role_arn: str, region: str) -> dict[str, str]:
    """Return environment variables with a session of a role, as Lambda and Glue hand them to the code they run."""
    session = sts_backends[role_arn.split(":")[4]]["aws"].assume_role(
        region_name=region, role_session_name="tests", role_arn=role_arn, policy="", duration=3600, external_id=""
    )
    return {
        "AWS_ACCESS_KEY_ID": session.access_key_id,
        "AWS_SECRET_ACCESS_KEY": session.secret_access_key,
        "AWS_SESSION_TOKEN": session.session_token,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": _endpoints[-1],
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def close_gaps() -> None:
    """Run functions, hand batches over as AWS does, honour ReportBatchItemFailures, and keep the logging configuration."""
    _logging_configuration()

    @around(LambdaFunction, "_invoke_lambda")
    def _invoke_lambda(_original: Function, function: Any, event: Any = None) -> tuple[str, bool, str]:
        function.logs_backend.ensure_log_group(function.logs_group_name)
        code, output, errors = _run(function, event)
        function.save_logs(errors or "START")
        if code:
            output = json.dumps({"errorMessage": (errors.strip().splitlines() or ["?"])[-1], "errorType": "Error"})
        return output, code != 0, errors

    @around(LambdaBackend, "send_sqs_batch")
    def send_sqs_batch(_original: Function, backend: Any, function_arn: str, messages: list[Any], queue_arn: str) -> bool:
        # moto invokes once a message and knows all or nothing; AWS invokes once a batch and takes the failed ones from the answer.
        if not messages:
            return True
        headers: dict[str, Any] = {}
        answer = backend.invoke(function_arn, None, json.dumps(_sqs_event(messages, queue_arn, backend.region_name)), {}, headers)
        if "x-amz-function-error" in headers:
            return False
        mapping = next((one for one in backend._event_source_mappings.values() if one.event_source_arn == queue_arn), None)
        if not mapping or "ReportBatchItemFailures" not in (mapping.function_response_types or []):
            return True
        failed = {one["itemIdentifier"] for one in (json.loads(answer or "null") or {}).get("batchItemFailures", [])}
        account, name = queue_arn.split(":")[4:6]
        for message in [one for one in messages if one.id not in failed]:
            sqs_backends[account][backend.region_name].delete_message(name, message.receipt_handle)
            messages.remove(message)
        return not messages


def _logging_configuration() -> None:
    """Without it every second plan of ``aws_lambda_function`` wants to set it again."""

    @around(LambdaFunction, "__init__")
    def init(original: Function, function: Any, **given: Any) -> None:
        function.logging = given["spec"].get("LoggingConfig")
        original(function, **given)

    @around(LambdaFunction, "get_configuration")
    def get_configuration(original: Function, function: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        found: dict[str, Any] = original(function, *arguments, **named)
        return found | ({"LoggingConfig": function.logging} if function.logging else {})

    @around(LambdaFunction, "update_configuration")
    def update_configuration(original: Function, function: Any, updates: dict[str, Any]) -> Any:
        function.logging = updates.get("LoggingConfig", function.logging)
        return original(function, updates)


def _run(function: Any, event: Any) -> tuple[int, str, str]:
    """Run the handler; returns exit code, answer, and log."""
    environment = {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "AWS_LAMBDA_FUNCTION_NAME": function.function_name,
        **credentials(function.role, function.region),
        **{name: str(value) for name, value in (function.environment_vars or {}).items()},
    }
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(function.code_bytes)) as archive:
            archive.extractall(folder)
        command = [sys.executable, "-c", _BOOTSTRAP, function.handler, function.function_arn, str(function.memory_size)]
        given = event if isinstance(event, str) else json.dumps(event)
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                input=given,
                capture_output=True,
                text=True,
                timeout=int(function.timeout),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 1, "", f"Task timed out after {function.timeout} seconds"
    return done.returncode, done.stdout, done.stderr


def _sqs_event(messages: list[Any], queue_arn: str, region: str) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": message.id,
                "receiptHandle": message.receipt_handle,
                "body": message.body,
                "md5OfBody": message.body_md5,
                "messageAttributes": {},
                "attributes": {"ApproximateReceiveCount": str(message.approximate_receive_count)},
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": region,
            }
            for message in messages
        ]
    }


def deliver_waiting(queue_arn: str) -> None:
    """Hand the messages that wait in a queue to its functions, as Lambda's poller does once they are visible again."""
    region, account, name = queue_arn.split(":")[3:6]
    backend = sqs_backends[account][region]
    queue: Any = backend.queues[name]
    for message in queue._messages:
        message.change_visibility(0)
        message.delayed_until = 0.0
    for function_arn, mapping in queue.lambda_event_source_mappings.items():
        messages = backend.receive_message(name, mapping.batch_size, 0, queue.visibility_timeout)
        if lambda_backends[account][region].send_sqs_batch(function_arn, messages, queue_arn):
            for message in messages:
                backend.delete_message(name, message.receipt_handle)
