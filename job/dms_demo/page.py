"""``report.html``: one self-contained file, without network and script."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from dms_demo import wording
from dms_demo.chart import lag_chart
from dms_demo.report import DemoReport

_NUMBERS: Final = "n"


def write_page(report: DemoReport, path: Path) -> None:
    """Write the page."""
    path.write_text(render_page(report), encoding="utf-8")


def render_page(report: DemoReport) -> str:
    """Return the page as HTML."""
    template = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        source=escape(report.source),
        verdict=escape(wording.verdict(report)),
        tone="good" if report.equal else "bad",
        subtitle=escape(wording.subtitle(report)),
        tiles="".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in wording.figures(report)),
        tables_note=escape(wording.TABLES_NOTE),
        tables=_tables(report),
        lag_note=escape(wording.LAG_NOTE),
        lags="".join(f"<p>{escape(line)}</p>" for line in wording.lag_lines(report)),
        chart=lag_chart(
            report.points,
            [(second, event.text) for second, event in report.events],
            {"p50": report.later_lags.p50, "p95": report.later_lags.p95},
        ),
        story_note=escape(wording.story_note()),
        story=_table(wording.STORY_COLUMNS, wording.story_rows(report), left=4),
        quarantine_note=escape(wording.QUARANTINE_NOTE),
        quarantine=_quarantine(report),
        schema_note=escape(wording.SCHEMA_NOTE),
        schema="".join(f"<pre>{escape(statement)}</pre>" for statement in report.schema_changes) or "<p>Nothing changed.</p>",
        footer=escape(wording.footer(report)),
    )


def _tables(report: DemoReport) -> str:
    cells = wording.table_rows(report)
    columns = list(cells[0])
    rows = []
    for outcome, row in zip(report.tables, cells, strict=True):
        *plain, checksum, verdict = (escape(cell) for cell in row.values())
        tone = "good" if outcome.equal else "bad"
        rows.append([*plain, f"<code>{checksum}</code>", f'<b class="{tone}">{verdict}</b>'])
    body = _table(columns, rows, left=1, escaped=True)
    return body + "".join(f'<p class="bad">{escape(line)}</p>' for line in wording.problems(report))


def _quarantine(report: DemoReport) -> str:
    parts = []
    for row in report.quarantined:
        parts.append(f"<p>{escape(wording.rejected(row))}</p>")
        parts.append(f"<pre>{escape(json.dumps(dict(row.record), ensure_ascii=False))}</pre>")
    return "".join(parts) or "<p>Nothing.</p>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int, escaped: bool = False) -> str:
    """Return a table whose first ``left`` columns are text and whose others are numbers."""

    def css(place: int) -> str:
        return "" if place < left else f' class="{_NUMBERS}"'

    head = "".join(f"<th{css(place)}>{escape(column)}</th>" for place, column in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(f"<td{css(n)}>{cell if escaped else escape(cell)}</td>" for n, cell in enumerate(row)) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
