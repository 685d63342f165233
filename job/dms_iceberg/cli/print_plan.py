"""What ``plan`` prints: of each table what is new, and what a run would do; SQL that is long only if asked for."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console

from dms_iceberg.cli.amounts import counted, size
from dms_iceberg.cli.grid import console

if TYPE_CHECKING:
    from dms_iceberg.gold.preview import ModelPreview
    from dms_iceberg.runs.preview import TablePreview

_SHORT: Final = 100
"""A statement of so many characters is shown in any case."""


def print_plan(
    previews: "Sequence[TablePreview]",
    models: "Sequence[ModelPreview]" = (),
    words: str = "CONFIG",
    *,
    with_sql: bool = False,
    confirming: str = "",
) -> None:
    """Print what a run would do.

    Args:
        previews: the tables.
        models: the gold models.
        words: what follows ``dms-iceberg run`` for such a run.
        with_sql: also statements of more than 100 characters.
        confirming: the same with the numbers of rows that a run asks to confirm; "" if it asks for none.
    """
    out = console()
    for one in previews:
        _print_table(out, one, with_sql=with_sql)
    for model in models:
        _print_model(out, model)
    new = [one for one in previews if one.steps]
    bad = [one.table for one in previews if one.is_bad] + [one.model for one in models if one.error]
    if bad:
        out.print(f"{counted(len(bad), 'table')} would fail or do nothing; correct what is named above", soft_wrap=True)
    if new:
        out.print(f"{len(new):,} of {counted(len(previews), 'table')} would change: dms-iceberg run {words}", soft_wrap=True)
    if confirming:
        out.print(f"compare the rows that would leave with the source; if they are right: dms-iceberg run {confirming}", soft_wrap=True)
    elif not bad and not new:
        out.print(f"nothing new in {counted(len(previews), 'table')}", soft_wrap=True)


def _print_table(out: Console, one: "TablePreview", *, with_sql: bool) -> None:
    out.print(f"{one.table}: {_news(one)}", soft_wrap=True)

    def say(text: str, style: str | None = None) -> None:
        out.print(f"  {text}", style=style, soft_wrap=True)

    if one.steps:
        steps = ((step, len(list(same))) for step, same in itertools.groupby(one.steps))
        say(f"would {'; '.join(step if times == 1 else f'{step} ({times:,} times)' for step, times in steps)}")
    if one.rebuilt_files:
        say(f"{counted(one.rebuilt_files, 'merged file')} would be read again, for a content that replaces the table's at once")
    for statement in one.sql if with_sql else [text for text in one.sql if len(text) <= _SHORT]:
        say(f"{statement};")
    hidden = 0 if with_sql else sum(len(text) > _SHORT for text in one.sql)
    if hidden:
        say(f"{counted(hidden, 'statement')} more with --sql")
    for warning in one.warnings:
        say(f"warning: {warning}")
    for note in one.notes:
        say(f"note: {note}")
    if one.no_files:
        say(f"would do nothing: {one.no_files}", "red")
    if one.error:
        say(f"would fail: {one.error}", "red")


def _news(one: "TablePreview") -> str:
    """Return what is new for a table."""
    if not one.files:
        return "no new file"
    rows = "an unknown number of rows" if one.rows is None else counted(one.rows, "row")
    batches = "" if one.batches == 1 else f", in {counted(one.batches, 'batch', 'batches')}"
    return f"{counted(one.files, 'file')}, {rows}, {size(one.bytes)}{batches}"


def _print_model(out: Console, one: "ModelPreview") -> None:
    if one.error:
        out.print(f"{one.model} would fail: {one.error}", style="red", soft_wrap=True)
    elif one.waits_for:
        out.print(f"{one.model} would wait for {', '.join(one.waits_for)}", soft_wrap=True)
    elif one.refresh:
        out.print(f"{one.model}: {one.refresh} refresh, because of: {', '.join(one.because)}", soft_wrap=True)
