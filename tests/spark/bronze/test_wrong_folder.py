"""A wrong folder, a wrong name, and files that are named almost as DMS names them: said loudly, never a table that looks healthy."""

import json

import attrs
import pyarrow as pa
import pytest
import structlog

from dms_iceberg.cli.app import main
from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext, RunRequest
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.watch.table import WatchedTable
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
TYPED = {"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "string"}]}
T1 = "20260301100100"


@attrs.frozen
class Seen:
    """What `plan`, `run` and `status` make of the only table."""

    plan: TablePreview
    report: TableReport
    status: list[str]

    @property
    def texts(self) -> list[str]:
        """What each of them says of missing files, "" where nothing is said."""
        of = ([*self.plan.warnings, self.plan.no_files or ""], self.report.warnings, self.status)
        return [" ".join(text for text in texts if "no files under" in text) for texts in of]


def look(lake: Lake, config: Config, *, told: bool = False) -> Seen:
    word = RunRequest(load_complete=frozenset(config.tables) if told else frozenset())
    (plan,) = preview(lake.spark, config, request=word)
    (report,) = run(lake.spark, config, request=word).tables.values()
    assert report.error is None, report.error
    (status,) = table_statuses(lake.spark, config)
    return Seen(plan, report, status.warnings)


def exists(lake: Lake, table: str) -> bool:
    return lake.spark.catalog.tableExists(f"lake.{lake.namespace}.`{table}`")


@pytest.mark.parametrize(
    ("uri", "table", "says"),
    [
        ("dms", "sales.order", "no files under file://{0}/dms/sales/order/; folders found in file://{0}/dms/sales/: customers, orders; "
         "did you mean 'orders'?"),
        ("dms", "sale.orders", "folders found in file://{0}/dms/: sales; did you mean 'sales'?"),
        ("dms/sales", "sales.orders", "folders found in file://{0}/dms/sales/: customers, orders; bronze.uri ends with the folder of the "
         "schema, so set it to file://{0}/dms."),
        ("dmss", "sales.orders", "nothing at all lies below file://{0}/dmss/; did you mean file://{0}/dms?"),
        ("dms/sales/customers", "sales.orders", "file://{0}/dms/sales/customers/ has files and no folder"),
        ("dms", "sales.unlike", "folders found in file://{0}/dms/sales/: customers, orders. Wait"),
    ],
)  # fmt: skip
def test_wrong_folder_is_said_with_the_nearest_ones(lake: Lake, uri: str, table: str, says: str) -> None:
    lake.bronze = lake.folder / "dms"
    for name in ("orders", "customers"):
        lake.load(f"sales.{name}", ID_V, [(1, "a")])
    lake.bronze = lake.folder / uri
    config = lake.config({table: TYPED})
    for _ in range(2):
        seen = look(lake, config)
        for text in seen.texts:
            assert says.format(lake.folder) in text
        assert (seen.plan.is_bad, seen.plan.sql, seen.plan.changes_rows) == (True, [], False)
        assert f"--load-complete {table}" in seen.texts[0]
        assert not exists(lake, table.split(".")[1])


def test_plan_ends_with_1_and_run_with_0(lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lake.load("public.t", ID_V, [(1, "a")])
    document = lake.folder / "config.json"
    document.write_text(json.dumps(lake.document({"public.tt": TYPED})))
    monkeypatch.setattr("dms_iceberg.spark.session.open_session", lambda _, **__: lake.spark)
    for command, code in (("plan", 1), ("run", 0), ("status", 0)):
        with pytest.raises(SystemExit) as ended:
            main([command, str(document)])
        assert ended.value.code == code
        assert "folders found" in capsys.readouterr().out.replace("\n", " ")


def test_existing_table_whose_folder_is_empty_is_told(lake: Lake) -> None:
    """Nothing at all in bronze is a wrong `bronze.uri`; a table's own files may have expired."""
    path = lake.load("public.t", ID_V, [(1, "a")])
    lake.load("public.other", ID_V, [(1, "a")])
    config = lake.config({"public.t": {}})
    assert look(lake, config).texts == ["", "", ""]
    path.unlink()
    seen = look(lake, config)
    assert ["Files are merged into" in text and "folders found" in text for text in seen.texts] == [True] * 3
    assert (seen.plan.is_bad, seen.report.batches) == (False, [])
    lake.bronze = lake.folder / "bronz"
    moved = lake.config({"public.t": {}})
    (plan,), (status,) = preview(lake.spark, moved), table_statuses(lake.spark, moved)
    texts = [plan.error or "", lake.run_one(moved, fails=True).error or "", status.problem or ""]
    words = f"the files below {lake.folder}/bronze,", "If bronze.uri is wrong, correct it"
    assert [all(word in text for word in words) for text in texts] == [True] * 3
    assert lake.rows("t", "id, v") == [(1, "a")]


def test_empty_table_is_made_when_the_operator_says_so(lake: Lake) -> None:
    lake.load("public.other", ID_V, [(1, "a")])
    config = lake.config({"public.t": TYPED})
    assert look(lake, config).plan.is_bad
    seen = look(lake, config, told=True)
    assert (seen.texts, seen.plan.is_bad) == (["", "", ""], False)
    assert len(seen.plan.sql) == 1
    assert lake.rows("t") == []
    # Said once, it is known.
    seen = look(lake, config)
    assert (seen.texts, seen.plan.is_bad) == (["", "", ""], False)
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", ID_V, [("U", T1, 61, 1, "b")])
    assert look(lake, config).report.applied == 2
    assert lake.rows("t", "id, v") == [(1, "b")]


def test_empty_table_of_an_earlier_version_is_doubted_until_the_operator_says_so(lake: Lake) -> None:
    lake.load("public.other", ID_V, [(1, "a")])
    config = lake.config({"public.t": TYPED})
    TargetTable(lake.spark, "lake", f"{lake.namespace}.t").create({"id": "bigint", "v": "string"}, config.tables["public.t"])
    assert look(lake, config).plan.is_bad
    look(lake, config, told=True)
    assert look(lake, config).texts == ["", "", ""]


def test_empty_table_is_made_when_dms_says_so(lake: Lake) -> None:
    lake.enter(1)
    for number, (table, epoch, rows) in enumerate([("t", 1, 0), ("filled", 1, 3), ("older", 0, 0)]):
        marker = {"schema": "public", "table": table, "epoch": epoch, "rows": rows, "began": "2026-03-01T10:00:00+00:00"}
        open_store(str(lake.bronze)).put(f"_load_complete/public/{table}.json", json.dumps(marker).encode())
        seen = look(lake, lake.config({f"public.{table}": TYPED}))
        assert (exists(lake, table), seen.plan.is_bad) == ((True, False) if number == 0 else (False, True))
        assert ["3 rows were loaded" in text for text in seen.texts] == [table == "filled"] * 3


def test_operator_is_not_believed_over_empty_bronze(lake: Lake) -> None:
    config = lake.config({"public.t": TYPED})
    (report,) = run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"}))).tables.values()
    assert "is empty" in (report.error or "")
    assert not exists(lake, "t")


def test_a_gap_in_the_numbers_of_load_files_is_told_by_every_command(lake: Lake) -> None:
    for number in (1, 3):
        lake.load("public.t", ID_V, [(number, "a")], number)
    config = lake.config({"public.t": TYPED})
    # Merged or not, the rows between are missing; once they come, nothing is.
    for _ in range(2):
        seen = look(lake, config)
        for warnings in (seen.plan.warnings, seen.report.warnings, seen.status):
            (warning,) = warnings
            assert warning.startswith("public.t: public/t/LOAD00000002.parquet: not there")
    assert lake.rows("t", "id, v") == [(1, "a"), (3, "a")]
    lake.load("public.t", ID_V, [(2, "a")], 2)
    assert look(lake, config).status == []
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "a"), (3, "a")]
    # Bronze may keep a load for a while only.
    lake.path("public.t", "LOAD00000001.parquet").unlink()
    assert look(lake, config).status == []


NEAR = ["20260301-100130000-1.parquet", "2026/03/01/20260301-10013000.parquet", "20260301-100130000.PARQUET", "LOAD0000000a.parquet"]


def test_near_misses_are_told_by_every_command(lake: Lake) -> None:
    for name in NEAR:
        lake.changes("public.t", name, ID_V, [("I", T1, 61, 1, "a")])
    config = lake.config({"public.t": TYPED})
    seen = look(lake, config)
    assert not exists(lake, "t")
    lake.load("public.t", ID_V, [(1, "a")])
    for one in (seen, look(lake, config)):
        assert one.texts == ["", "", ""]
        for warnings in (one.plan.warnings, one.report.warnings, one.status):
            (warning,) = warnings
            assert f"public/t/{NEAR[0]}" in warning
            assert "and 1 more: not read" in warning
    assert lake.rows("t", "id, v") == [(1, "a")]
    job = RunContext(lake.spark, config, open_store(config.bronze.uri), "watch")
    table = WatchedTable(job, config.tables["public.t"], open_store(config.state_uri), 0.1, None)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            table.turn(woken=True)
    assert sum("not read" in entry.get("warning", "") for entry in logs) == 1
