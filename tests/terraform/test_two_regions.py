"""One pipeline in two Regions of an account: the names that all Regions share do not collide where the second one has a suffix.

The example without DMS, whose two roles the module's own tests look at: it makes buckets and the roles of job and function.
"""

from typing import TYPE_CHECKING, Any

import pytest

from support.terraform.binary import TerraformError
from support.terraform.example_stacks import World, bring_your_own_dms, task_of_others
from support.terraform.stack import Stack

if TYPE_CHECKING:
    from support.local_aws import LocalAws

pytestmark = [pytest.mark.release, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def found(terraform: None, aws: "LocalAws", tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    account, found = aws.new_account(), {}
    for region in ("us-east-1", "eu-central-1"):
        world = World(aws, account, account, tmp_path_factory.mktemp(region))
        stack = Stack("examples/bring-your-own-dms", world.folder, aws, account, region=region)
        if region == "us-east-1":
            variables = bring_your_own_dms(world)
        else:
            variables |= task_of_others(aws.client("dms", account, region), account, variables["bronze_bucket"])
            with pytest.raises(TerraformError) as refused:
                stack.apply(**variables)
            found["without a suffix"] = str(refused.value)
            stack.override("region", 'module "pipeline" {\n  region_suffix = "euc1"\n}\n')
        found[region] = stack.apply(**variables)["pipeline"] | {"second plan": stack.drift()}
    found["roles"] = sorted(one["RoleName"] for one in aws.client("iam", account).list_roles()["Roles"])
    found["buckets"] = sorted(one["Name"] for one in aws.client("s3", account).list_buckets()["Buckets"])
    return found | {"account": account}


def test_without_a_suffix_the_second_region_is_refused(found: dict[str, Any]) -> None:
    assert "EntityAlreadyExists" in found["without a suffix"]


def test_both_regions_have_roles_and_buckets_of_their_own(found: dict[str, Any]) -> None:
    assert found["roles"] == ["legacy-merge", "legacy-merge-euc1", "legacy-trigger", "legacy-trigger-euc1"]
    created = [f"legacy-{role}-{found['account']}" for role in ("silver", "quarantine", "artifacts")]
    assert set(found["buckets"]) == {*created, *(f"{name}-euc1" for name in created), f"exports-{found['account']}"}


def test_all_other_names_are_the_same(found: dict[str, Any]) -> None:
    first, second = found["us-east-1"], found["eu-central-1"]
    assert first["merge_job"]["name"] == second["merge_job"]["name"] == "legacy-merge"
    assert first["targets"] == second["targets"]
    assert first["trigger"]["queue"]["name"] == second["trigger"]["queue"]["name"]
    assert ":us-east-1:" in first["trigger"]["queue"]["arn"] and ":eu-central-1:" in second["trigger"]["queue"]["arn"]


def test_second_plans_are_empty(found: dict[str, Any]) -> None:
    assert (found["us-east-1"]["second plan"], found["eu-central-1"]["second plan"]) == ([], [])
