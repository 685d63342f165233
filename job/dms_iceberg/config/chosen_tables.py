"""Which tables a command is for."""

from collections.abc import Iterable

from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.problems import suggestion
from dms_iceberg.errors import ConfigError


def chosen_tables(config: Config, only: Iterable[str], option: str = "--table") -> list[Table]:
    """Return the tables named in ``only`` (by ``option``), or all, as the document declares them.

    Raises:
        ConfigError: a name is not configured.
    """
    # A table that is named twice would be merged by two threads at once.
    names = list(dict.fromkeys(only))
    unknown = [name for name in names if name not in config.tables]
    if unknown:
        raise ConfigError(
            [f"{option} {name}: not among the configured tables; {suggestion(name, config.tables)}" for name in unknown], config.pipeline
        )
    return [config.tables[name] for name in names] if names else list(config.tables.values())
