"""The charts of the full benchmark as SVG, from its JSON document: cost of a batch and of a read, and cost by batch size."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from benchmarks.full.report import TITLES

COLOURS: Final = {
    "job": "#0b6e4f",
    "handwritten": "#8d99ae",
    "iceberg-merge": "#3f7cac",
    "delta": "#c8553d",
    "hudi-dms": "#e0a458",
    "hudi-event-time": "#b07d2b",
    "floor": "#c9cfd6",
}
_WIDTH: Final = 10.0
_BAR: Final = 0.26  # inches
_PANEL_EDGE: Final = 0.72


@attrs.frozen
class Bar:
    """One contestant's figure in one case; ``note`` is printed after the number."""

    contestant: str
    value: float
    note: str = ""


@attrs.frozen
class Panel:
    """The bars of one case, in the order of `TITLES`."""

    title: str
    bars: tuple[Bar, ...]


def panels(cases: Sequence[Mapping[str, Any]], figure: str) -> list[Panel]:
    """Return a panel for each case with the figure (``median_s``, ``cpu_s``, ``read_s``); a failed contestant has a bar of length zero."""
    found = []
    for case in cases:
        bars = tuple(_bar(result, figure) for result in case["results"] if result["error"] or result[figure] is not None)
        if any(bar.value for bar in bars):
            found.append(Panel(f"{case['name']}: {case['changes']:,} changes, {case['says']}", bars))
    return found


def _bar(result: Mapping[str, Any], figure: str) -> Bar:
    if result["error"]:
        return Bar(result["contestant"], 0.0, "failed")
    wrong = sum(result["wrong"].values())
    return Bar(result["contestant"], float(result[figure]), f"wrong result: {wrong:,} rows" if result["correct"] is False else "")


def lines(cases: Sequence[Mapping[str, Any]], prefix: str = "everyday-") -> dict[str, list[tuple[int, float]]]:
    """Return, by contestant, changes and seconds per batch of the cases that differ only in size, smallest first."""
    found: dict[str, list[tuple[int, float]]] = {}
    for case in sorted(cases, key=lambda one: one["changes"]):
        if case["name"].startswith(prefix):
            for result in case["results"]:
                if result["median_s"]:
                    found.setdefault(result["contestant"], []).append((case["changes"], result["median_s"]))
    return {name: found[name] for name in TITLES if len(found.get(name, [])) > 1}


def draw(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw charts for the document's figures; return the files written into ``folder``."""
    import matplotlib as mpl

    mpl.use("svg")
    # The same document gives the same file, and text stays text.
    mpl.rcParams |= {
        "svg.hashsalt": "bench-full",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    folder.mkdir(parents=True, exist_ok=True)
    rows = f"a table of {document['rows']:,} rows"
    drawn = []
    if batch := panels(document["cases"], "median_s"):
        drawn.append(_bars(batch, f"Seconds to merge one batch into {rows} (median, less is better)", folder / "batch.svg"))
    if cpu := panels(document["cases"], "cpu_s"):
        drawn.append(
            _bars(cpu, f"Processor seconds to merge one batch into {rows} (median, all cores, less is better)", folder / "cpu.svg")
        )
    if read := panels(document["cases"], "read_s"):
        drawn.append(_bars(read, f"Seconds to read all of it after the batches, {rows} (less is better)", folder / "read.svg"))
    if by_size := lines(document["cases"]):
        drawn.append(_lines(by_size, f"Seconds per batch by its size, {rows}", folder / "sizes.svg"))
    return drawn


def _bars(found: Sequence[Panel], title: str, path: Path) -> Path:
    from matplotlib import pyplot

    heights = [len(panel.bars) * _BAR + _PANEL_EDGE for panel in found]
    figure, axes = pyplot.subplots(
        len(found), 1, figsize=(_WIDTH, sum(heights) + 0.6), squeeze=False, layout="constrained", gridspec_kw={"height_ratios": heights}
    )
    figure.suptitle(title, fontweight="bold")
    for axis, panel in zip(axes[:, 0], found, strict=True):
        names = [TITLES[bar.contestant] for bar in panel.bars]
        values = [bar.value for bar in panel.bars]
        drawn = axis.barh(names, values, color=[COLOURS[bar.contestant] for bar in panel.bars])
        for one, bar in zip(drawn, panel.bars, strict=True):
            one.set_hatch("////" if bar.note else "")
        labels = [f"{bar.value:.2f}" * (bar.value > 0) + f"  {bar.note}" * bool(bar.note) for bar in panel.bars]
        axis.bar_label(drawn, labels, padding=4)
        axis.invert_yaxis()
        axis.set_title(panel.title, loc="left", fontsize=9)
        # Space for the labels after the longest bar.
        axis.set_xlim(0, max(values) * (1.45 if any(bar.note for bar in panel.bars) else 1.15))
    return _saved(figure, path)


def _lines(by_contestant: Mapping[str, Sequence[tuple[int, float]]], title: str, path: Path) -> Path:
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(_WIDTH, 5), layout="constrained")
    for name, points in by_contestant.items():
        axis.plot(*zip(*points, strict=True), marker="o", color=COLOURS[name], label=TITLES[name])
    axis.set_xscale("log")
    axis.set_yscale("log")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter("{x:,g}")
        scale.set_minor_formatter("{x:,g}" if scale is axis.yaxis else "")
    axis.set_xlabel("changes in the batch")
    axis.set_ylabel("seconds")
    axis.set_title(title, fontweight="bold")
    axis.grid(visible=True, which="major", alpha=0.3)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return _saved(figure, path)


def _saved(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot

    # Without a date, so that a repetition differs only in its figures.
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text("utf-8").splitlines()) + "\n", "utf-8")
    return path
