"""One module or example, applied to the local AWS in a copy of its folder."""

import json
import re
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock

from support.local_aws import LocalAws
from support.terraform.binary import quiet_environment, run, write_cli_configuration
from support.terraform.provider import ATTACHED, attached
from support.terraform.tree import copy_tree

_PROVIDER = """
provider "aws" {{
{alias}  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  # The local AWS answers 500 where it has no answer: asking 25 times does not help.
  max_retries = 2
}}
"""
_VARIABLES = "zz_tests.auto.tfvars.json"


class Stack:
    """A root module on its way through init, apply, change and destroy.

    ``folder`` is where Terraform works; everything Terraform has said is in ``log``.
    """

    def __init__(
        self, path: str, folder: Path, aws: LocalAws, account: str, aliases: Iterable[str] = (), region: str = "us-east-1"
    ) -> None:
        """Prepare the root module ``path`` (below ``terraform/``) below ``folder``; ``aliases`` are those of its further providers."""
        self.aws, self.account, self.log = aws, account, ""
        self.folder = copy_tree(folder) / path
        self.environment = quiet_environment() | aws.environment(account) | {"TF_CLI_CONFIG_FILE": str(folder / "terraform.rc")}
        self.environment |= {"AWS_REGION": region, "AWS_DEFAULT_REGION": region}
        write_cli_configuration(folder / "terraform.rc")
        names = ["", *(f'  alias = "{alias}"\n' for alias in aliases)]
        self.override("provider", 'terraform {\n  backend "local" {}\n}\n' + "".join(_PROVIDER.format(alias=name) for name in names))
        # A plugin cache that several processes fill at once is spoiled.
        with FileLock(Path(tempfile.gettempdir()) / "dms-iceberg-terraform-init.lock"):
            self.run("init", "-input=false")
        if len(names) == 1:
            self.environment = attached(self.folder, self.environment, of=self)

    def run(self, *arguments: str, ok: tuple[int, ...] = (0,)) -> str:
        """Run a Terraform command and return what it printed. Raises `TerraformError`."""
        # It would not install a provider that runs.
        environment = {name: value for name, value in self.environment.items() if name != ATTACHED or arguments[0] != "init"}
        done = run(self.folder, *arguments, "-no-color", environment=environment, ok=ok)
        self.log += done.stdout + done.stderr
        return done.stdout

    def override(self, name: str, text: str) -> None:
        """Write an override file, whose arguments take the place of those in the root module's blocks."""
        (self.folder / f"zz_{name}_override.tf").write_text(text)

    def apply(self, **variables: Any) -> dict[str, Any]:
        """Apply with these variables, those of earlier calls included; returns the outputs."""
        path = self.folder / _VARIABLES
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | variables))
        self.run("apply", "-auto-approve", "-input=false")
        return self.outputs()

    def outputs(self) -> dict[str, Any]:
        """Return the outputs by name, sensitive ones too."""
        found = json.loads(run(self.folder, "output", "-json", environment=self.environment).stdout)
        return {name: one["value"] for name, one in found.items()}

    def variables(self) -> dict[str, Any]:
        """Return the variables of the last apply."""
        found: dict[str, Any] = json.loads((self.folder / _VARIABLES).read_text())
        return found

    def state(self) -> dict[str, Any]:
        """Return the state as Terraform keeps it."""
        found: dict[str, Any] = json.loads(run(self.folder, "state", "pull", environment=self.environment).stdout)
        return found

    def moves(self, former: str, now: str) -> dict[str, tuple[str, list[str]]]:
        """Return what a plan would do if the module ``now`` had been applied as ``former``: address and actions by the address before."""
        state = self.state()
        for one in state["resources"]:
            one["module"] = re.sub(rf"^{re.escape(now)}(?=$|\.)", former, one.get("module", "")) or None
            for instance in one["instances"]:
                instance["dependencies"] = [
                    re.sub(rf"^{re.escape(now)}\.", f"{former}.", name) for name in instance.get("dependencies", [])
                ]
        state["resources"] = [{key: value for key, value in one.items() if value is not None} for one in state["resources"]]
        return self.planned_on(state)

    def planned_on(self, state: dict[str, Any], *options: str) -> dict[str, tuple[str, list[str]]]:
        """Return what a plan would do to the managed resources of another state: address and actions by the address there."""
        (self.folder / "former.tfstate").write_text(json.dumps(state))
        changes = self.plan("-state=former.tfstate", "-refresh=false", *options)["resource_changes"]
        found = [one for one in changes if one["mode"] == "managed"]
        return {one.get("previous_address", one["address"]): (one["address"], one["change"]["actions"]) for one in found}

    def plan(self, *options: str) -> dict[str, Any]:
        """Plan, and return the plan as Terraform's JSON."""
        self.run("plan", "-input=false", "-out=tests.tfplan", *options)
        found: dict[str, Any] = json.loads(run(self.folder, "show", "-json", "tests.tfplan", environment=self.environment).stdout)
        return found

    def drift(self) -> list[str]:
        """Return what another apply would do, one line a resource or output: [] when the plan is empty."""
        plan = self.plan()
        changes = [(one["address"], one["change"]["actions"]) for one in plan.get("resource_changes", [])]
        changes += [(f"output.{name}", one["actions"]) for name, one in plan.get("output_changes", {}).items()]
        return [f"{' and '.join(actions)} {address}" for address, actions in changes if actions not in (["no-op"], ["read"])]

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of every managed resource by address."""
        root = json.loads(run(self.folder, "show", "-json", environment=self.environment).stdout).get("values", {}).get("root_module", {})
        return {one["address"]: one["values"] for one in _resources(root) if one["mode"] == "managed"}

    def destroy(self) -> None:
        """Destroy everything."""
        self.run("destroy", "-auto-approve", "-input=false")

    def places_of(self, secret: str) -> list[str]:
        """Return the places where Terraform left a value: its state, its plans and what it printed."""
        files: Iterable[Path] = (path for path in self.folder.rglob("*") if path.is_file() and ".terraform" not in path.parts)
        found = [path.name for path in files if any(secret.encode() in content for content in _contents(path))]
        return found + (["log"] if secret in self.log else [])

    def client(self, service: str) -> Any:
        """Return a boto3 client of the stack's account."""
        return self.aws.client(service, self.account)


def _contents(path: Path) -> Iterable[bytes]:
    """Yield what a file holds; of a plan, which is a zip, what is packed in it."""
    if not zipfile.is_zipfile(path):
        yield path.read_bytes()
        return
    with zipfile.ZipFile(path) as packed:
        for name in packed.namelist():
            yield packed.read(name)


def _resources(module: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield from module.get("resources", [])
    for child in module.get("child_modules", []):
        yield from _resources(child)
