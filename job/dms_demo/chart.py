"""The lag chart as inline SVG: a dot for each change file, at commit time and lag of its median change."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

import attrs

from dms_demo.report import LagPoint

_WIDTH: Final = 960
_HEIGHT: Final = 330
_LEFT: Final = 52
_RIGHT: Final = 70
_TOP: Final = 30
_BOTTOM: Final = 44
_TICKS: Final = 6
_MIN_RADIUS: Final = 2.5
_MAX_RADIUS: Final = 8.0


@attrs.frozen
class _Axes:
    """Linear scales from seconds to pixels; ``begin``, ``end`` and ``top`` are in seconds."""

    begin: float
    end: float
    top: float

    def x(self, second: float) -> float:
        span = max(self.end - self.begin, 1e-9)
        return _LEFT + (second - self.begin) / span * (_WIDTH - _LEFT - _RIGHT)

    def y(self, lag: float) -> float:
        return _HEIGHT - _BOTTOM - max(lag, 0) / self.top * (_HEIGHT - _TOP - _BOTTOM)


def nice_step(span: float, steps: int = _TICKS) -> float:
    """Return a distance of 1, 2 or 5 times a power of ten that divides ``span`` into about ``steps`` steps."""
    raw = max(span, 1e-9) / steps
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= raw), 10 * power)


def lag_chart(points: Sequence[LagPoint], events: Sequence[tuple[float, str]], lines: Mapping[str, float | None]) -> str:
    """Return the ``<svg>``. Dots of first batches are hollow (class ``first``).

    Args:
        points: the dots; their tables get the CSS classes ``t0``, ``t1``, ... in order of appearance.
        events: second and text of each event, drawn as marks.
        lines: label and lag of horizontal lines; None draws nothing.
    """
    if not points:
        return "<p>No changes.</p>"
    seconds = [point.second for point in points]
    step = nice_step(max(point.lag for point in points))
    top = math.ceil(max(point.lag for point in points) / step) * step
    axes = _Axes(min(0.0, *seconds), max(seconds), max(top, step))
    tables = list(dict.fromkeys(point.table for point in points))
    parts = [*_grid(axes, step), *_events(axes, events), *_lines(axes, lines), *_dots(axes, points, tables), *_legend(tables)]
    label = "Lag from source commit to Iceberg snapshot over the time of the commit"
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _grid(axes: _Axes, step: float) -> Iterator[str]:
    for number in range(round(axes.top / step) + 1):
        y = axes.y(number * step)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * step:g} s</text>'
    width = nice_step(axes.end - axes.begin, 10)
    for number in range(math.ceil(axes.begin / width), math.floor(axes.end / width) + 1):
        x = axes.x(number * width)
        yield f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{number * width:g}</text>'
    text = "seconds since the writers began, by source commit"
    yield f'<text class="tick" x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 8}" text-anchor="end">{text}</text>'


def _events(axes: _Axes, events: Sequence[tuple[float, str]]) -> Iterator[str]:
    for second, text in events:
        x = axes.x(second)
        yield f'<line class="event" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text class="mark" x="{x:.1f}" y="{_TOP - 12}" text-anchor="middle">{escape(text)}</text>'


def _lines(axes: _Axes, lines: Mapping[str, float | None]) -> Iterator[str]:
    for label, lag in lines.items():
        if lag is not None:
            y = axes.y(lag)
            yield f'<line class="level" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="mark" x="{_WIDTH - _RIGHT + 6}" y="{y + 4:.1f}">{escape(label)} {lag:.1f} s</text>'


def _dots(axes: _Axes, points: Sequence[LagPoint], tables: Sequence[str]) -> Iterator[str]:
    most = max(point.changes for point in points)
    for point in points:
        radius = max(_MIN_RADIUS, _MAX_RADIUS * math.sqrt(point.changes / most))
        title = f"{point.table}: {point.changes} changes, {point.lag:.2f} s"
        classes = f"t{tables.index(point.table)}{' first' if point.is_of_first else ''}"
        yield (
            f'<circle class="{classes}" cx="{axes.x(point.second):.1f}" cy="{axes.y(point.lag):.1f}"'
            f' r="{radius:.1f}"><title>{escape(title)}</title></circle>'
        )


def _legend(tables: Sequence[str]) -> Iterator[str]:
    for number, table in enumerate(tables):
        y = _HEIGHT - 8
        x = _LEFT + number * 110
        yield f'<circle class="t{number}" cx="{x}" cy="{y - 4}" r="5"/>'
        yield f'<text class="tick" x="{x + 9}" y="{y}">{escape(table.rpartition(".")[2])}</text>'
