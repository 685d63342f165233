"""``dms-iceberg watch``: the command around `Watch`."""

import asyncio
import json
import signal
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dms_iceberg.cli.options import AsJson, ConfigPath, Tables, prepared, seconds, warn_of_salts

if TYPE_CHECKING:
    from dms_iceberg.watch.run import Watch

_SHORTEST_INTERVAL: Final = 0.1
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def watch(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Look for new files this often.")] = "1s",
    for_: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="End by itself after so long.", show_default="never")
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(metavar="URL", help="SQS queue that S3 notifies of new files; then idle tables are not listed.", show_default=False),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Merge what there is, for ever, in one warm session; SIGTERM, Ctrl-C or the time of ``--for`` ends it after the batches at hand.

    Exit code 1 when the last turn of a table failed, or Spark is gone.
    """
    pause, limit = seconds(interval), None if for_ is None else seconds(for_)
    if pause < _SHORTEST_INTERVAL:
        raise typer.BadParameter(f"--interval {interval}: at least {_SHORTEST_INTERVAL:g} s")
    loaded = prepared(config, quiet=True)
    warn_of_salts(loaded, table)
    from dms_iceberg.spark.session import open_session
    from dms_iceberg.watch.queue import NotificationQueue
    from dms_iceberg.watch.run import Watch

    news = None if queue is None else NotificationQueue(queue, loaded)
    started = time.monotonic()
    one = Watch(open_session(loaded), loaded, table, interval=pause, queue=news)
    failed = asyncio.run(_until_told(one, limit))
    if json_:
        typer.echo(json.dumps({"run_id": one.run_id, "seconds": round(time.monotonic() - started, 3), "failed": failed}))
    raise typer.Exit(1 if failed else 0)


async def _until_told(watch: "Watch", limit: float | None) -> list[str]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        watch.stop()
        # Whoever asks a second time does not want to wait.
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    if limit is not None:
        loop.call_later(limit, watch.stop)
    return await watch.run()
