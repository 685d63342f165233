"""Options and first steps that several commands share."""

import re
import shlex
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import structlog
import typer

from dms_iceberg.cli.words import Words
from dms_iceberg.errors import ConfigError

if TYPE_CHECKING:
    # Their modules import a parser of SQL and Arrow. A command says what it does before it takes the time for that.
    from pyspark.sql import SparkSession  # noqa: TID251 - the type only

    from dms_iceberg.config.model import Config
    from dms_iceberg.context import RunRequest

_LOG = structlog.get_logger("dms_iceberg")
ConfigPath = Annotated[
    str,
    typer.Argument(
        envvar="DMS_ICEBERG_CONFIG", help="Configuration document: a path, file:// or s3:// URI; JSON or YAML.", show_default=False
    ),
]
Tables = Annotated[list[str], typer.Option("--table", "-t", help="Only this table (schema.table); may be repeated.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")]
LoadComplete = Annotated[
    list[str],
    typer.Option(
        help="The full load of this table (schema.table) is complete, although no change has followed, or no file because the source "
        "table has no rows; may be repeated."
    ),
]
ReloadStarted = Annotated[
    str | None,
    typer.Option(help="When DMS began to load the tables of --table again in place, such as 2026-03-01T10:00:00Z.", show_default=False),
]
Rebuild = Annotated[
    list[str],
    typer.Option(
        help="Build this table (schema.table) again from bronze with the present configuration; readers see the old content until then."
    ),
]
TakeOver = Annotated[
    list[str],
    typer.Option(
        help="This table (schema.table) or gold model was another pipeline's, or of other files, and is this document's from now on; "
        "may be repeated.",
    ),
]
Truncate = Annotated[
    list[str], typer.Option(help="The source table (schema.table) was truncated, which DMS does not write; may be repeated.")
]
TruncatedAt = Annotated[
    str | None,
    typer.Option(
        help="When they were truncated, by the source's clock, such as 2026-03-01T10:00:00Z: older rows are deleted, later ones stay.",
        show_default="now",
    ),
]

ConfirmRows = Annotated[
    list[str],
    typer.Option(
        metavar="[TABLE=]ROWS",
        help="So many rows of the table of --truncate or --load-complete may leave, as plan has shown: required where nothing proves "
        "a moment or a load. With several tables, one for each, such as public.orders=12.",
    ),
]

_WHERE: Final = "the command line"
_PERCENTAGE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_MOST_SECONDS: Final = 3_153_600_000.0
"""A hundred years. Python cannot wait for 300."""
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def percentage(text: str) -> float:
    """Return the share of ``1%`` or ``0.5%``, at most ``100%``, as a number up to 1.

    Raises:
        typer.BadParameter: the text is no such percentage.
    """
    match = _PERCENTAGE.fullmatch(text.strip())
    share = float(match[1]) / 100 if match else -1.0
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is no share; write a percentage such as 1% or 0.5%, at most 100%")
    return share


def seconds(text: str) -> float:
    """Return the seconds of ``500ms``, ``30s``, ``2m``, ``1h`` or plain seconds.

    Raises:
        typer.BadParameter: the text is none of these, or too long for Python to wait.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no duration; write 500ms, 30s or 2m")
    found = float(match[1]) * _SECONDS[match[2]]
    if found > _MOST_SECONDS:
        raise typer.BadParameter(f"{text!r} is more than a hundred years; write 500ms, 30s or 2m")
    return found


def prepared(config: str, only: Sequence[str], words: Words, request: "RunRequest | None" = None) -> "Config":
    """Load a command's configuration, and check what the command asks for: all before Spark starts.

    Args:
        config: the document.
        only: the tables of ``--table``.
        words: says that the document is read.
        request: the operator's request.

    Raises:
        ConfigError: see `load_config`, `chosen_tables` and `check_request`.
    """
    words.say(f"reading the document {config}")
    from dms_iceberg.config.chosen_tables import chosen_tables
    from dms_iceberg.config.load import load_config
    from dms_iceberg.runs.request import check_request

    loaded = load_config(config)
    chosen_tables(loaded, only)
    if request is not None:
        check_request(loaded, only, request)
    return loaded


def starting_session(config: "Config", words: Words, *, is_brief: bool = False) -> Callable[[], "SparkSession"]:
    """Begin to start Spark, or to join the session that runs; ``words`` say so.

    Args:
        config: the document.
        words: what is said meanwhile.
        is_brief: the command only looks at metadata and small tables.

    Returns:
        A function that waits for the session and returns it. Until then a command imports what it needs: Python has nothing else to do
        while Java starts. The function raises what the start raised.
    """
    words.say("starting Spark")
    from dms_iceberg.spark.session import brief_settings, open_session

    raised: list[BaseException] = []
    settings = brief_settings() if is_brief else {}

    def start() -> None:
        try:
            open_session(config, **settings)
        except BaseException as error:
            raised.append(error)

    # Spark takes Ctrl-C for itself when it starts in the main thread, and answers with a traceback.
    thread = threading.Thread(target=start, daemon=True)
    thread.start()

    def started() -> "SparkSession":
        thread.join()
        if raised:
            raise raised[0]
        return open_session(config, **settings)

    return started


def warn_of_salts(config: "Config", only: Sequence[str]) -> None:
    """Log which tables will fail for lack of a salt, before Spark starts."""
    from dms_iceberg.config.salts import unset_salts

    for name, table in config.tables.items():
        for problem in unset_salts(table) if not only or name in only else ():
            _LOG.warning("salt_not_set", table=name, problem=problem)


def warn_of_order(config: "Config", words: Words) -> None:
    """Say once for all tables what the order of changes does not promise."""
    from dms_iceberg.config.orders import weaker_order

    weaker = weaker_order(config.bronze.change)
    if weaker is not None:
        words.warn(f"bronze.change: {weaker}.")


def run_request(
    load_complete: Sequence[str],
    reload_started_at: str | None,
    truncate: Sequence[str],
    truncated_at: str | None,
    rebuild: Sequence[str] = (),
    confirm_rows: Sequence[str] = (),
) -> "RunRequest":
    """Return the operator's request, from the options of a run.

    Raises:
        ConfigError: a text is not a time with its zone, a time is in the future, or it belongs to no table.
    """
    from dms_iceberg.bronze.keys import digits_of, shown_time
    from dms_iceberg.context import RunRequest

    if truncated_at is not None and not truncate:
        raise ConfigError([f"--truncated-at {truncated_at!r}: name the tables that were truncated with --truncate"], _WHERE)
    now = digits_of(datetime.now(UTC))
    # Whole seconds: some sources have no finer commit times, and what was committed after the truncate must stay.
    at = _utc_digits("--truncated-at", truncated_at) or f"{now[:14]}000"
    if at > now:
        raise ConfigError([f"--truncated-at {truncated_at!r}: is not over yet, and changes until then would be lost"], _WHERE)
    started = _utc_digits("--reload-started-at", reload_started_at)
    if started > now:
        raise ConfigError(
            [
                f"--reload-started-at {reload_started_at!r}: is to come ({shown_time(now)} now), and changes until then would be left out. "
                "A local time has its own zone, such as +02:00; Z is UTC"
            ],
            _WHERE,
        )
    confirmed = _confirmed(confirm_rows, [*load_complete, *truncate])
    if truncated_at is None and not confirmed.keys().isdisjoint(truncate):
        # Without a moment it is now, and was another one when the rows were counted.
        raise ConfigError(["--confirm-rows: say with --truncated-at for which moment the rows were counted, as plan shows it"], _WHERE)
    at = at if truncate else ""
    return RunRequest(frozenset(load_complete), started, frozenset(truncate), at, frozenset(rebuild), confirmed)


def _confirmed(texts: Sequence[str], tables: Sequence[str]) -> dict[str, int]:
    """Return the numbers of ``ROWS`` or ``TABLE=ROWS`` by table.

    Raises:
        ConfigError: a text is neither, or its table is not one of ``tables``, or has a number already.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not name and len({*tables}) == 1:
            name = tables[0]
        if name not in tables:
            raise ConfigError(
                [f"--confirm-rows {text!r}: belongs to a table of --truncate or --load-complete; with several, write TABLE=ROWS"], _WHERE
            )
        if not re.fullmatch(r"[0-9]{1,18}", number) or name in found:
            raise ConfigError([f"--confirm-rows {text!r}: is not one whole number of rows for the table"], _WHERE)
        found[name] = int(number)
    return found


def words_of(config: str, tables: Sequence[str], request: "RunRequest") -> str:
    """Return what follows ``dms-iceberg run`` for a request, quoted for a shell."""
    from dms_iceberg.bronze.keys import shown_time

    several = len(request.load_complete | request.truncate) > 1
    given = [
        *(("--table", name) for name in tables),
        *(("--rebuild", name) for name in sorted(request.rebuild)),
        *(("--load-complete", name) for name in sorted(request.load_complete)),
        *((("--reload-started-at", shown_time(request.reload_started)),) if request.reload_started else ()),
        *(("--truncate", name) for name in sorted(request.truncate)),
        *((("--truncated-at", shown_time(request.truncated_at)),) if request.truncated_at else ()),
        *(("--confirm-rows", f"{f'{name}=' if several else ''}{rows}") for name, rows in sorted(request.confirm_rows.items())),
        *(("--take-over", name) for name in sorted(request.take_over)),
    ]
    return shlex.join([config, *(word for pair in given for word in pair)])


def taking_over(request: "RunRequest", names: Sequence[str]) -> "RunRequest":
    """Return the request with the tables and models that the operator declares to be this document's."""
    import attrs

    return attrs.evolve(request, take_over=frozenset(names))


def _utc_digits(option: str, text: str | None) -> str:
    """Return a time with its zone as 17 digits in UTC, "" for None; raise `ConfigError` for a text that is not one."""
    if text is None:
        return ""
    from dms_iceberg.bronze.keys import digits_of

    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ConfigError([f"{option} {text!r}: not a time with its zone, such as 2026-03-01T10:00:00Z"], _WHERE)
    try:
        return digits_of(time.astimezone(UTC))
    except OverflowError as error:
        raise ConfigError([f"{option} {text!r}: not a time of the years 1 to 9999 in UTC"], _WHERE) from error
