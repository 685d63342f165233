"""Gaps of moto that `support.moto_gaps` closes, as a client of AWS sees them: all services but DMS and Lambda. No Terraform."""

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from support.local_aws import LocalAws


def test_stale_version_of_a_glue_table_is_refused(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_database(DatabaseInput={"Name": "d"})
    glue.create_table(DatabaseName="d", TableInput={"Name": "t"})
    version = glue.get_table(DatabaseName="d", Name="t")["Table"]["VersionId"]
    glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)
    with pytest.raises(ClientError, match="ConcurrentModificationException"):
        glue.update_table(DatabaseName="d", TableInput={"Name": "t"}, VersionId=version)


def test_connection_can_be_changed_and_deleted(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    made = {"Name": "c", "ConnectionType": "NETWORK", "ConnectionProperties": {}}
    glue.create_connection(ConnectionInput=made)
    glue.update_connection(Name="c", ConnectionInput=made | {"Description": "to the database"})
    found = glue.get_connection(Name="c")["Connection"]
    assert (found["ConnectionType"], found["Description"]) == ("NETWORK", "to the database")
    glue.delete_connection(ConnectionName="c")
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        glue.delete_connection(ConnectionName="c")


def test_trigger_can_be_changed_and_a_run_stopped(aws: "LocalAws", account: str) -> None:
    glue = aws.client("glue", account)
    glue.create_job(Name="j", Role="r", Command={"Name": "glueetl"})
    glue.create_trigger(Name="t", Type="SCHEDULED", Schedule="cron(0 * * * ? *)", Actions=[{"JobName": "j"}])
    glue.update_trigger(Name="t", TriggerUpdate={"Schedule": "cron(30 * * * ? *)"})
    assert glue.get_trigger(Name="t")["Trigger"]["Schedule"] == "cron(30 * * * ? *)"
    run = glue.start_job_run(JobName="j")["JobRunId"]
    glue.batch_stop_job_run(JobName="j", JobRunIds=[run])
    assert glue.get_job_run(JobName="j", RunId=run)["JobRun"]["JobRunState"] == "STOPPED"
