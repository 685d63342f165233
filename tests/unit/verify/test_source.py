"""Reading a source: no faster than asked for, in bounded pieces."""

from dms_iceberg.verify.source import Throttle, chunks


def test_a_throttle_waits_as_long_as_the_rows_need() -> None:
    now, waited = [0.0], []

    def wait(seconds: float) -> None:
        waited.append(round(seconds, 3))
        now[0] += seconds

    throttle = Throttle(100, clock=lambda: now[0], wait=wait)
    throttle.passed(50)
    now[0] += 10
    throttle.passed(100)
    throttle.passed(10)
    assert waited == [0.5, 1.0, 0.1]
    Throttle(None, wait=wait).passed(1_000_000)
    assert len(waited) == 3


def test_chunks_are_bounded_in_rows_and_in_size() -> None:
    assert list(chunks(["a"] * 5, 2, 100)) == [["a", "a"], ["a", "a"], ["a"]]
    assert list(chunks(["aaa", "b", "cc", "dd"], 10, 4)) == [["aaa", "b"], ["cc", "dd"]]
    assert list(chunks([], 10, 4)) == []
