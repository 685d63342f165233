"""One table of a watch is maintained at a time."""

import pytest

from dms_iceberg.watch.maintenance_turns import MaintenanceTurns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("dms_iceberg.watch.maintenance_turns.time.monotonic", lambda: now[0])
    return now


def test_the_next_turn_comes_after_as_long_as_the_last_one_took(clock: list[float]) -> None:
    turns = MaintenanceTurns()

    def asked() -> bool:
        with turns.turn() as is_mine:
            return is_mine

    with turns.turn() as first:
        assert first
        assert not asked(), "one at a time"
        clock[0] += 3.0
    assert not asked()
    clock[0] += 2.9
    assert not asked(), "asking takes no turn"
    clock[0] += 0.2
    assert asked()
    assert asked(), "one that took no time keeps nobody waiting"


def test_a_maintenance_that_fails_ends_its_turn(clock: list[float]) -> None:
    turns = MaintenanceTurns()
    with pytest.raises(OSError, match="gone"), turns.turn():
        clock[0] += 1.0
        raise OSError("gone")
    clock[0] += 1.0
    with turns.turn() as is_mine:
        assert is_mine
