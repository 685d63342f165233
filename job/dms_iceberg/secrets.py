"""Reading secrets of AWS Secrets Manager. Values are never logged and never become part of a query plan."""

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from dms_iceberg.errors import ConfigError


def read_secret(arn: str) -> str:
    """Return the secret string behind ``arn``.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        # A session of its own: the default one keeps the credentials that it was made with.
        secret: str = boto3.Session().client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    except (BotoCoreError, ClientError) as error:
        raise ConfigError([f"secret {arn}: cannot be read ({error}). Check the ARN, and that whoever runs this may read it."]) from None
    return secret
