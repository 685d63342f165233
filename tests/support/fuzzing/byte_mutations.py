"""What can befall the bytes of a file on their way."""

from collections.abc import Callable
from random import Random

ByteMutation = Callable[[bytes, Random], bytes]


def _range(data: bytes, random: Random, most: int = 64) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randint(1, most))


def flip_bit(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def flip_byte(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def cut_off(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))]


def cut_few(data: bytes, random: Random) -> bytes:
    return data[: -random.randint(1, min(12, len(data)))]


def begin_later(data: bytes, random: Random) -> bytes:
    return data[random.randint(1, min(40, len(data))) :]


def insert(data: bytes, random: Random) -> bytes:
    at, _ = _range(data, random)
    return (
        data[:at]
        + random.choice([random.randbytes(random.randint(1, 8)), b"\x00", b"\n", b"\r", b'"', b",", b"\\", b"\xff", b" "])
        + data[at:]
    )


def remove(data: bytes, random: Random) -> bytes:
    start, end = _range(data, random)
    return data[:start] + data[end:]


def duplicate(data: bytes, random: Random) -> bytes:
    start, end = _range(data, random, 200)
    return data[:end] + data[start:end] + data[end:]


def zero(data: bytes, random: Random) -> bytes:
    start, end = _range(data, random)
    return data[:start] + bytes(end - start) + data[end:]


def swap(data: bytes, random: Random) -> bytes:
    (a, b), (c, d) = sorted([_range(data, random), _range(data, random)])
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def twice(data: bytes, random: Random) -> bytes:
    return data + data


def trailing(data: bytes, random: Random) -> bytes:
    return data + random.choice([b"\x00" * 16, b"garbage", b"\n\n", random.randbytes(9), b"\x1a"])


BYTES: tuple[ByteMutation, ...] = (
    flip_bit,
    flip_byte,
    cut_off,
    cut_few,
    begin_later,
    insert,
    remove,
    duplicate,
    zero,
    swap,
    twice,
    trailing,
)
