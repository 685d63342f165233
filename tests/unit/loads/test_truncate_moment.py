"""Truncates: the object that tells of one, its place in the order, and what goes before it."""

from datetime import UTC, datetime

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, Truncate, parse_key, parse_truncate, truncate_key
from dms_iceberg.bronze.position import load_position, sequence_position, timestamp_position_sql, truncate_position
from dms_iceberg.cli.options import run_request
from dms_iceberg.config.model import Table
from dms_iceberg.context import BatchPlan, BranchState
from dms_iceberg.errors import BronzeError, ConfigError
from dms_iceberg.loads.truncate import refuse_later_loads
from dms_iceberg.loads.truncate_sql import truncate_sql
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.pending import FileBatch, Pending, applied_truncates, next_truncate, pending_files, until
from dms_iceberg.progress.progress import Progress

AT = "20260301100230450"
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def file(name: str) -> BronzeFile:
    found = parse_key("public/t/", f"public/t/{name}", 1, "e")
    assert found is not None
    return found


def load(name: str, modified: str) -> BronzeFile:
    return attrs.evolve(file(name), modified=modified)


def test_the_key_tells_and_no_file_has_such_a_name() -> None:
    key = truncate_key("public/t/", AT)
    assert key == "public/t/_repair/TRUNCATE-20260301-100230450.json"
    assert parse_truncate("public/t/", key) == Truncate(AT)
    assert parse_key("public/t/", key, 1, "e") is None
    for other in ("TRUNCATE-20260301-100230450.json", "_repair/20260301-100230450.json", "x/_repair/TRUNCATE-20260301-100230450.json"):
        assert parse_truncate("public/t/", f"public/t/{other}") is None


def test_changes_of_the_same_tick_come_after_it() -> None:
    position = truncate_position(2, AT)
    assert sequence_position(2, "2026030110023044" + "9" * 19, "20260301100300000") < position
    assert sequence_position(2, "2026030110023045" + "0" * 19, "20260301100230450") > position
    assert load_position(2, "9" * 17) < position < load_position(3, "0" * 17)
    assert "yyyyMMddHHmmssSSSSSS" in timestamp_position_sql(2, "c", "f", "r"), "a finer clock begins with the same digits"


def test_it_waits_for_older_files_and_for_no_others() -> None:
    files = [file("LOAD00000001.parquet"), file("20260301-100230450.parquet"), file("20260301-100230451.parquet")]
    assert until(files, AT) == files[:2]
    assert until(files, None) == files


def test_which_are_pending() -> None:
    told = [Truncate(at) for at in ("20260303000000000", "20261399000000000", AT, "20260301090000000")]
    progress = Progress(reload=1, reloaded_at="20260301080000000", truncated="20260301090000000")
    pending = pending_files([file("20260301-100230451.parquet"), *told], progress, "public.t", NOW)
    assert pending.truncates == ["20260301090000000", AT], "not one that is ahead of now, or no time at all"
    assert next_truncate(pending.truncates, progress) == AT
    assert applied_truncates(pending.truncates, progress) == ["20260301090000000"]
    batch = FileBatch((file("20260301-100230451.parquet"),), 0)
    assert BatchPlan(batch, BranchState(progress, 1), 1, ()).effective_truncates == ["20260301090000000"], "though bronze has lost it"
    assert BatchPlan(batch, BranchState(Progress(), None), None, ()).effective_truncates == []
    reloaded = Progress(reload=2, reloaded_at=AT)
    assert pending_files(told, reloaded, "public.t", NOW).truncates == [], "what was truncated before the load is not in it"


def test_progress_knows_how_far_changes_may_be_late() -> None:
    high = sequence_position(0, "2026030110000000" + "0" * 19, "20260301100100000")
    progress = Progress(high_water=high, truncated=AT)
    assert progress.reached == truncate_position(0, AT) > high
    assert progress.committed == "20260301100000000", "what may still come is not passed over by a listing"
    assert Progress.from_json(progress.to_json()) == progress
    old = progress.to_json().replace(f'"truncated":"{AT}",', "")
    assert Progress.from_json(old) == Progress(high_water=high)


LOADED, LATER = (load(f"LOAD0000000{number}.parquet", at) for number, at in ((1, "20260301100000000"), (2, AT)))
APPLIED = Progress(truncated=AT, first="20260301090000000")


@pytest.mark.parametrize(
    ("progress", "files", "truncates", "is_refused"),
    [
        (APPLIED, [LATER], [AT], True),
        (APPLIED, [LATER], [], True),
        (APPLIED, [LOADED], [AT], False),
        (APPLIED, [], [AT], False),
        (Progress(), [], [AT], True),
        (Progress(), [], [], False),
        (APPLIED, [LATER], [AT, "20260301110000000"], False),
        (Progress(truncated=AT, first="20260228220229000"), [LATER], [AT], False),
        (Progress(truncated=AT, first="20260228220231000"), [LATER], [AT], True),
        (Progress(), [LATER, file("20260228-220229000.parquet")], [AT], False),
        (Progress(reload=1, truncated=AT, first="20260228220229000"), [LATER], [AT], True),
    ],
)
def test_a_load_file_from_after_it(progress: Progress, files: list[BronzeFile], truncates: list[str], is_refused: bool) -> None:
    table = Table(source="public.t", target="s.t", key=("id",))
    pending = Pending(files, [LOADED, LATER], [], truncates)
    if not is_refused:
        refuse_later_loads(table, progress, pending)
        return
    with pytest.raises(BronzeError, match=r"LOAD00000002.parquet was written at 2026-03-01T10:02:30.45Z, after the truncate") as told:
        refuse_later_loads(table, progress, pending)
    assert ("remove public/t/_repair/TRUNCATE" in str(told.value)) == (progress.truncated != AT)


def test_statements() -> None:
    assert truncate_sql("t", table_mode("mirror"), 0, AT) == "DELETE FROM t WHERE _cdc_position < 'a02026030110023045'"
    soft = truncate_sql("t", table_mode("soft_delete"), 0, AT)
    assert soft is not None
    assert "_cdc_deleted_at = TIMESTAMP '2026-03-01 10:02:30.45'" in soft
    assert truncate_sql("t", table_mode("append"), 0, AT) is None


def test_the_request_of_a_run() -> None:
    word = run_request([], None, ["public.t"], "2026-03-01T11:02:30.45+01:00")
    assert (word.truncate, word.truncated_at) == (frozenset({"public.t"}), AT)
    now = run_request([], None, ["public.t"], None).truncated_at
    assert now.endswith("000"), "whole seconds"
    assert run_request([], None, [], None).truncated_at == ""
    for tables, time, says in (
        ([], "2026-03-01T10:00:00Z", "name the tables"),
        (["public.t"], "9999-03-01T10:00:00Z", "is not over yet"),
        (["public.t"], "2026-03-01T10:00:00", "not a time with its zone"),
        (["public.t"], "now", "not a time with its zone"),
    ):
        with pytest.raises(ConfigError, match=says):
            run_request([], None, tables, time)
