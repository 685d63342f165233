"""Whether the operator's request fits the configuration."""

from collections.abc import Iterable

from dms_iceberg.config.chosen_tables import chosen_tables
from dms_iceberg.config.model import Config
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
