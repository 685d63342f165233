"""Reading secrets of AWS Secrets Manager. Values are never logged and never become part of a query plan."""

import boto3


def read_secret(arn: str) -> str:
    """Return the secret string behind ``arn``."""
    secret: str = boto3.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
    return secret
