"""The AWS provider as a process that several commands of Terraform use, as for debugging it.

By itself each command starts the provider twice or more, for its schema and for each configuration. That is two thirds of the processor
time of a `terraform test`: https://developer.hashicorp.com/terraform/plugin/debugging#starting-a-provider-in-debug-mode
"""

import atexit
import os
import re
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from support.terraform.binary import quiet_environment

ATTACHED = "TF_REATTACH_PROVIDERS"
_ADDRESS = re.compile(rb"TF_REATTACH_PROVIDERS='(.+)'")
_SECONDS = 120


def attached(folder: Path, environment: Mapping[str, str], of: object | None = None) -> dict[str, str]:
    """Return the variables for commands in an initialised folder, with a provider that runs.

    Args:
        folder: where `terraform init` has been.
        environment: the variables of the commands. A provider of one's own takes its from them when it starts.
        of: whose provider it is: it ends with it. The folder must have one configuration of the provider, since a running one has the
            newest only. None: any folder's, for commands that configure no provider (`validate`, `test` with a mocked provider).

    A folder whose modules need no AWS provider has none to attach.
    """
    binary = next((folder / ".terraform" / "providers").glob("*/hashicorp/aws/*/*/terraform-provider-aws*"), None)
    if binary is None:
        return dict(environment)
    if of is None:
        return {**environment, ATTACHED: _shared(binary.resolve())}
    process, address = _started(binary, folder, environment)
    weakref.finalize(of, _end, process)
    return {**environment, ATTACHED: address}


@cache
def _shared(binary: Path) -> str:
    process, address = _started(binary, binary.parent, quiet_environment())
    atexit.register(_end, process)
    return address


def _started(binary: Path, folder: Path, environment: Mapping[str, str]) -> tuple["subprocess.Popen[bytes]", str]:
    with tempfile.TemporaryFile() as said:
        # Paths of files that resources have are relative to the folder.
        process = subprocess.Popen(
            [binary.absolute(), "-debug"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end and process.poll() is None:
            # Not by its position, which is the provider's as well.
            if found := _ADDRESS.search(os.pread(said.fileno(), 1 << 16, 0)):
                return process, found[1].decode()
            time.sleep(0.05)
        _end(process)
        raise AssertionError(f"{binary.name} -debug does not start: {os.pread(said.fileno(), 1 << 16, 0).decode()}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
