"""What destroys data elsewhere does not here: `terraform destroy`, a changed tag, a table or model that leaves the configuration.

Two stacks on the local AWS, side by side since the provider mostly waits: a pipeline beside the roles of its account, and the module lake
alone. Each goes through all steps once; the tests look at what was found on the way. That policies are obeyed is moto's answer for objects
and ours for the rest (`support.moto_gaps.guards`).
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from support.terraform.binary import TerraformError
from support.terraform.example_stacks import World, minimal
from support.terraform.stack import Stack

if TYPE_CHECKING:
    from support.local_aws import LocalAws

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

ROLES = """
variable "roles_tag" {
  type    = string
  default = "first"
}

module "dms_account_roles" {
  source = "../../modules/dms-account-roles"
  tags   = { team = var.roles_tag }
}
"""
ORDERS = {"public.orders": {"key": ["order_id"]}}
ARCHIVE = {"archive.orders": {"key": ["order_id"], "target": "shop_archive.orders"}}
GOLD = {"shop_gold.daily": {"sql": "SELECT order_id FROM shop.orders"}}
RAW = {"public.orders": {"key": ["order_id"], "columns": [{"name": "order_id", "type": "bigint"}]}}
LAKE = """
variable "encryption" {
  type    = string
  default = "SSE_KMS"
}

variable "silver" {
  type    = string
  default = null
}

module "lake" {
  source = "../../modules/lake"

  name          = "shop"
  bronze_prefix = "dms/shop/"
  databases     = { silver = ["shop", "shop_gold"], quarantine = "shop_quarantine" }
  encryption    = { mode = var.encryption }
  buckets       = { silver = { name = var.silver } }
}

output "reader_policy" {
  value = module.lake.reader_policy
}
"""
HOLDS_DATA = {"aws_s3_bucket", "aws_kms_key", "aws_glue_catalog_database"}


@attrs.define
class Story:
    """What the steps found."""

    account: str
    plans: dict[str, dict[str, list[str]]] = attrs.field(factory=dict)
    """By step: what a plan would do to an address."""
    refusals: dict[str, str] = attrs.field(factory=dict)
    lake: dict[str, Any] = attrs.field(factory=dict)
    """The lake after two destroys of the whole stack."""
    rules: dict[str, Any] = attrs.field(factory=dict)
    """What expires in the silver bucket, by the name of the rule."""
    objects: dict[str, str] = attrs.field(factory=dict)
    """By bucket: the key that its object was written with."""
    aliases: dict[str, str] = attrs.field(factory=dict)
    """ARNs of keys, by their alias."""
    reader: list[Any] = attrs.field(factory=list)
    """The keys that the policy of readers names."""
    keys: dict[str, str] = attrs.field(factory=dict)
    """State of each key, by its alias, after it was to be deleted."""
    addresses: dict[str, set[str]] = attrs.field(factory=dict)
    policies: dict[str, list[str]] = attrs.field(factory=dict)
    """Statements of the buckets' policies once `force_destroy` was applied."""
    databases: list[str] = attrs.field(factory=list)
    buckets: list[str] = attrs.field(factory=list)


@pytest.fixture(scope="module")
def stories(terraform: None, aws: "LocalAws", tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    worlds = {}
    for name in ("pipeline", "lake"):
        folder = tmp_path_factory.mktemp(name)
        worlds[name] = World(aws, aws.new_account(), aws.new_account(), folder)
    with ThreadPoolExecutor(2) as threads:
        found = {name: threads.submit(play, worlds[name]) for name, play in (("pipeline", _pipeline), ("lake", _lake))}
        return {name: one.result() for name, one in found.items()}


def _pipeline(world: World) -> Story:
    story, stack = Story(world.account), Stack("examples/minimal", world.folder, world.aws, world.account)
    (stack.folder / "roles.tf").write_text(ROLES)
    stack.run("init", "-input=false")
    _call(stack, tables=ORDERS | ARCHIVE, gold=GOLD, bronze_tables=RAW)
    stack.apply(**minimal(world))
    _put_objects(world, stack.outputs()["pipeline"]["buckets"])
    story.plans["roles"] = _changes(stack, roles_tag="second")
    main = (stack.folder / "main.tf").read_text()
    (stack.folder / "main.tf").write_text(main.replace('"shop"\n', '"shop"\n  depends_on = [module.dms_account_roles]\n', 1))
    story.refusals["depends_on"] = _refused(stack, "apply", "-var=roles_tag=second")
    (stack.folder / "main.tf").write_text(main)

    _call(stack, tables=ORDERS, tags={"team": "data"})
    story.plans["removed"] = _changes(stack)
    story.addresses["before"] = set(stack.resources())
    story.refusals["pipeline"] = _refused(stack, "destroy")
    story.addresses["after"] = set(stack.resources())

    # In one apply: what was removed goes, and the whole may go next.
    _call(stack, tables=ORDERS, tags={"team": "data"}, force_destroy=True)
    stack.apply()
    story.databases = sorted(one["Name"] for one in world.client("glue").get_databases()["DatabaseList"])
    story.plans["after removal"] = _changes(stack)
    story.policies = {role: _refusals(world, bucket["name"]) for role, bucket in stack.outputs()["pipeline"]["buckets"].items()}
    return story


def _lake(world: World) -> Story:
    story, stack = Story(world.account), Stack("examples/minimal", world.folder, world.aws, world.account)
    for name in ("variables.tf", "outputs.tf"):
        (stack.folder / name).unlink()
    (stack.folder / "main.tf").write_text(LAKE)
    stack.run("init", "-input=false")
    stack.apply()
    story.plans["second"] = _changes(stack)
    buckets = {role: {"name": f"shop-{role}-{world.account}"} for role in ("silver", "bronze", "quarantine", "artifacts")}
    _put_objects(world, buckets)
    story.objects = _keys_of_objects(world, buckets)
    story.aliases = {name: key["Arn"] for name, key in _keys(world).items()}
    story.reader = [one["Resource"] for one in json.loads(stack.outputs()["reader_policy"])["Statement"] if one["Sid"] == "DecryptTables"]
    rules = world.client("s3").get_bucket_lifecycle_configuration(Bucket=buckets["silver"]["name"])["Rules"]
    story.rules = {one["ID"]: one["Expiration"] for one in rules if "Expiration" in one}

    (stack.folder / "main.tf").write_text("")
    story.refusals["call removed"] = _refused(stack, "apply")
    (stack.folder / "main.tf").write_text(LAKE)
    story.refusals["lake"] = _refused(stack, "destroy")
    story.lake = _state_of(world, buckets["silver"]["name"])
    story.plans["repaired"] = _changes(stack)
    story.refusals["key"] = _refused(stack, "apply", "-target=module.lake.aws_kms_key.this", "-var=encryption=SSE_S3")
    story.keys = {name: key["KeyState"] for name, key in _keys(world).items()}
    story.refusals["another name"] = _refused(stack, "apply", "-var=silver=another-name")

    # The data stays, Terraform forgets it.
    stack.run("state", "rm", "module.lake")
    stack.destroy()
    story.buckets = [one["Name"] for one in world.client("s3").list_buckets()["Buckets"]]
    return story


def _call(stack: Stack, **given: Any) -> None:
    roles = "  account_role_arns = module.dms_account_roles.role_arns\n"
    given = {"replication": {"start": False}} | given
    arguments = "".join(f"  {name} = {json.dumps(value)}\n" for name, value in given.items())
    stack.override("call", f'module "pipeline" {{\n{roles}{arguments}}}\n')


def _changes(stack: Stack, **variables: str) -> dict[str, list[str]]:
    options = [option for name, value in variables.items() for option in ("-var", f"{name}={value}")]
    found = stack.plan(*options)["resource_changes"]
    return {one["address"]: one["change"]["actions"] for one in found if one["change"]["actions"] not in (["no-op"], ["read"])}


def _refused(stack: Stack, command: str, *options: str) -> str:
    with pytest.raises(TerraformError) as refused:
        stack.run(command, "-auto-approve", "-input=false", *options)
    return str(refused.value)


def _put_objects(world: World, buckets: dict[str, dict[str, str]]) -> None:
    for role in ("bronze", "silver", "quarantine"):
        world.client("s3").put_object(Bucket=buckets[role]["name"], Key="shop/orders/data.parquet", Body=b"rows")


def _keys_of_objects(world: World, buckets: dict[str, dict[str, str]]) -> dict[str, str]:
    head = world.client("s3").head_object
    return {
        role: head(Bucket=buckets[role]["name"], Key="shop/orders/data.parquet")["SSEKMSKeyId"]
        for role in ("bronze", "silver", "quarantine")
    }


def _state_of(world: World, bucket: str) -> dict[str, Any]:
    s3, key = world.client("s3"), _keys(world)["alias/shop-lake"]
    rule = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"][0]
    return {
        "key": key["KeyState"],
        "encrypted with it": rule["ApplyServerSideEncryptionByDefault"]["KMSMasterKeyID"] == key["Arn"],
        "databases": sorted(one["Name"] for one in world.client("glue").get_databases()["DatabaseList"]),
        "refuses": _refusals(world, bucket),
        "closed": all(s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"].values()),
        "versioned": s3.get_bucket_versioning(Bucket=bucket)["Status"],
        "object": s3.get_object(Bucket=bucket, Key="shop/orders/data.parquet")["Body"].read(),
    }


def _refusals(world: World, bucket: str) -> list[str]:
    policy = json.loads(world.client("s3").get_bucket_policy(Bucket=bucket)["Policy"])
    return [one["Sid"] for one in policy["Statement"] if one["Effect"] == "Deny"]


def _keys(world: World) -> dict[str, dict[str, Any]]:
    """The keys that have an alias, by it."""
    kms = world.client("kms")
    aliases = {
        one["AliasName"]: one.get("TargetKeyId") for one in kms.list_aliases()["Aliases"] if not one["AliasName"].startswith("alias/aws/")
    }
    return {name: kms.describe_key(KeyId=key)["KeyMetadata"] for name, key in aliases.items()}


def _kind(address: str) -> str:
    return next(part for part in address.split(".") if part.startswith(("aws_", "terraform_data")))


@pytest.fixture
def pipeline(stories: dict[str, Story]) -> Story:
    return stories["pipeline"]


@pytest.fixture
def lake(stories: dict[str, Story]) -> Story:
    return stories["lake"]


def test_second_plan_of_a_lake_is_empty(lake: Story) -> None:
    assert lake.plans["second"] == {}


def test_of_current_objects_only_markers_of_deleted_ones_expire(lake: Story) -> None:
    assert lake.rules == {"replaced-and-deleted": {"ExpiredObjectDeleteMarker": True}}


def test_tag_of_the_accounts_roles_changes_nothing_else(pipeline: Story) -> None:
    assert pipeline.plans["roles"] == {
        f'module.dms_account_roles.aws_iam_role.this["{name}"]': ["update"] for name in ("dms-cloudwatch-logs-role", "dms-vpc-role")
    }


def test_depends_on_of_a_module_is_refused_instead_of_replacing_the_lake(pipeline: Story) -> None:
    assert "Invalid for_each argument" in pipeline.refusals["depends_on"]


def test_removed_tables_models_and_namespaces_delete_nothing_that_holds_data(pipeline: Story) -> None:
    removed = pipeline.plans["removed"]
    assert {address for address, actions in removed.items() if "delete" in actions and _kind(address) in HOLDS_DATA} == set()
    # The plan sees the changed tag and the removed tables.
    assert {_kind(address) for address, actions in removed.items() if actions == ["update"]} >= HOLDS_DATA
    assert {_kind(address) for address, actions in removed.items() if actions == ["delete"]} == {"aws_glue_catalog_table"}
    # These hold nothing: they stand for the changed replication, and for the call of the trigger after it.
    assert {_kind(address) for address, actions in removed.items() if actions == ["delete", "create"]} == {
        "aws_lambda_invocation",
        "terraform_data",
    }


def test_databases_stay_when_their_tables_have_left_the_configuration(pipeline: Story) -> None:
    assert pipeline.databases == ["shop", "shop_archive", "shop_bronze", "shop_gold", "shop_quarantine"]
    assert pipeline.plans["after removal"] == {}


def test_destroy_of_a_pipeline_is_refused_before_anything_is_destroyed(pipeline: Story) -> None:
    assert "aws_s3_object" in pipeline.refusals["pipeline"] or "S3 Object" in pipeline.refusals["pipeline"]
    assert pipeline.addresses["after"] == pipeline.addresses["before"]
    assert "module.pipeline.aws_s3_object.destroy_guard[0]" in pipeline.addresses["after"]


def test_nothing_is_refused_after_force_destroy(pipeline: Story) -> None:
    """That a destroy then leaves nothing is what the examples show at their end."""
    assert pipeline.policies == {role: ["DenyPlainHttp"] for role in ("bronze", "silver", "quarantine", "artifacts")}


def test_destroy_of_a_lake_is_refused_before_what_protects_its_content_is_destroyed(lake: Story) -> None:
    for step in ("call removed", "lake", "another name"):
        assert "deleting S3 Bucket" in lake.refusals[step]
        assert "AccessDenied" in lake.refusals[step]
    assert lake.lake == {
        "key": "Enabled",
        "encrypted with it": True,
        "databases": ["shop", "shop_gold", "shop_quarantine"],
        "refuses": ["DenyPlainHttp", "RefuseToDestroy"],
        "closed": True,
        "versioned": "Enabled",
        "object": b"rows",
    }
    # What the next apply puts back: rules by which objects expire.
    assert {_kind(address): actions for address, actions in lake.plans["repaired"].items()} == {
        "aws_s3_bucket_lifecycle_configuration": ["create"]
    }


def test_keys_that_objects_need_are_not_deleted_with_another_encryption(lake: Story) -> None:
    assert lake.refusals["key"].count("deleting KMS Key") == 2
    assert lake.keys == {"alias/shop-lake": "Enabled", "alias/shop-unmasked": "Enabled"}


def test_unmasked_rows_have_a_key_that_readers_lack(lake: Story) -> None:
    silver, unmasked = lake.aliases["alias/shop-lake"], lake.aliases["alias/shop-unmasked"]
    assert silver != unmasked
    assert lake.objects == {"silver": silver, "bronze": unmasked, "quarantine": unmasked}
    assert lake.reader == [[silver]]


def test_content_stays_when_terraform_forgets_it(lake: Story) -> None:
    assert sorted(lake.buckets) == sorted(f"shop-{role}-{lake.account}" for role in ("silver", "bronze", "quarantine", "artifacts"))
