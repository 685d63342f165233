"""Logs: a JSON object a line for machines, errors alone beside a person's tables."""

import json
from collections.abc import Iterator

import pytest
import structlog

from dms_iceberg.logs import configure_logs


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_without_a_terminal_every_event_is_a_json_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(terminal=False)
    log = structlog.get_logger("dms_iceberg").bind(table="public.t")
    log.debug("not shown")
    log.info("batch_merged", rows_read=2)
    try:
        raise ValueError("wrong")
    except ValueError:
        log.exception("table_failed")
    shown = capsys.readouterr()
    merged, failed = map(json.loads, shown.err.splitlines())
    assert shown.out == ""
    assert merged.pop("timestamp").endswith("Z")
    assert merged == {"event": "batch_merged", "level": "info", "table": "public.t", "rows_read": 2}
    assert (failed["level"], "ValueError: wrong" in failed["exception"]) == ("error", True)


def test_beside_a_terminals_tables_only_errors_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(terminal=True)
    log = structlog.get_logger("dms_iceberg")
    log.info("batch_merged")
    log.warning("not that bad")
    log.error("table_failed", table="public.t")
    (line,) = capsys.readouterr().err.splitlines()
    assert "table_failed" in line and "public.t" in line
