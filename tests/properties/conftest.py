"""What property tests need of the environment."""

import pytest

from support.masked_kinds import SALT, SALT_VARIABLE


@pytest.fixture(autouse=True)
def _salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SALT_VARIABLE, SALT)
