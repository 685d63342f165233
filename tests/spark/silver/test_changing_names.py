"""Histories of names: columns that the source renames, drops, adds again and swaps, before and after the document tells of it.

Each history has stages: what the document says, and the files that come. After each stage silver shows no secret, and where a value is not
that of the source, plan, run and status name the column.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.table import TargetTable
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name

Row = Mapping[str, Any]
MASK = {"name": "email", "mask": "redact"}
FOLLOWED = {"name": "mail", "renamed_from": "email", "mask": "redact"}
CITY = {"name": "city", "renamed_from": "town"}
IN_SILVER = {"name": "contact", "from": "email", "renamed_from": "email", "mask": "redact"}
COMPOSED, DECOMPOSED = "\u00e9t\u00e9", "e\u0301te\u0301"


@attrs.frozen
class Stage:
    """What the document says, the rows that come, and what is to be seen then.

    Attributes:
        entry: the table's entry.
        rows: structures and rows of change files; the first stage's first is the load.
        words: what plan, run and status say; "" for nothing at all, None for anything.
        silver: rows by the columns that are to be looked at.
        rebuild: the run is told to.
        fails: the table stops.
    """

    entry: Mapping[str, Any]
    rows: Sequence[tuple[str, Sequence[Sequence[Any]]]] = ()
    words: Sequence[str] = ()
    silver: Mapping[str, Sequence[Sequence[Any]]] = attrs.field(factory=dict)
    rebuild: bool = False
    fails: bool = False


LOADED = ("id email", [(1, "secret-1"), (2, "secret-2")])
RENAMED = ("id mail", [(2, "secret-3")])
HELD = ("'mail' is held back",)
NULL_BEFORE = ("older rows", "--rebuild")
LATE = ("cannot be done in place",)

HISTORIES: dict[str, Sequence[Stage]] = {
    "masked": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage({"columns": [MASK]}, [RENAMED], HELD, {"id, email": [(1, "***"), (2, None)]}),
        Stage({"columns": [MASK]}, [("id mail", [(3, "secret-4")])], HELD),
        Stage({"columns": [FOLLOWED]}, [], NULL_BEFORE, {"id, mail": [(1, "***"), (2, None), (3, None)]}),
        Stage({"columns": [FOLLOWED]}, [], (), {"id, mail": [(1, "***"), (2, "***"), (3, "***")]}, rebuild=True),
    ],
    "dropped": [
        Stage({"drop": ["email"]}, [LOADED]),
        Stage({"drop": ["email"]}, [RENAMED], HELD, {"id": [(1,), (2,)]}),
        Stage({"drop": ["email"]}, [], HELD, {"id": [(1,), (2,)]}, rebuild=True),
        Stage({"drop": ["email", "mail"]}, [("id mail", [(3, "secret-4")])], ("",), {"id": [(1,), (2,), (3,)]}),
    ],
    "in_one_batch": [Stage({"drop": ["email"]}, [LOADED, RENAMED], HELD, {"id": [(1,), (2,)]})],
    "beside_the_renamed_one": [
        Stage({"drop": ["email"]}, [LOADED]),
        Stage(
            {"drop": ["email"]}, [RENAMED, ("id mail note", [(3, "secret-4", "n3")])], HELD, {"id, note": [(1, None), (2, None), (3, "n3")]}
        ),
    ],
    "name_of_another": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage(
            {"columns": [MASK]},
            [("id email mail", [(3, "secret-3", "m3")]), ("id email", [(4, "secret-4")]), ("id mail", [(5, "secret-5")])],
            HELD,
            {"id, email, mail": [(1, "***", None), (2, "***", None), (3, "***", "m3"), (4, "***", None), (5, None, None)]},
        ),
    ],
    "shown": [
        Stage({"drop": ["old"]}, [("id old", [(1, "secret-1"), (2, "secret-2")])]),
        Stage({"drop": ["old"]}, [("id note", [(2, "n2")])], ("'note' is held back",)),
        Stage({"drop": ["old"], "columns": [{"name": "note"}]}, [("id note", [(3, "n3")])], NULL_BEFORE),
        Stage({"drop": ["old"], "columns": [{"name": "note"}]}, [], (), {"id, note": [(1, None), (2, "n2"), (3, "n3")]}, rebuild=True),
    ],
    "allowed": [
        Stage({"drop": ["old"], "new_columns": "add"}, [("id old", [(1, "secret-1")])]),
        Stage({"drop": ["old"], "new_columns": "add"}, [("id note", [(2, "n2")])], ("renamed_from",), {"id, note": [(1, None), (2, "n2")]}),
    ],
    "added_later": [
        Stage({"drop": ["old"]}, [("id old", [(1, "secret-1")])]),
        Stage({"drop": ["old"]}, [("id old note", [(2, "secret-2", "n2")])], ("",), {"id, note": [(1, None), (2, "n2")]}),
    ],
    "clear": [
        Stage({}, [("id district", [(1, "a"), (2, "b")])]),
        Stage({}, [("id region", [(2, "B")])], ("no longer 'district'", '"renamed_from": "district"')),
        Stage({"columns": [{"name": "region", "renamed_from": "district"}]}, [], LATE, fails=True),
        Stage({"columns": [{"name": "region", "renamed_from": "district"}]}, [], (), {"id, region": [(1, "a"), (2, "B")]}, rebuild=True),
        Stage({"columns": [{"name": "region", "renamed_from": "district"}]}, [("id region", [(3, "c")])], ("",)),
    ],
    "reused": [
        Stage({}, [("id price price_v2", [(1, "old", "new")])]),
        Stage({"columns": [{"name": "price", "renamed_from": "price_v2"}]}, [("id price", [(3, "new3")])], LATE, fails=True),
        Stage(
            {"columns": [{"name": "price", "renamed_from": "price_v2"}]}, [], ("has both the column 'price_v2'",), fails=True, rebuild=True
        ),
    ],
    "reused_in_one_batch": [
        Stage(
            {"columns": [{"name": "price", "renamed_from": "price_v2"}]},
            [("id price price_v2", [(1, "old", "new")]), ("id price", [(3, "new3")])],
            ("has both the column 'price_v2'",),
            fails=True,
        ),
    ],
    "used_again": [
        Stage({}, [("id email", [(1, "a")])]),
        Stage({"columns": [{"name": "mail", "renamed_from": "email"}]}, [("id mail", [(2, "b")])], ("",)),
        Stage(
            {"columns": [{"name": "mail", "renamed_from": "email"}]},
            [("id mail email", [(3, "c", "C")])],
            ("",),
            {"id, mail, email": [(1, "a", None), (2, "b", None), (3, "c", "C")]},
        ),
    ],
    "used_again_alone": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage({"columns": [FOLLOWED]}, [("id mail", [(2, "secret-3")])], ("",)),
        # By name alone older files had the column as well.
        Stage({"columns": [FOLLOWED], "publish": ["email"]}, [("id mail email", [(3, "secret-4", "e3")])], ("are NULL", "in 'email'")),
        Stage(
            {"columns": [FOLLOWED], "publish": ["email"]},
            [("id post email", [(4, "secret-5", "e4")])],
            ("after files with both", "renamed_from out"),
            fails=True,
        ),
        Stage(
            {"columns": [{"name": "mail", "mask": "redact"}], "publish": ["email"]},
            [],
            ("'post' is held back",),
            {"id, mail, email": [(1, "***", None), (2, "***", None), (3, "***", "e3"), (4, None, "e4")]},
        ),
    ],
    "kept_out": [
        Stage({"columns": [MASK], "schema_changes": "quarantine"}, [LOADED]),
        Stage({"columns": [MASK], "schema_changes": "quarantine"}, [RENAMED], HELD),
        Stage({"columns": [MASK]}, [("id mail", [(3, "secret-4")])], HELD, {"id, email": [(1, "***"), (2, "***"), (3, None)]}),
    ],
    "renamed_of_its_own_name": [
        Stage({"columns": [{"name": "contact", "from": "email", "mask": "redact"}]}, [LOADED]),
        Stage(
            {"columns": [{"name": "contact", "from": "mail", "renamed_from": "email", "mask": "redact"}]},
            [RENAMED],
            ("",),
            {"id, contact": [(1, "***"), (2, "***")]},
        ),
    ],
    "renamed_twice": [
        Stage({}, [("id a", [(1, "x"), (2, "y")])]),
        Stage({"columns": [{"name": "b", "renamed_from": "a"}]}, [("id b", [(2, "Y")])], ("",)),
        Stage({"columns": [{"name": "c", "renamed_from": "b"}]}, [("id c", [(3, "z")])], ("",)),
        Stage(
            {"columns": [{"name": "c", "renamed_from": "b"}]},
            [],
            ("neither 'c' nor 'b', and 'a' instead",),
            {"id, c": [(1, "x"), (2, "Y"), (3, "z")]},
            fails=True,
            rebuild=True,
        ),
    ],
    "forgotten": [
        Stage({}, [("id b", [(1, "x"), (2, "y")])]),
        Stage({"columns": [{"name": "c", "renamed_from": "b"}]}, [("id c", [(2, "Y")])], ("",)),
        Stage({}, [("id c", [(3, "z")])], ("",)),
        Stage(
            {},
            [],
            ("no 'c', and 'b' instead", 'put "renamed_from": "b" back'),
            {"id, c": [(1, "x"), (2, "Y"), (3, "z")]},
            fails=True,
            rebuild=True,
        ),
        Stage({"columns": [{"name": "c", "renamed_from": "b"}]}, [], ("",), {"id, c": [(1, "x"), (2, "Y"), (3, "z")]}, rebuild=True),
    ],
    "shifted": [
        Stage({}, [("id a b", [(1, "a1", "x")])]),
        Stage({"columns": [{"name": "c", "renamed_from": "b"}]}, [("id a c", [(2, "a2", "y")])], ("",)),
        Stage(
            {"columns": [{"name": "b", "renamed_from": "a"}, {"name": "c"}]},
            [("id b c", [(3, "a3", "z")])],
            ("",),
            {"id, b, c": [(1, "a1", "x"), (2, "a2", "y"), (3, "a3", "z")]},
        ),
        Stage(
            {"columns": [{"name": "b", "renamed_from": "a"}, {"name": "c"}]},
            [],
            ("no 'c', and 'b' instead", "load epoch"),
            {"id, b, c": [(1, "a1", "x"), (2, "a2", "y"), (3, "a3", "z")]},
            fails=True,
            rebuild=True,
        ),
    ],
    "former_name_given_away": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage({"columns": [FOLLOWED]}, [("id mail", [(2, "secret-3")])], ("",)),
        Stage({"columns": [FOLLOWED]}, [("id contact email", [(3, "secret-4", "e3")])], ("'contact' is held back",)),
        Stage(
            {"columns": [FOLLOWED]},
            [("id contact email", [(4, "secret-5", "e4")])],
            ("'contact' is held back",),
            {"id, mail": [(1, "***"), (2, "***"), (3, "***"), (4, "***")]},
        ),
    ],
    "former_name_of_another": [
        Stage({"columns": [MASK, CITY]}, [("id email city", [(1, "secret-1", "c1")])]),
        Stage({"columns": [MASK, CITY]}, [("id town city", [(2, "secret-2", "c2")])], ("'town' is held back",)),
        Stage(
            {"columns": [MASK, CITY]},
            [("id town city", [(3, "secret-3", "c3")])],
            ("'town' is held back",),
            {"id, email, city": [(1, "***", "c1"), (2, None, "c2"), (3, None, "c3")]},
        ),
    ],
    "renamed_in_silver": [
        Stage({"columns": [IN_SILVER]}, [LOADED], (), {"id, contact": [(1, "***"), (2, "***")]}),
        Stage({"columns": [IN_SILVER]}, [RENAMED], HELD, {"id, contact": [(1, "***"), (2, None)]}),
    ],
    "masked_expression": [
        Stage({"columns": [{"name": "email", "expr": "lower(email)", "mask": "redact"}]}, [LOADED, RENAMED], HELD),
    ],
    "left_out": [
        Stage({"drop": ["note"]}, [("id note", [(1, "n1"), (2, "n2")])]),
        Stage({"columns": [{"name": "note"}]}, [("id note", [(2, "N2")])], NULL_BEFORE, {"id, note": [(1, None), (2, "N2")]}),
        Stage({"columns": [{"name": "note"}]}, [], ("",), {"id, note": [(1, "n1"), (2, "N2")]}, rebuild=True),
    ],
    "left_out_renamed": [
        Stage({"drop": ["note"]}, [("id note", [(1, "n1")])]),
        Stage({"columns": [{"name": "text", "renamed_from": "note"}]}, [("id text", [(2, "n2")])], NULL_BEFORE),
        Stage({"columns": [{"name": "text", "renamed_from": "note"}]}, [], ("",), {"id, text": [(1, "n1"), (2, "n2")]}, rebuild=True),
    ],
    "late_backfill": [
        Stage({}, [("id", [(1,)])]),
        Stage({}, [("id note", [(2, "n2")])], ("",)),
        Stage({"columns": [{"name": "note", "backfill": "none"}]}, [("id note", [(3, None)])], ("backfill", "--rebuild")),
        Stage(
            {"columns": [{"name": "note", "backfill": "none"}]}, [], ("",), {"id, note": [(1, "none"), (2, "n2"), (3, None)]}, rebuild=True
        ),
    ],
    "came_back": [
        Stage({}, [("id v", [(1, "a"), (2, "b")])]),
        Stage({}, [("id", [(2,)])], ("",)),
        Stage({}, [("id v", [(3, "c")])], ("'v' again, after files without", "load epoch"), {"id, v": [(1, "a"), (2, None), (3, "c")]}),
        Stage({}, [], ("'v' again, after files without",)),
    ],
    "tracked": [
        Stage({"mode": "history", "track_columns": ["v"]}, [("id v w", [(1, "a", "b")])]),
        Stage({"mode": "history"}, [("id v w", [(1, "a", "c")])], ("track_columns", "--rebuild")),
    ],
    "forms": [Stage({"drop": [COMPOSED]}, [(f"id {DECOMPOSED}", [(1, "secret-1")])], ("another Unicode form",), fails=True)],
    "renamed_form": [
        Stage({"drop": [COMPOSED]}, [(f"id {COMPOSED}", [(1, "secret-1")])]),
        Stage({"drop": [COMPOSED]}, [(f"id {DECOMPOSED}", [(2, "secret-2")])], ("another Unicode form",), fails=True),
    ],
    "recased": [
        Stage({"drop": ["email"]}, [("id Email", [(1, "secret-1")])]),
        Stage({"drop": ["email"]}, [("id EMAIL", [(2, "secret-2")])], ("",), {"id": [(1,), (2,)]}),
    ],
}


HISTORIES_OF_LINES: dict[str, Sequence[Stage]] = {
    "lines_not_there_before": [
        Stage({"drop": ["email"]}, [("id", [(1,)])]),
        Stage({"drop": ["email"]}, [("id email", [(1, "secret-1")]), ("id mail", [(1, "secret-2")])], HELD, {"id": [(1,)]}),
    ],
    "lines_without_an_end": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage({"columns": [MASK]}, [("id note", [(3, "n3")])], ("'note' is held back",)),
        Stage(
            {"columns": [MASK, {"name": "note"}]},
            [("id post", [(2, "secret-3")])],
            ("'post' is held back",),
            {"id, email": [(1, "***"), (2, None), (3, None)]},
        ),
    ],
    "lines_with_both": [
        Stage({"columns": [MASK]}, [LOADED]),
        Stage(
            {"columns": [MASK]},
            [("id email note", [(2, "secret-3", "n2")]), ("id note", [(2, "n3")])],
            ("",),
            {"id, email, note": [(1, "***", None), (2, None, "n3")]},
        ),
    ],
}


@attrs.define
class Told:
    """What a history has shown at each stage."""

    plan: list[str] = attrs.field(factory=list)
    run: list[str] = attrs.field(factory=list)
    status: list[str] = attrs.field(factory=list)
    failed: list[bool] = attrs.field(factory=list)
    columns: list[list[str]] = attrs.field(factory=list)
    rows: list[list[dict[str, Any]]] = attrs.field(factory=list)


def write(lake: Lake, table: str, form: str, number: int, text: str, rows: Sequence[Sequence[Any]], known: set[Any]) -> None:
    """Write one file: the load for number 0; a row whose id is not among the ``known`` ones is an insert, and is known then."""
    names = text.split()
    ids = [row[names.index("id")] for row in rows]
    inserts = [one not in known for one in ids]
    known.update(ids)
    clock = f"202603011{number:03d}00"
    services = [("I" if is_insert else "U", COMMIT if number == 0 else timestamp(clock)) for is_insert in inserts]
    full = [
        {"Op": op, "dms_commit_ts": at, **dict(zip(names, map(str_or_none, row), strict=True)), "dms_change_seq": seq(number, clock, n)}
        for n, ((op, at), row) in enumerate(zip(services, rows, strict=True))
    ]
    columns = ["Op", "dms_commit_ts", *names, "dms_change_seq"]
    name = (f"LOAD{1:08X}.parquet" if number == 0 else cdc_name(number)).replace("parquet", form)
    if form == "parquet":
        lake.parquet(table, name, [(one, pa.string()) for one in columns], [[row[one] for one in columns] for row in full])
    elif form == "csv":
        lines = [",".join(columns), *(",".join(row[one] or "" for one in columns) for row in full)]
        lake.path(table, name).write_text("\n".join(lines) + "\n")
    else:
        lake.path(table, name).write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in full))


def seq(number: int, clock: str, counter: int) -> str:
    return "" if number == 0 else sequence(clock, counter + 1)


def str_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def play(lake: Lake, form: str, histories: Mapping[str, Sequence[Stage]]) -> dict[str, Told]:
    """Play all histories at once, stage by stage."""
    told = {name: Told() for name in histories}
    written = dict.fromkeys(histories, 0)
    known: dict[str, set[Any]] = {name: set() for name in histories}
    for number in range(max(map(len, histories.values()))):
        now = {name: stages[number] for name, stages in histories.items() if number < len(stages)}
        for name, stage in now.items():
            for text, rows in stage.rows:
                write(lake, f"public.{name}", form, written[name], text, rows, known[name])
                written[name] += 1
        config = lake.config({f"public.{name}": dict(stage.entry) for name, stage in now.items()}, bronze={"format": form})
        request = RunRequest(rebuild=frozenset(f"public.{name}" for name, stage in now.items() if stage.rebuild))
        plans = {one.table: one for one in preview(lake.spark, config, request=request)}
        report = run(lake.spark, config, request=request)
        states = {one.table: one for one in table_statuses(lake.spark, config)}
        for name in now:
            source, found = f"public.{name}", told[name]
            found.plan.append("\n".join([*plans[source].warnings, plans[source].error or ""]).strip())
            done = report.tables[source]
            found.run.append("\n".join([*done.warnings, done.error or ""]).strip())
            state = states[source]
            found.status.append("\n".join([*state.warnings, state.problem or "", state.last_error or ""]).strip())
            found.failed.append(done.error is not None)
            target = TargetTable(lake.spark, "lake", f"{lake.namespace}.{name}")
            found.columns.append(list(target.column_types()) if target.exists() else [])
            if target.exists():
                lake.spark.sql(f"REFRESH TABLE {target.sql_name}")
            rows = lake.spark.table(target.sql_name).orderBy("id").collect() if target.exists() else []
            found.rows.append([row.asDict() for row in rows])
    return told


TEXT_FORMS = ("masked", "dropped", "shown", "allowed", "added_later", "clear", "left_out", "renamed_in_silver", "forgotten")
"""Histories that lines of text are played with too."""
CASES = [
    *(("parquet", name) for name in HISTORIES),
    *(pytest.param(form, name, marks=pytest.mark.long) for form in ("csv", "json") for name in TEXT_FORMS),
    *(pytest.param("json", name, marks=pytest.mark.long) for name in HISTORIES_OF_LINES),
]


def stages_of(name: str) -> Sequence[Stage]:
    return HISTORIES[name] if name in HISTORIES else HISTORIES_OF_LINES[name]


@attrs.define
class Played:
    """The histories that were played, by the form of their files: all of a form at once, when the first is looked at."""

    spark: SparkSession
    warehouse: Path
    folders: pytest.TempPathFactory
    told: dict[str, dict[str, Told]] = attrs.field(factory=dict)

    def of(self, form: str, name: str) -> Told:
        if form not in self.told:
            names = {"parquet": [*HISTORIES], "csv": [*TEXT_FORMS], "json": [*TEXT_FORMS, *HISTORIES_OF_LINES]}[form]
            lake = Lake(self.spark, self.warehouse, self.folders.mktemp(f"names_{form}"))
            self.told[form] = play(lake, form, {one: stages_of(one) for one in names})
        return self.told[form][name]


@pytest.fixture(scope="module")
def played(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(spark, warehouse, tmp_path_factory)


def _says(text: str, words: Sequence[str]) -> bool:
    return not text if words == ("",) else all(word in text for word in words)


@pytest.mark.parametrize(("form", "name"), CASES)
def test_a_history_of_names(played: Played, form: str, name: str) -> None:
    told = played.of(form, name)
    for number, stage in enumerate(stages_of(name)):
        where = f"stage {number} of {name}"
        texts = {"plan": told.plan[number], "run": told.run[number], "status": told.status[number]}
        assert told.failed[number] == stage.fails, (where, texts)
        shown = [value for row in told.rows[number] for key, value in row.items() if not key.startswith("_cdc_")]
        assert not [value for value in shown if str(value).startswith("secret")], where
        # No advice to show what is held back.
        assert not [text for text in texts.values() if "held back" in text and "correct the name" in text], where
        is_question = any("renamed_from" in word for word in stage.words) and not stage.fails
        for kind, text in texts.items():
            # A question is asked before and when the files are merged; a plan and a status without the word are about no rebuild.
            is_silent = (kind == "status" and (is_question or (stage.rebuild and stage.fails))) or (kind == "plan" and stage.rebuild)
            if not is_silent:
                assert _says(text, stage.words), (where, kind, text)
        for columns, rows in stage.silver.items():
            found = [tuple(row[one] for one in columns.split(", ")) for row in told.rows[number]]
            assert found == [tuple(map(str_or_none, row[:1])) + tuple(row[1:]) for row in rows], (where, columns)
