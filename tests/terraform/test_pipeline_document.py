"""What the root module gives the job: the document is one that `dms-iceberg validate` accepts, the Spark settings are the job's own.

Both are taken from the plans of the module's own tests, so nothing is applied. What a real `apply` leaves in S3 and Glue is looked at by
the tests of the examples.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from dms_iceberg.config.load import load_config
from dms_iceberg.spark.session import session_settings
from support.terraform.root import TESTS, copy_root, terraform

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500), pytest.mark.usefixtures("terraform")]

STATIC = ("spark.sql.extensions", "spark.scheduler.mode", "spark.sql.catalog.", "spark.sql.ui.", "spark.ui.")
"""How settings of the job begin that nothing can change once a session exists, or once its catalog is used."""


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What `terraform test` says of the module, with its plans."""
    root = copy_root(tmp_path_factory.mktemp("pipeline"))
    terraform(root, root, "init", "-backend=false", "-input=false", f"-test-directory={TESTS}")
    said = terraform(root, root, "test", "-json", "-verbose", f"-test-directory={TESTS}")
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def planned(tested: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The outputs of every run in `pipeline.tftest.hcl`, by name."""
    return {
        line["@testrun"]: {name: change.get("after") for name, change in line["test_plan"]["output_changes"].items()}
        for line in tested
        if line["type"] == "test_plan" and line["@testfile"].endswith("/pipeline.tftest.hcl")
    }


def test_own_tests(tested: list[dict[str, Any]]) -> None:
    (summary,) = (line["test_summary"] for line in tested if line["type"] == "test_summary")
    assert (summary["status"], summary["failed"], summary["errored"]) == ("pass", 0, 0)
    assert summary["passed"] > 40


def test_every_document_is_valid(planned: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    assert set(planned) >= {"few_inputs", "everything", "somebody_elses_dms"}
    for name, outputs in planned.items():
        path = tmp_path / f"{name}.json"
        path.write_text(outputs["config_json"])
        config = load_config(str(path))
        assert {table.source: table.target for table in config.tables.values()} == outputs["targets"]
        assert config.bronze.uri == outputs["bronze_uri"].rstrip("/")
        assert config.quarantine.namespace == outputs["quarantine_database"]
        assert config.state_uri == outputs["merge_job"]["state_uri"].rstrip("/")


def test_spark_settings_of_the_job_are_the_jobs_own(
    planned: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name, outputs in planned.items():
        path = tmp_path / f"{name}.json"
        path.write_text(outputs["config_json"])
        wanted = session_settings(load_config(str(path)))
        given = dict(text.split("=", 1) for text in outputs["merge_job"]["arguments"]["--conf"].split(" --conf "))
        assert given.keys() == {key for key in wanted if key.startswith(STATIC)}
        assert given == {key: wanted[key] for key in given}
