"""Small modules applied alone, through pytest-terraform; what the API then says is compared with what the module promises.

The plugin takes a folder below `roots/` per fixture. What it cannot do (variables, a second plan, a change, stacks side by side, more than
one instance of a resource) is what `support.terraform.stack` is for.
"""

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from support.terraform.binary import missing, quiet_environment, write_cli_configuration
from support.terraform.tree import ROOT, copy_tree

if missing() is None:
    from pytest_terraform import terraform, tf
else:  # Without Terraform there is no plugin, hence no fixtures of it: the tests are skipped, or fail where they must not be.

    def terraform(*_: Any, **__: Any) -> Any:
        def without_arguments(_function: Any) -> Any:
            def test() -> None:
                raise AssertionError("the fixture `terraform` lets nothing come here")

            return test

        return without_arguments


if TYPE_CHECKING:
    from support.local_aws import LocalAws

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("terraform", "account")]


@pytest.fixture(scope="module", autouse=True)
def account(aws: "LocalAws", tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Point the plugin at a copy of the roots, and what it starts at an account of the local AWS."""
    folder, number = tmp_path_factory.mktemp("roots"), aws.new_account()
    copy_tree(folder)
    roots = shutil.copytree(ROOT / "tests" / "terraform" / "roots", folder / "tests" / "terraform" / "roots")
    write_cli_configuration(folder / "terraform.rc")
    variables = quiet_environment() | aws.environment(number) | {"TF_CLI_CONFIG_FILE": str(folder / "terraform.rc")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr(tf.LazyModuleDir, "value", str(roots))
        yield number


@terraform("account", scope="module", name="dms_account_roles")
def test_roles_of_the_account_are_those_that_dms_looks_for(dms_account_roles: Any, aws: "LocalAws", account: str) -> None:
    iam = aws.client("iam", account)
    found = {
        role["RoleName"]: [
            policy["PolicyName"] for policy in iam.list_attached_role_policies(RoleName=role["RoleName"])["AttachedPolicies"]
        ]
        for role in iam.list_roles()["Roles"]
    }
    assert found == {
        "dms-cloudwatch-logs-role": ["AmazonDMSCloudWatchLogsRole"],
        "dms-vpc-role": ["AmazonDMSVPCManagementRole"],
    }
    arns = {role["RoleName"]: role["Arn"] for role in iam.list_roles()["Roles"]}
    assert dms_account_roles.outputs["role_arns"]["value"] == arns


@terraform("source-parameters", scope="module", name="source_parameters")
def test_parameter_groups_have_the_values_that_dms_needs(source_parameters: Any, aws: "LocalAws", account: str) -> None:
    rds = aws.client("rds", account)
    groups = source_parameters.outputs["groups"]["value"]
    assert {engine for engine, group in groups.items() if group["cluster"]} == {"aurora-postgresql", "aurora-mysql"}
    for group in groups.values():
        if group["instance"]:
            found = rds.describe_db_parameters(DBParameterGroupName=group["instance"])["Parameters"]
        else:
            found = rds.describe_db_cluster_parameters(DBClusterParameterGroupName=group["cluster"])["Parameters"]
        assert {one["ParameterName"]: one["ParameterValue"] for one in found} == group["wanted"]
    assert groups["aurora-postgresql"]["wanted"]["rds.logical_replication"] == "1"
    assert groups["mysql"]["wanted"]["binlog_format"] == "ROW"


@terraform("overview", scope="module", name="overview")
def test_dashboard_of_many_pipelines_shows_alarms_and_metrics_that_are_there(overview: Any, aws: "LocalAws", account: str) -> None:
    cloudwatch, logs = aws.client("cloudwatch", account), aws.client("logs", account)
    body = cloudwatch.get_dashboard(DashboardName=overview.outputs["dashboard_name"]["value"])["DashboardBody"]
    widgets = json.loads(body)["widgets"]
    shown = {one["properties"]["title"]: one["properties"]["alarms"] for one in widgets if one["type"] == "alarm"}
    assert sorted(shown) == ["billing", "shop"]
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    assert sorted(arn for arns in shown.values() for arn in arns) == sorted(one["AlarmArn"] for one in alarms)
    counted = {
        (one["metricNamespace"], one["metricName"])
        for found in logs.describe_metric_filters()["metricFilters"]
        for one in found["metricTransformations"]
    }
    graphs = [[(namespace, metric) for namespace, metric, _ in one["properties"]["metrics"]] for one in widgets if one["type"] == "metric"]
    assert len(graphs) == 6
    assert all({namespace for namespace, _ in graph} == {"dms-iceberg/billing", "dms-iceberg/shop"} for graph in graphs)
    assert {line for graph in graphs for line in graph} <= counted
