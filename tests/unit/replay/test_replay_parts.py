"""The pure parts of listing and replaying the quarantine."""

from datetime import UTC, datetime

import attrs
import pytest

from dms_iceberg.bronze.keys import parse_key
from dms_iceberg.bronze.layout import layout_group, layout_text
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.cli.print_quarantine import print_quarantine
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv, Table
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import BranchState
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.examples import HIDDEN, shown_key
from dms_iceberg.quarantine.listing import OpenReason, OpenRows
from dms_iceberg.quarantine.records import parsed_sql, record_select
from dms_iceberg.quarantine.rejected_rows import chain, quarantine_sql, reason_is, rejected_since, stamp_sql
from unit.config.config_documents import SAMPLE

HASH = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"


def table(**entry: object) -> Table:
    return parse_config({**SAMPLE, "tables": {"public.t": {"target": "silver.t", "key": ["a", "B"], **entry}}}).tables["public.t"]


def test_key_is_shown_as_silver_has_it() -> None:
    assert shown_key('{"a":1,"B":"Ω \\"x\\""}', table(), ()) == '{"a":1,"B":"Ω \\"x\\""}'
    assert shown_key('{"a":null,"b":2}', table(), ()) == '{"a":null,"b":2}'
    assert shown_key(None, table(), ()) == "{}"


def test_what_is_no_key_now_or_masked_now_but_not_then_is_not_shown() -> None:
    masked = table(columns=[{"name": "a", "mask": "sha256"}])
    assert shown_key(f'{{"a":"{HASH}","B":1}}', masked, {"a"}) == f'{{"a":"{HASH}","B":1}}'
    assert shown_key('{"a":"secret","B":1}', masked, {"a"}) == f'{{"a":"{HIDDEN}","B":1}}'
    assert shown_key('{"a":17,"B":1,"ssn":"secret"}', masked, {"a"}) == f'{{"a":"{HIDDEN}","B":1}}'
    # The table has no mask yet: what looks like a hash is a value of the source.
    assert shown_key(f'{{"a":"{HASH}","B":1}}', masked, {"b"}) == f'{{"a":"{HIDDEN}","B":1}}'


def test_chain_ends_where_the_first_replay_began() -> None:
    parents = {"c": "b", "b": "a", "a": "", "lost": "a", "rolled back": "b"}
    assert chain(parents, "c") == ["c", "b", "a"]
    assert chain(parents, "a") == ["a"]
    assert chain(parents, "") == []


def test_reasons_are_chosen_with_or_without_their_detail() -> None:
    assert reason_is([]) == "true"
    assert reason_is(["cast", "rule: it's"]) == (
        "(reason IN ('cast', 'rule: it\\'s') OR concat(reason, ': ', detail) IN ('cast', 'rule: it\\'s'))"
    )


def test_layout_says_how_the_file_was_read() -> None:
    group = SchemaGroup(False, "000000017", (("Ω", "decimal(12,2)"), ("n", "void")), (), None)
    assert layout_group(layout_text(group, group.columns)) == group
    assert "`Ω` decimal(12,2), `_cdc_corrupt` string" in parsed_sql(group)
    assert "`n`" not in parsed_sql(group)


def test_record_takes_the_place_of_its_file() -> None:
    timed = SchemaGroup(True, "", (("id", "string"),), (), None)
    csv = Bronze(uri="b", format=BronzeFormat.CSV, csv=Csv(null="\\N"))
    select = record_select(timed, "s3://bronze/dms/", csv)
    assert "nullif(_cdc_parsed.`id`, '\\\\N') AS `id`" in select
    assert "concat('s3://bronze/dms/', file) AS _cdc_file" in select
    assert "coalesce(try_cast(right(position, 19) AS bigint), row_number) AS _cdc_row" in select
    sequenced = attrs.evolve(timed, columns=(("dms_change_seq", "string"),))
    assert "row_number AS _cdc_row" in record_select(sequenced, "s3://bronze/dms", csv)


def test_progress_carries_the_newest_replay() -> None:
    file = parse_key("public/t/", "public/t/20260301-100000000.parquet", 1, "e")
    assert file is not None
    replayed, day = attrs.evolve(Progress(), replay="0a1b"), LookBack(24, datetime.now(UTC))
    assert Progress.from_json(replayed.after([file], day, []).to_json()).replay == "0a1b"
    assert Progress.from_json(Progress().to_json()).replay == ""
    assert replayed.after([file], day, []).holds(file)
    assert not replayed.holds(file)


BUILT = attrs.evolve(Progress(epoch=2), built_since="20260302100000500")


def test_progress_carries_when_the_load_was_begun_to_be_built() -> None:
    assert Progress.from_json(BUILT.to_json()) == BUILT
    assert Progress.from_json(Progress().to_json()).built_since == ""
    assert BUILT.start.built_since == "", "a load that is built once more begins later"


@pytest.mark.parametrize(
    ("branch", "stamp"),
    [
        (BranchState(Progress(), None), "2026-03-02 10:00:00.400000"),
        (BranchState(BUILT, None), "2026-03-02 10:00:00.500000"),
        (BranchState(BUILT, None, "b", "20260302100000300"), "2026-03-02 10:00:00.500000"),
        (BranchState(BUILT, None, "b", "20260302100000600"), "2026-03-02 10:00:00.600000"),
        (BranchState(attrs.evolve(BUILT, built_since="20260302100000399"), None), "2026-03-02 10:00:00.400000"),
    ],
)
def test_no_row_is_rejected_before_its_build_began_whatever_the_clock_says(branch: BranchState, stamp: str) -> None:
    assert stamp_sql(datetime(2026, 3, 2, 10, 0, 0, 400_000, UTC), branch) == f"TIMESTAMP '{stamp}'"


def test_a_rejection_that_is_written_late_does_not_get_older() -> None:
    sql = quarantine_sql("q", "s")
    assert "t.quarantined_at = greatest(t.quarantined_at, s.quarantined_at)" in sql and "t.reason = s.reason" in sql
    assert rejected_since(BUILT.built_since) == "quarantined_at >= TIMESTAMP '2026-03-02 10:00:00.500000'"
    assert rejected_since("") == "true"


def test_list_shows_what_a_load_has_rejected_that_is_being_built(capsys: pytest.CaptureFixture[str]) -> None:
    reason = OpenReason(reason="rule", detail="small", rows=2, keys=2, first=None, last=None, examples=())
    built = OpenRows(table="public.t", target="silver.t", building={"2": (reason,), "2.1": (reason,)})
    print_quarantine([built, OpenRows(table="u", target="s.u")], config="shop.json")
    assert capsys.readouterr().out.splitlines() == [
        "public.t: 2 rows that load 2, which is being built, has rejected",
        "  rule: small",
        "    2 rows of 2 keys",
        "public.t: 2 rows that load 2.1, which is being built, has rejected",
        "  rule: small",
        "    2 rows of 2 keys",
        "What a load has rejected is open, and can be replayed, once the load is complete. If columns, filter or rules are corrected "
        "before, the next run builds it again.",
        "next: dms-iceberg status shop.json",
    ]
    print_quarantine([attrs.evolve(built, reasons=(reason,))], config="shop.json")
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "silver keeps the last good version of these keys. Once the cause is corrected:",
        "next: dms-iceberg quarantine replay shop.json",
    ]
    document = built.to_document()
    assert (document["rows"], [load for load, reasons in document["building"].items() if reasons[0]["rows"] == 2]) == (0, ["2", "2.1"])


def test_list_names_what_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    reason = OpenReason(reason="rule", detail="[red]", rows=1234, keys=1000, first=None, last=None, examples=())
    print_quarantine([OpenRows(table="public.t", target="silver.t", reasons=(reason,)), OpenRows(table="u", target="s.u", error="u: odd")])
    shown = capsys.readouterr().out
    assert "rule: [red]" in shown and "1,234" in shown and "failed: u: odd" in shown
