"""The secrets of a world, to look for where they must not be."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.terraform.lives import Life


def secret_values(life: "Life") -> list[str]:
    """Return the passwords and salts in the account's Secrets Manager."""
    secrets = life.client("secretsmanager")
    found = [secrets.get_secret_value(SecretId=one["ARN"])["SecretString"] for one in secrets.list_secrets()["SecretList"]]
    return [hidden_value(value) for value in found]


def hidden_value(secret: str) -> str:
    """Return the password of a database's secret, which is a document; a mask's salt is the value itself."""
    try:
        return str(json.loads(secret)["password"])
    except (ValueError, TypeError, KeyError):
        return secret
