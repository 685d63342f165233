"""``python -m benchmarks.full.publish build/bench-full.json``: figures, charts and text of ``docs/benchmarks`` from one run."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.full.cases import CASES
from benchmarks.full.charts import draw
from benchmarks.full.report import TITLES, markdown

_CAPTIONS = {
    "batch.svg": "Seconds per batch",
    "cpu.svg": "Processor seconds per batch",
    "read.svg": "Seconds to read the table",
    "sizes.svg": "Seconds per batch by its size",
}


_READ_WITH = (
    "- A plain MERGE, merge-on-read, takes somewhat less than the job where changes come in order: the job also looks for",
    "  late changes and commits its progress with the rows. The hand-written script is copy-on-write, Iceberg's default.",
    "- In `late-file-100k` the scripts for Iceberg and Delta are wrong because they compare no sequence with the table, not",
    "  because of the formats. A sequence column and a condition in the MERGE would correct them here (a deleted row needs",
    "  more).",
    "- `hudi-dms` is Hudi's payload for DMS, which since 1.1 orders by commit time and needs changes in strict order.",
    "  `hudi-event-time` orders by the sequence.\n",
)


def main(
    figures: Annotated[Path, typer.Argument(help="The JSON document of a run.")],
    folder: Annotated[Path, typer.Option(help="Where to publish; charts in it are replaced.")] = Path("docs/benchmarks"),
    note: Annotated[str, typer.Option(help="What a reader must know about this run, in Markdown.")] = "",
) -> None:
    """Write README.md, bench-full.json and the charts."""
    document = json.loads(figures.read_text("utf-8"))
    document["cases"] = [case for case in document["cases"] if case]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    drawn = {path.name for path in draw(document, folder)}
    (folder / "bench-full.json").write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    (folder / "README.md").write_text("\n".join(page(document, drawn, note)) + "\n", "utf-8")


def page(document: Mapping[str, Any], charts: set[str], note: str) -> Iterator[str]:
    """Return the lines of the page."""
    cases, machine, each = document["cases"], document["machine"], document["contestant"]
    yield "# Benchmarks beside Delta Lake, Apache Hudi and Iceberg's own MERGE\n"
    yield "<!-- Written by `python -m benchmarks.full.publish`; the words are in benchmarks/full/publish.py. -->\n"
    yield f"{len(_names(cases))} programs merge the same change files of AWS DMS into a table of {document['rows']:,} rows."
    yield "Every result is compared with the source. [benchmarks/README.md](../../benchmarks/README.md) has all cases,"
    yield "settings, reasons for fairness, and findings.\n"
    yield f"Measured on {document['measured_at']}: {machine['system']} on {machine['architecture']}, {machine['cores']} cores,"
    yield f"{machine['memory_gib']} GiB, a local disk. Each contestant had its own warm process with {each['cores']} cores and a heap"
    yield f"of {each['heap']}: one table, no object storage. {_batches(document['warm_ups'])} of each case do not count;"
    yield f"the figure is the median of the next {document['repetitions']}."
    if note:
        yield f"\n{textwrap.fill(note, 118, break_long_words=False, break_on_hyphens=False)}"
    missing = [f"`{name}`" for name in CASES if name not in {case["name"] for case in cases}]
    if missing:
        yield f"\nNot measured in this run: {', '.join(missing)}."
    yield "\n| case | changes a batch | |\n|---|---|---|"
    yield from (f"| `{case['name']}` | {case['changes']:,} | {case['says']} |" for case in cases)
    yield from ("", "| | |", "|---|---|", *(f"| `{name}` | {_title(name)} |" for name in _names(cases)))
    yield "\n## Seconds per batch\n\nIn brackets: keys whose row differs from the source after the last batch.\n"
    yield from _section(cases, "median_s", ["batch.svg", "sizes.svg"], charts)
    yield "Fastest and slowest batch:\n"
    yield markdown(cases, "spread")
    yield from _READ_WITH
    yield "## Processor seconds per batch\n\nOver all cores: Python and JVM with compiler and garbage collector.\n"
    yield from _section(cases, "cpu_s", ["cpu.svg"], charts)
    yield "## Seconds to read the table afterwards\n"
    yield "A scan of the source's columns with a 64-bit hash and its sum, after the last batch and without compaction. The"
    yield "faster of two scans in a process that has read little before: a rough figure.\n"
    yield from _section(cases, "read_s", ["read.svg"], charts)
    if loaded := document.get("loaded"):
        yield "## Tables as loaded\n"
        yield "Each contestant's own writer, defaults and additional columns.\n"
        yield "| | data files | MiB | compression |\n|---|---|---|---|"
        yield from (f"| `{name}` | {one['data_files']} | {one['mib']:.0f} | {one['compression']} |" for name, one in loaded.items())
        yield ""
    yield "## Wrong results\n"
    yield from list(_wrong(cases)) or ["None."]
    yield "\n## Repeat it\n"
    arguments = [f"--{name.replace('_', '-')} {document[name]}" for name in ("rows", "warm_ups", "repetitions")]
    yield f"""    make bench BENCH=full BENCH_ARGS="{" ".join(arguments)} --cases {",".join(case["name"] for case in cases)}\""""
    yield "    .venv/bin/python -m benchmarks.full.publish build/bench-full.json\n"
    yield "`make bench BENCH=full` alone measures all cases. [bench-full.json](bench-full.json) has every batch's figures."


def _batches(count: int) -> str:
    return "The first batch" if count == 1 else f"The first {count} batches"


def _names(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in TITLES if any(result["contestant"] == name for case in cases for result in case["results"])]


def _title(name: str) -> str:
    return TITLES[name].replace("floor", "[floor](../glossary.md)", 1) if name == "floor" else TITLES[name]


def _section(cases: Sequence[Mapping[str, Any]], figure: str, wanted: Sequence[str], charts: set[str]) -> Iterator[str]:
    yield markdown(cases, figure)
    yield from (f"![{_CAPTIONS[name]}]({name})\n" for name in wanted if name in charts)


def _wrong(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for case in cases:
        for result in case["results"]:
            if result["error"]:
                yield f"- `{case['name']}`, `{result['contestant']}`: failed: `{result['error'][:200]}`"
            elif result["correct"] is False:
                counts = ", ".join(f"{count:,} {kind}" for kind, count in result["wrong"].items() if count)
                yield f"- `{case['name']}`, `{result['contestant']}`: {counts}"


if __name__ == "__main__":
    typer.run(main)
