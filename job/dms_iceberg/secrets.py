"""Reading secrets of AWS Secrets Manager. Values are never logged and never become part of a query plan."""

import re

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from dms_iceberg.errors import ConfigError

_ARN = re.compile(r"arn:[a-z-]+:secretsmanager:(?P<region>[a-z0-9-]+):")


def read_secret(arn: str) -> str:
    """Return the secret string behind ``arn``.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        # Not the default session, because that keeps the credentials that it was created with. The region is that of the secret, not of
        # the machine.
        place = _ARN.match(arn)
        session = boto3.Session(region_name=place["region"] if place else None)
        secret: str = session.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    except (BotoCoreError, ClientError) as error:
        raise ConfigError([f"secret {arn}: cannot be read ({error}). Check the ARN, and that whoever runs this may read it."]) from None
    return secret
