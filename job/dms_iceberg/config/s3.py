"""The part of ``config.load`` that reads from S3."""

from urllib.parse import urlparse

from botocore.exceptions import BotoCoreError, ClientError

from dms_iceberg.errors import BronzeError, ConfigError
from dms_iceberg.storage.s3 import S3Store


def read_object(uri: str) -> bytes:
    """Return the bytes of ``s3://bucket/key``.

    Raises:
        ConfigError: it does not exist or cannot be read; the message has the service's error code.
    """
    parsed = urlparse(uri)
    folder, _, name = parsed.path.strip("/").rpartition("/")
    if not parsed.netloc or not name:
        raise ConfigError(["write s3://bucket/key of the document"], uri)
    try:
        return S3Store(parsed.netloc, folder).read(name)
    except BronzeError as error:
        raise ConfigError(["the object does not exist"], uri) from error
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "unknown")
        raise ConfigError([f"S3 refused to read the object: {code}"], uri) from error
    except BotoCoreError as error:
        raise ConfigError([f"S3 could not be asked: {error}"], uri) from error
