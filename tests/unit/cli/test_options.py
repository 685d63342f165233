"""What the command line refuses, it refuses before Spark starts."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dms_iceberg.cli.app import main
from dms_iceberg.cli.options import percentage, run_request, seconds, taking_over, words_of
from dms_iceberg.context import NO_REQUEST
from dms_iceberg.spark import session

COMMANDS = {
    "run": ["run"],
    "plan": ["plan"],
    "status": ["status"],
    "watch": ["watch"],
    "maintain": ["maintain"],
    "quarantine list": ["quarantine", "list"],
    "quarantine replay": ["quarantine", "replay"],
    "verify": ["verify"],
}
REQUESTS = {
    "a load that is complete": ["--load-complete", "public.x"],
    "a rebuild": ["--rebuild", "public.x"],
    "a truncate": ["--truncate", "public.x"],
    "a table that is not chosen": ["--table", "public.t", "--rebuild", "public.u"],
    "a reload of all tables": ["--reload-started-at", "2026-03-01T10:00:00Z"],
}


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def start(*_: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr(session, "open_session", start)
    path = tmp_path / "config.json"
    tables = {f"public.{name}": {"target": f"silver.{name}", "key": ["id"]} for name in "tu"}
    catalog = {"name": "lake", "type": "hadoop", "warehouse": str(tmp_path / "lake")}
    content = {"version": 1, "pipeline": "shop", "bronze": {"uri": str(tmp_path / "bronze")}, "catalog": catalog, "tables": tables}
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_unknown_table_is_refused_before_spark_starts(document: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    source = ["--source", "postgresql://reader@localhost:1/shop"] if words == ["verify"] else []
    with pytest.raises(SystemExit) as ended:
        main([*words, document, *source, "--table", "public.tt"])
    assert ended.value.code == 2
    assert "--table public.tt: not among the configured tables" in capsys.readouterr().err


@pytest.mark.parametrize("words", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_request_that_contradicts_the_document_is_refused_before_spark_starts(document: str, command: str, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, document, *words])
    assert ended.value.code == 2


def test_the_command_line_is_there_without_spark() -> None:
    """Importing Spark takes longer than checking a document."""
    check = "import sys, dms_iceberg.cli.app; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def with_order(document: str, mode: str = "mirror", **change: None) -> None:
    """Let the files of a document lack some of the columns that order changes."""
    content = json.loads(Path(document).read_text(encoding="utf-8"))
    content["bronze"]["change"] = change
    content["tables"]["public.u"]["mode"] = mode
    Path(document).write_text(json.dumps(content), encoding="utf-8")


BY_FILE = {"timestamp_column": None, "sequence_column": None}


@pytest.mark.parametrize("mode", ["append", "history"])
@pytest.mark.parametrize("words", [["validate"], *COMMANDS.values()], ids=["validate", *COMMANDS])
def test_modes_that_keep_every_change_need_commit_times(
    document: str, words: list[str], mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ["--source", "postgresql://reader@localhost:1/shop"] if words == ["verify"] else []
    with_order(document, mode, **BY_FILE)
    with pytest.raises(SystemExit) as ended:
        main([*words, document, *source])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"tables.\"public.u\".mode: found '{mode}', but bronze.change.timestamp_column and sequence_column are null" in said
    assert "Name the column that the task writes (TimestampColumnName, $AR_H_CHANGE_SEQ); allowed without: 'mirror', 'soft_delete'" in said
    assert "public.t" not in said


def test_a_history_needs_commit_times_beside_a_sequence(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    with_order(document, "history", timestamp_column=None)
    with pytest.raises(SystemExit):
        main(["validate", document])
    assert "found 'history', which needs the commit times of changes; name bronze.change.timestamp_column" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_moment_of_a_truncate_needs_commit_times(document: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with_order(document, **BY_FILE)
    with pytest.raises(SystemExit) as ended:
        main([command, document, "--truncate", "public.t", "--truncated-at", "2026-03-01T10:00:00Z"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--truncate: bronze.change.timestamp_column and sequence_column are null, so changes have no commit times" in said
    assert "Load the tables again" in said


@pytest.mark.parametrize("change", [BY_FILE, {"sequence_column": None}], ids=["neither", "timestamp"])
def test_a_repair_needs_a_sequence(document: str, change: dict[str, None], capsys: pytest.CaptureFixture[str]) -> None:
    """It is said before the source is connected to: nothing listens there."""
    with_order(document, **change)
    with pytest.raises(SystemExit) as ended:
        main(["verify", document, "--source", "postgresql://reader@localhost:1/shop", "--repair"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--repair: bronze.change.sequence_column is null, so a repair would have no exact place in the order of changes" in said
    assert "Load the tables again instead; where the task writes $AR_H_CHANGE_SEQ" in said


@pytest.mark.parametrize("text", ["2592001h", "876001h", "9" * 400])
def test_a_duration_is_at_most_a_hundred_years(text: str) -> None:
    assert seconds("876000h") == 876_000 * 3_600
    with pytest.raises(typer.BadParameter, match="more than a hundred years"):
        seconds(text)


@pytest.mark.parametrize(
    "options",
    [
        ["--truncate", "public.t", "--truncated-at", "0001-01-01T00:00:00+14:00"],
        ["--table", "public.t", "--reload-started-at", "9999-12-31T23:59:59-14:00"],
    ],
)
def test_a_time_that_utc_does_not_have_is_refused(document: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", document, *options])
    assert left.value.code == 2
    assert f"{options[2]} '{options[3]}': not a time of the years 1 to 9999 in UTC" in capsys.readouterr().err


def test_the_words_of_a_run_are_those_that_were_given() -> None:
    given = (
        ["public.l"],
        "2026-03-01T10:00:00+01:00",
        ["public.a b"],
        "2026-03-01T10:00:00.5Z",
        ["public.r"],
        ["public.a b=2", "public.l=0"],
    )
    request = taking_over(run_request(*given), ["public.o"])
    words = shlex.split(words_of("my shop.json", ["public.l"], request))
    assert words[0] == "my shop.json"
    pairs = [*zip(words[1::2], words[2::2], strict=True)]
    values = {name: [value for option, value in pairs if option == name] for name, _ in pairs}
    assert values == {
        "--table": ["public.l"],
        "--rebuild": ["public.r"],
        "--load-complete": ["public.l"],
        "--reload-started-at": ["2026-03-01T09:00:00Z"],
        "--truncate": ["public.a b"],
        "--truncated-at": ["2026-03-01T10:00:00.5Z"],
        "--confirm-rows": ["public.a b=2", "public.l=0"],
        "--take-over": ["public.o"],
    }
    assert words_of("shop.json", [], NO_REQUEST) == "shop.json"
    alone = run_request([], None, ["public.t"], "2026-03-01T10:00:00Z", [], ["2"])
    assert words_of("shop.json", [], alone) == "shop.json --truncate public.t --truncated-at 2026-03-01T10:00:00Z --confirm-rows 2"


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5%", 0.005), (" 100 % ", 1.0), ("0%", 0.0)])
def test_a_share_is_a_percentage(text: str, share: float) -> None:
    assert percentage(text) == share


@pytest.mark.parametrize("text", ["", "%", "1", "0.01", "101%", "-1%", "1e1%", "all", "\u0661%"])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="write a percentage such as 1%"):
        percentage(text)


@pytest.mark.parametrize("option", ["--dry-run", "--insert-missing"])
def test_options_of_a_repair_need_one(document: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", document, "--source", "postgresql://reader@localhost:1/shop", option])
    assert ended.value.code == 2
    assert "need --repair" in capsys.readouterr().err
