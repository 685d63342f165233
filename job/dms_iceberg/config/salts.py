"""Salts of masks: where they are, whether they are set, and how to recognise a changed one."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

from dms_iceberg.config.model import Mask, Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.errors import ConfigError

_ROUNDS = 100_000
_LABEL = b"dms-iceberg.salt"
_CHECK_BYTES = 2


def resolve_salt(reference: str) -> str:
    """Return the secret behind ``env:NAME`` or ``secret:ARN``.

    Raises:
        ConfigError: the variable is not set or empty, or the secret cannot be read.
    """
    kind, _, name = reference.partition(":")
    if kind == "env":
        value = os.environ.get(name)
        if not value:
            raise ConfigError([f"mask_salt {reference!r}: the environment variable {name} is not set. Set it to the salt's value."])
        return value
    from dms_iceberg.secrets import read_secret

    return read_secret(name)


@lru_cache(maxsize=256)
def check_of(salt: str) -> str:
    """Return a check value of a salt, to store beside the values that it masks: 16 bits of a slow hash (PBKDF2).

    Someone who guesses the salt can test the guess by any hash in silver whose value he knows. The check value is of no more use to
    him: a test costs as much as a hundred thousand hashes, one of 65,536 wrong guesses passes, and no test proves that a guess is right.
    """
    return hashlib.pbkdf2_hmac("sha256", salt.encode(), _LABEL, _ROUNDS, _CHECK_BYTES).hex()


def salts_of(table: Table) -> Iterable[str]:
    """Return where the salts of a table are, each once."""
    return dict.fromkeys(column.mask_salt for column in table.columns if column.mask is Mask.SHA256 and column.mask_salt)


def unset_salts(table: Table) -> list[str]:
    """Return the problems of a table's salts that can be found on this machine without a request: variables that are not set."""
    path = below(table_path(table), "columns")
    return [
        f"{item(path, index)}.mask_salt: the environment variable {column.mask_salt.removeprefix('env:')} is not set. Set it to the salt's "
        f"value; or name the place of the salt with mask_salt (found: {column.mask_salt!r})."
        for index, column in enumerate(table.columns)
        if column.mask is Mask.SHA256
        and column.mask_salt
        and column.mask_salt.startswith("env:")
        and not os.environ.get(column.mask_salt.removeprefix("env:"))
    ]


def refuse_unset_salts(table: Table) -> None:
    """Refuse a table if a salt of its masks is not set on this machine, before anything is done for it.

    Raises:
        ConfigError: an environment variable is not set.
    """
    problems = unset_salts(table)
    if problems:
        raise ConfigError(problems)


def resolved_salts(table: Table) -> Mapping[str, str]:
    """Return the salts of a table by where they are; raises the errors of `resolve_salt`."""
    return {reference: resolve_salt(reference) for reference in salts_of(table)}
