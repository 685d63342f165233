"""Terraform, and an AWS on this machine to apply to."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.local_aws import LocalAws
    from support.terraform.lives import Lives


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


@pytest.fixture
def account(aws: "LocalAws") -> str:
    """A fresh account of it."""
    return aws.new_account()


@pytest.fixture(scope="session")
def lives(request: pytest.FixtureRequest, terraform: None, aws: "LocalAws", tmp_path_factory: pytest.TempPathFactory) -> "Lives":
    """The examples that the chosen tests name in a parameter `example`, from the first apply to the end."""
    from support.terraform.lives import Lives

    named = {item.callspec.params.get("example") for item in request.session.items if hasattr(item, "callspec")}
    return Lives(aws, tmp_path_factory.mktemp("examples"), sorted(name for name in named if name))
