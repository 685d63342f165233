"""``doctor`` on the local AWS: what is there is right; a missing bucket, secret or queue is wrong, with what to do."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from support.aws import aws_server
from support.commands import run_command


def document(salt: str, **changed: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": "s3://bronze/dms/shop/"},
        "state_uri": "s3://artifacts/shop/",
        "catalog": {"name": "lake", "type": "glue", "warehouse": "s3://silver/"},
        "tables": {
            "public.orders": {
                "target": "silver.orders",
                "key": ["id"],
                "columns": [{"name": "v", "mask": "sha256", "mask_salt": f"secret:{salt}"}],
            }
        },
        **changed,
    }


def test_each_part_is_right_or_wrong_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with aws_server() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        clients = {name: boto3.client(name) for name in _SERVICES}
        for bucket in ("bronze", "artifacts", "silver"):
            clients["s3"].create_bucket(Bucket=bucket)
        clients["s3"].put_object(Bucket="bronze", Key="dms/shop/public/orders/LOAD00000001.parquet", Body=b"PAR1")
        salt = clients["secretsmanager"].create_secret(Name="salt", SecretString="unseen")["ARN"]
        clients["glue"].create_database(DatabaseInput={"Name": "silver", "LocationUri": "s3://silver/silver"})
        clients["glue"].create_database(DatabaseInput={"Name": "quarantine", "LocationUri": "s3://gone/quarantine"})
        queue = clients["sqs"].create_queue(QueueName="watch")["QueueUrl"]
        clients["sqs"].send_message(QueueUrl=queue, MessageBody="{}")
        found = _examined(tmp_path, document(salt), environment, queue)
        shown = json.dumps(found)
        assert {name: one["verdict"] for name, one in found.items() if name.partition(" ")[0] not in ("packages", "namespace")} == {
            "bronze": "ok",
            "run state": "ok",
            "clock": "ok",
            f"salt secret:{salt}": "ok",
            "queue": "ok",
            "runtime": "ok",
            "files of silver": "ok",
            "files of quarantine": "wrong",
        }
        assert "NoSuchBucket" in found["files of quarantine"]["found"]
        assert "unseen" not in shown
        assert clients["s3"].list_objects_v2(Bucket="silver")["KeyCount"] == 0
        assert clients["sqs"].receive_message(QueueUrl=queue)["Messages"]

        clients["secretsmanager"].delete_secret(SecretId="salt", ForceDeleteWithoutRecovery=True)
        found = _examined(tmp_path, document(salt, bronze={"uri": "s3://nowhere/"}), environment, f"{queue}-gone")
        verdicts = {name: found[name]["verdict"] for name in ("bronze", "run state", f"salt secret:{salt}", "queue")}
        assert verdicts == {"bronze": "wrong", "run state": "ok", f"salt secret:{salt}": "wrong", "queue": "wrong"}
        assert "s3:ListBucket" in found["bronze"]["advice"]


_SERVICES = ("s3", "secretsmanager", "glue", "sqs")


def _examined(folder: Path, text: dict[str, Any], environment: dict[str, str], queue: str) -> dict[str, Any]:
    path = folder / "shop.json"
    path.write_text(json.dumps(text))
    report = run_command("doctor", str(path), "--queue", queue, environment=environment, code=1)
    assert report["ok"] is False
    return {one["subject"]: one for one in report["findings"]}
