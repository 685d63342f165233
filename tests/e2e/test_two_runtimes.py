"""A table that one runtime has written is read and merged by the other, and both make the same of the same files.

Each step of a history is done by one runtime in one lake and by the other in the other lake, so any difference between the two shows.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.lake import Lake
from support.text_files import ONLY_SEQUENCE, cdc_name, change_line, load_line, write_text
from support.warm_job import WarmJob

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = [ROOT / folder / "bin" / "python" for folder in (".venv", ".venv-glue-6.0")]

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not all(python.exists() for python in PYTHONS), reason="needs both environments: make setup; make setup RUNTIME=glue-6.0"
    ),
]

TYPES = {"doc": "string", "amount": "decimal(12,2)", "day": "date", "at": "timestamp", "f": "double", "n": "int", "yes": "boolean"}
HEADER = f"Op,dms_commit_ts,id,{','.join(TYPES)},dms_change_seq"
TEXTS = {
    "doc": [
        "ßeta ŉ",
        "O'Brien",
        "OBrien",
        '"{""a"": [1, 2.50, 1e3], ""b"":  {""c"" : null }}"',
        "plain",
        "ünïcode €",
        " blanks ",
        "",
        '"a,b"',
        "0",
    ],
    "amount": ["1.005", "-0.00", "9999999999.99", "10000000000", "1e3", " 7 ", "", "0x1F", "1_000"],
    "day": ["2026-03-01", "0001-01-01", "1582-10-10", "2026-3-1", "2026-02-30", "", "99999-01-01", "2026-03-01T00:00:00"],
    "at": ["2026-03-01 10:00:00.123456", "1582-10-10 00:00:00", "2026-03-01T10:00:00Z", "2026-03-01 24:00:00", "", "epoch"],
    "f": ["0.1", "1e400", "NaN", "-0.0", "1.7976931348623157E308", "Infinity", "", "1d", "5e-324"],
    "n": ["1", "2147483648", "-2147483648", "1.0", "", "+5", "٣"],
    "yes": ["true", "t", "1", "0", "yes", "", "TRUE", "off"],
}
MODES: dict[str, dict[str, Any]] = {
    "mirror": {},
    "soft": {"mode": "soft_delete"},
    "history": {"mode": "history"},
    "append": {"mode": "append"},
    "parts": {"partition_by": ["bucket(4, id)"]},
    "third": {"format_version": 3},
    "made": {
        "columns": [
            {"name": "made", "expr": "concat_ws('|', initcap(doc), split(doc, '', 2)[1], try_cast(amount AS decimal(12,4)) / 3)"},
            {"name": "hidden", "expr": "coalesce(amount, n)", "mask": "sha256"},
        ],
        "filter": "doc <> 'O''Brien'",
    },
}
# The other modes, parts and format 3 differ in how a table is written, which few versions of Spark change.
FEW = ("mirror", "history", "made")
COUNTS = ("rows_read", "applied", "superseded", "stale", "filtered", "quarantined")
CHANGES = 40


def values(number: int) -> list[str]:
    """Return texts of each column, other combinations for each number."""
    return [texts[number * (place + 1) % len(texts)] for place, texts in enumerate(TEXTS.values())]


@pytest.fixture
def jobs(is_interpreted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[WarmJob]]:
    """A job of each runtime. What a test tells Spark of plans (`quick_plans`) is a variable of the environment."""
    kept = {"PYSPARK_SUBMIT_ARGS"} if is_interpreted else set()
    for name in [name for name in os.environ if name.startswith(("PYSPARK", "SPARK", "JAVA_HOME", "COV_")) and name not in kept]:
        monkeypatch.delenv(name)
    with ExitStack() as stack:
        yield [
            stack.enter_context(WarmJob({"DMS_ICEBERG_DRIVER_MEMORY": "1g", "DMS_ICEBERG_MASK_SALT": "pepper"}, tmp_path, python))
            for python in PYTHONS
        ]


@pytest.mark.parametrize(
    ("is_interpreted", "names"),
    [
        pytest.param(True, FEW, id="few", marks=pytest.mark.runtimes),
        pytest.param(True, tuple(MODES), id="all", marks=pytest.mark.long),
        pytest.param(False, tuple(MODES), id="planned_as_on_glue", marks=pytest.mark.long),
    ],
)
def test_steps_of_both_runtimes_give_the_same_tables(
    lake: Lake, spark: Any, warehouse: Path, tmp_path: Path, jobs: list[WarmJob], names: tuple[str, ...]
) -> None:
    lakes = [lake, Lake(spark, warehouse, tmp_path / "other")]
    columns = [{"name": name, "type": type_} for name, type_ in TYPES.items()]
    for one in lakes:
        one.folder.mkdir(exist_ok=True)
        tables = {
            f"public.{name}": {**entry, "columns": [*columns, *entry.get("columns", [])]} for name, entry in MODES.items() if name in names
        }
        document = one.document(tables, bronze={"format": "csv", "change": ONLY_SEQUENCE})
        (one.folder / "config.json").write_text(json.dumps(document))
    for step in range(3):
        counted = []
        for one, job in zip(lakes, jobs if step % 2 == 0 else jobs[::-1], strict=True):
            for name in names:
                write_step(one, f"public.{name}", step)
            report = job.run(one.folder / "config.json", seconds=900)
            assert report["exit_code"] == 0, (report, job.text())
            counted.append({name: [table[count] for count in COUNTS] for name, table in report["tables"].items()})
        assert counted[0] == counted[1]
        assert all(rows > 0 for rows, *_ in counted[0].values())
    for name in names:
        # As text: Python has no NaN that equals itself, and no year 99999.
        first, second = (one.rows(name, "to_json(struct(*))") for one in lakes)
        assert first == second, name
        assert first
        schemas = [one.spark.table(f"lake.{one.namespace}.`{name}`").schema for one in lakes]
        assert schemas[0] == schemas[1], name
        refused = [one.quarantine(name, "row_number, reason, detail") for one in lakes]
        assert refused[0] == refused[1], name
        assert refused[0]


def write_step(lake: Lake, table: str, step: int) -> None:
    """Write a load, changes in order, or changes of which half come late."""
    if step == 0:
        write_text(lake, table, "LOAD00000001.csv", [load_line(id_, *values(id_)) for id_ in range(100)], HEADER)
        return
    lines = []
    for number in range(CHANGES):
        clock = f"202603011000{step * 10 - (number % 2) * 10 + number % 5:02d}"
        lines.append(change_line("UID"[number % 3], clock, step * 1000 + number, number * 3 + step, *values(number + step)))
    write_text(lake, table, cdc_name(step, "csv"), lines, HEADER)
