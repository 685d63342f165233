"""Terraform, and an AWS on this machine to apply to."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.local_aws import LocalAws


@pytest.fixture(scope="session")
def terraform() -> None:
    """Name it in tests that call Terraform."""
    from support.terraform.binary import require_terraform

    require_terraform()


@pytest.fixture(scope="session")
def aws() -> Iterator["LocalAws"]:
    """The local AWS, one for all tests of this folder."""
    from support.local_aws import local_aws

    with local_aws() as server:
        yield server
