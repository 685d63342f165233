"""``dms-iceberg watch``: the command that runs a `Watch`."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import attrs
import typer

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.options import AsJson, ConfigPath, Tables, prepared, seconds, starting_session, warn_of_salts
from dms_iceberg.cli.stopping import STOPPING, Committed, end_now
from dms_iceberg.cli.verdicts import watch_verdict
from dms_iceberg.cli.words import Words

if TYPE_CHECKING:
    from dms_iceberg.watch.run import Watch

_SHORTEST_INTERVAL: Final = 0.1
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def watch(
    config: ConfigPath,
    table: Tables = [],  # noqa: B006 - typer needs a list
    interval: Annotated[str, typer.Option(metavar="DURATION", help="Look for new files this often.")] = "1s",
    for_: Annotated[str | None, typer.Option("--for", metavar="DURATION", help="End after this time.", show_default="never")] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="SQS queue that S3 notifies of new files, so that idle tables need no listing.", show_default=False
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Merge new files continuously, in one warm session. SIGTERM, Ctrl-C or the time of ``--for`` ends it after the running batches.

    Exit code 1 if the last turn of a table failed, or Spark's process has ended.
    """
    pause, limit = seconds(interval), None if for_ is None else seconds(for_)
    if pause < _SHORTEST_INTERVAL:
        raise typer.BadParameter(f"--interval {interval}: at least {_SHORTEST_INTERVAL:g} s")
    # A watch has its log on a terminal, too: it goes on for days.
    with Words(quiet=True) as words:
        loaded = prepared(config, table, words)
        warn_of_salts(loaded, table)
        started = starting_session(loaded, words)
        from dms_iceberg.watch.queue import NotificationQueue
        from dms_iceberg.watch.run import Watch

        spark = started()
        news = None if queue is None else NotificationQueue(queue, loaded)
        begun = time.monotonic()
        committed = Committed()
        one = Watch(spark, loaded, table, interval=pause, queue=news, listener=committed.merged)
        words.say(f"watching {counted(len(one.tables), 'table')}; Ctrl-C ends it")
        end = _End(words, committed, lambda: spark.sparkContext.setLogLevel("OFF"))
        try:
            failed = asyncio.run(_run_until_stopped(one, limit, end))
        finally:
            words.tell(committed.text)
        took = time.monotonic() - begun
        rejected = {} if json_ else one.open_rows()
    if json_:
        typer.echo(json.dumps({"run_id": one.run_id, "seconds": round(took, 3), "failed": failed}))
    else:
        typer.echo("\n".join(watch_verdict(committed, took, failed, rejected, config)))
    raise typer.Exit(1 if failed else 0)


@attrs.frozen
class _End:
    """The answer to signals: the first ends the watch after the batches at hand, the second ends the process."""

    words: Words
    committed: Committed
    silence: Callable[[], None]

    def stop(self, watch: "Watch", loop: asyncio.AbstractEventLoop) -> None:
        watch.stop()
        self.words.tell(STOPPING)
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, self._now)

    def _now(self, number: int, _: FrameType | None) -> None:
        end_now(number, self.words, self.committed, self.silence)


async def _run_until_stopped(watch: "Watch", limit: float | None, end: _End) -> list[str]:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, end.stop, watch, loop)
    if limit is not None:
        loop.call_later(limit, watch.stop)
    return await watch.run()
