"""SIGTERM and Ctrl-C as a wish: never lost, raised only where somebody looks."""

import os
import signal

import pytest

from dms_emulator.stop_request import Stopped, StopRequest


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_is_raised_where_somebody_looks(number: signal.Signals, code: int) -> None:
    with StopRequest() as stop:
        stop.check()
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        with pytest.raises(Stopped, match=number.name) as stopped:
            stop.check()
    assert stopped.value.exit_code == code


def test_a_signal_during_a_finalizer_is_not_lost() -> None:
    """A demo worked on for its five minutes: SIGTERM had come while a database connection was let go of."""

    class Finalized:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            # Python calls the handler between two instructions: here at the latest.
            list(range(10))

    with StopRequest() as stop:
        Finalized()
        with pytest.raises(Stopped):
            stop.check()


def test_others_have_the_signals_again_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with StopRequest():
        assert before != [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_sigterm_after_another_signal_changes_nothing(first: signal.Signals) -> None:
    """`timeout 60 make demo`: the group gets SIGTERM, and `make` passes its own on; the second one left the server behind."""
    with StopRequest() as stop:
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped, match=first.name):
            stop.check()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_ctrl_c_after_another_signal_ends_at_once(first: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        list(range(10))

    with StopRequest():
        os.kill(os.getpid(), first)
        assert "Ctrl-C ends it at once" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            interrupted()
