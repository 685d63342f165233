"""How far a reading has come: counts for a listener, and for the log now and then."""

import pytest

from dms_iceberg.verify.reading_progress import Read, Reading
from support.log_settings import logs_for


def test_a_listener_hears_every_thousand_rows_and_the_end_and_the_log_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    # Other tests may leave logs as they are for a person at a terminal.
    with logs_for(terminal=False):
        now, heard = [0.0], list[Read]()
        reading = Reading("public.t", 2, 3, heard.append, clock=lambda: now[0])
        reading.expected = 7
        for number, _ in enumerate(reading.counted(iter(["secret"] * 2_500))):
            now[0] = number / 100
        assert [read.rows for read in heard] == [1_000, 2_000, 2_500]
        assert heard[0] == Read(table="public.t", number=2, tables=3, rows=1_000, expected=7)
        list(reading.counted(iter(["secret"])))
        assert heard[-1].rows == 2_501
        logged = capsys.readouterr()
        assert "secret" not in logged.out + logged.err
        assert (logged.out + logged.err).count("verify_reading") == 1
