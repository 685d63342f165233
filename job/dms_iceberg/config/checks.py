"""What a document's values must be together."""

from collections.abc import Mapping

from dms_iceberg.config.model import Config
from dms_iceberg.config.problems import Problems


def check_config(config: Config, inherited: Mapping[str, frozenset[str]], problems: Problems) -> None:
    """Note every contradiction."""
