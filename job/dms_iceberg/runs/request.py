"""Which tables a command is for, and whether the operator's request fits the configuration."""

from collections.abc import Iterable

from dms_iceberg.changes.partial_updates import with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.problems import suggestion
from dms_iceberg.context import RunRequest
from dms_iceberg.errors import ConfigError
from dms_iceberg.progress.change_order import NO_TRUNCATE


def check_request(config: Config, only: Iterable[str], request: RunRequest) -> None:
    """Refuse an operator's request that contradicts the configuration.

    Raises:
        ConfigError: it names a table that is not configured or not chosen, or it says of all tables that they were reloaded in place.
    """
    requested = {
        "--load-complete": request.load_complete,
        "--truncate": request.truncate,
        "--rebuild": request.rebuild,
        "--take-over": request.take_over - config.gold.keys(),
    }
    for option, names in requested.items():
        chosen_tables(config, names, option)
    if request.truncate and config.bronze.change.orders_by_file:
        raise ConfigError([f"--truncate: {NO_TRUNCATE}. Load the tables again"], config.pipeline)
    if request.reload_started and not only:
        raise ConfigError(["--reload-started-at: name the tables that were loaded again with --table"], config.pipeline)
    left_out = [f"{option} {name}" for option, names in requested.items() for name in sorted(names - set(only)) if only]
    if left_out:
        raise ConfigError([f"{one}: not among the tables chosen with --table; name it there too" for one in left_out], config.pipeline)


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


def tables_with_kept_positions(config: Config, only: Iterable[str]) -> list[Table]:
    """Return the chosen tables as every step takes them: with the column that the job itself declares, if any (`with_kept_positions`).

    Raises:
        ConfigError: see `chosen_tables`.
    """
    return [with_kept_positions(config, table) for table in chosen_tables(config, only)]
