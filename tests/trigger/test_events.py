"""Which messages tell of change files, and which nobody can read."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import parse_key
from events import Bronze, News, UnreadableMessageError, read_message
from support.notifications import FILE, NOON, s3_body, s3_record

BRONZE = Bronze("bronze", "dms/shop/")


class TestKeys:
    @pytest.mark.parametrize(
        "key",
        [
            "dms/shop/public/orders/LOAD00000001.parquet",
            "dms/shop/public/orders/LOAD0000000A.csv.gz",
            "dms/shop/public/orders/seg 1/LOAD00000001.csv",
            "dms/shop/public/orders/SEGMENT3_LOAD00000007.json.gz",
            "dms/shop/public/orders/20260314-115959123.parquet",
            "dms/shop/public/orders/2026/03/14/20260314-115959123.jsonl",
            "dms/shop/epoch-2/public/orders/20260314-115959123.parquet",
            "dms/shop/Größe/a+b=c/20260314-115959123.csv",
        ],
    )
    def test_change_files(self, key: str) -> None:
        assert BRONZE.holds("bronze", key)

    @pytest.mark.parametrize(
        "key",
        [
            "dms/shop/awsdms_status/awsdms_status/LOAD00000001.parquet",
            "dms/shop/control/awsdms_history/20260314-115959123.csv",
            "dms/shop/public/orders/awsdms_validation_failures_v1/20260314-115959123.csv",
            "dms/shop/public/orders/",
            "dms/shop/public/orders/20260314-115959123.parquet.tmp",
            "dms/shop/public/orders/.20260314-115959123.parquet",
            "dms/shop/public/orders/20260314-1159.parquet",
            "dms/shop/public/orders/load00000001.parquet",
            "dms/shop/public/orders/_SUCCESS",
            "dms/shop/orders/20260314-115959123.parquet",
            "dms/shop/20260314-115959123.parquet",
            "dms/shopping/public/orders/20260314-115959123.parquet",
            "other/public/orders/20260314-115959123.parquet",
        ],
    )
    def test_other_objects(self, key: str) -> None:
        assert not BRONZE.holds("bronze", key)

    @pytest.mark.parametrize(
        ("key", "reports"),
        [
            ("dms/shop/awsdms_suspended_tables/LOAD00000001.parquet", True),
            ("dms/shop/control/awsdms_suspended_tables/20260314-115959123.csv", True),
            ("dms/shop/control/awsdms_apply_exceptions/20260314-115959123.csv", True),
            ("dms/shop/public/orders/awsdms_validation_failures_v1/20260314-115959123.csv", True),
            ("dms/shop/awsdms_status/LOAD00000001.parquet", False),
            ("dms/shop/awsdms_suspended_tables/", False),
            ("dms/shop/public/awsdms_suspended_tables_too/LOAD00000001.parquet", False),
            ("other/awsdms_suspended_tables/LOAD00000001.parquet", False),
        ],
    )
    def test_reports_of_dms(self, key: str, reports: bool) -> None:
        assert BRONZE.reports("bronze", key) is reports
        assert not BRONZE.reports("silver", key)
        assert not (reports and BRONZE.holds("bronze", key))

    def test_other_bucket(self) -> None:
        assert not BRONZE.holds("silver", FILE)

    def test_whole_bucket(self) -> None:
        assert Bronze("bronze", "").holds("bronze", "public/orders/20260314-115959123.parquet")
        assert not Bronze("bronze", "").holds("bronze", "orders/20260314-115959123.parquet")

    @given(
        folders=st.lists(st.sampled_from(["2026", "03", "s1", "awsdms_x", "_repair", "x.parquet", ""]), max_size=3),
        name=st.from_regex(r"(SEGMENT[0-9]?_)?(LOAD|load)?[0-9A-G]{8}(-[0-9]{8,9})?\.(parquet|csv|json|jsonl|txt)(\.gz)?", fullmatch=True)
        | st.text(alphabet="LOAD01-.csvgz", max_size=14),
    )
    @example(folders=[], name="LOAD00000001.parquet")
    @example(folders=["2026", "03"], name="20260314-115959123.csv.gz")
    def test_same_grammar_as_the_job(self, folders: list[str], name: str) -> None:
        below = "/".join([*folders, name])
        job_takes_it = parse_key("public/orders/", f"public/orders/{below}", 1, "etag") is not None
        assert BRONZE.holds("bronze", f"dms/shop/public/orders/{below}") is job_takes_it


class TestForms:
    def test_s3(self) -> None:
        assert read_message(s3_body(s3_record()), BRONZE) == News(1, 0, NOON)

    def test_keys_are_decoded(self) -> None:
        key = "dms/shop/Vertrieb Süd/a+b/20260314-115959123.parquet"
        assert read_message(s3_body(s3_record(quote_plus(key, safe="/"))), BRONZE).files == 1
        assert read_message(s3_body(s3_record(quote_plus(key))), BRONZE).files == 1

    def test_newest_of_several_records_counts(self) -> None:
        late = NOON + timedelta(minutes=3)
        later_but_foreign = s3_record("dms/shop/readme.txt", late + timedelta(hours=1))
        body = s3_body(s3_record(), s3_record(at=late), later_but_foreign)
        assert read_message(body, BRONZE) == News(2, 1, late)

    @pytest.mark.parametrize("event", ["ObjectRemoved:Delete", "ObjectRestore:Completed", "LifecycleTransition"])
    def test_other_events_of_s3_are_ignored(self, event: str) -> None:
        assert read_message(s3_body(s3_record(event=event)), BRONZE) == News(0, 1, None)

    @pytest.mark.parametrize("event", ["ObjectCreated:Put", "ObjectCreated:Copy", "ObjectCreated:CompleteMultipartUpload"])
    def test_all_ways_of_creation(self, event: str) -> None:
        assert read_message(s3_body(s3_record(event=event)), BRONZE).files == 1

    def test_s3_test_event(self) -> None:
        body = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-03-14T12:00:00.000Z", "Bucket": "bronze", "RequestId": "1"}
        assert read_message(json.dumps(body), BRONZE) == News(0, 0, None)

    def test_in_the_envelope_of_sns(self) -> None:
        body = {"Type": "Notification", "MessageId": "1", "TopicArn": "arn", "Message": s3_body(s3_record())}
        assert read_message(json.dumps(body), BRONZE) == News(1, 0, NOON)

    @staticmethod
    def event_bridge(kind: str, key: str) -> str:
        detail = {"version": "0", "bucket": {"name": "bronze"}, "object": {"key": key, "size": 1}}
        return json.dumps({"version": "0", "source": "aws.s3", "detail-type": kind, "time": "2026-03-14T12:00:00Z", "detail": detail})

    def test_event_bridge_gives_keys_as_they_are(self) -> None:
        assert read_message(self.event_bridge("Object Created", "dms/shop/public/a%2Bb/20260314-115959123.csv"), BRONZE).newest == NOON
        assert read_message(self.event_bridge("Object Created", "dms/shop/public%2Forders/20260314-115959123.csv"), BRONZE).files == 0

    def test_other_events_of_event_bridge_are_ignored(self) -> None:
        assert read_message(self.event_bridge("Object Deleted", FILE), BRONZE) == News(0, 1, None)

    def test_scheduled_event_is_a_wake_up(self) -> None:
        body = {"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "time": "2026-03-14T12:00:00Z", "detail": {}}
        assert read_message(json.dumps(body), BRONZE) == News(0, 0, NOON, is_clock=True)

    def test_time_without_a_zone_is_utc(self) -> None:
        record = s3_record() | {"eventTime": "2026-03-14T12:00:00"}
        assert read_message(s3_body(record), BRONZE).newest == datetime(2026, 3, 14, 12, tzinfo=UTC)


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


class TestUnreadable:
    @pytest.mark.parametrize(
        "body",
        [
            "",
            "secret {",
            "[]",
            "[" * 100_000,
            '"secret"',
            "{}",
            '{"secret": 1}',
            '{"Records": 5}',
            '{"Records": [5]}',
            '{"Records": null}',
            '{"Records": [{"eventName": null}]}',
            '{"Type": "Notification", "Message": "secret"}',
            '{"source": "aws.glue", "detail-type": "Glue Job State Change", "time": "2026-03-14T12:00:00Z"}',
            '{"source": "aws.events", "detail-type": "Scheduled Event"}',
            '{"source": "aws.events", "detail-type": "Scheduled Event", "time": "secret"}',
            s3_body(s3_record() | {"eventTime": "secret"}),
            s3_body(s3_record() | {"eventTime": "+999999-01-01T00:00:00Z"}),
            s3_body(without(s3_record(), "eventTime")),
            s3_body(without(s3_record(), "s3")),
            s3_body(s3_record() | {"s3": {"bucket": {"name": "bronze"}, "object": {"key": None}}}),
        ],
    )
    def test_is_refused_without_being_quoted(self, body: str) -> None:
        with pytest.raises(UnreadableMessageError) as raised:
            read_message(body, BRONZE)
        assert "secret" not in str(raised.value)

    @given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
    def test_nothing_else_is_raised_for_any_json(self, document: Any) -> None:
        try:
            read_message(json.dumps(document), BRONZE)
        except UnreadableMessageError:
            return
        assert isinstance(document, dict)
