"""What a compiled file of Linux asks of the machine that it runs on: libraries, and the version of glibc."""

import re
import struct
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"
"""64 bits, little-endian: x86_64."""
_LOADED, _DYNAMIC = 1, 2
_NEEDED, _STRINGS = 1, 5


def is_elf(path: Path) -> bool:
    """Whether a file is compiled code for x86_64."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def needed_libraries(path: Path) -> list[str]:
    """Return the names of the libraries that the loader looks for."""
    data = path.read_bytes()
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + at * size) for at in range(count)]
    tables = [(offset, length) for kind, _, offset, _, _, length, _, _ in headers if kind == _DYNAMIC]
    if not tables:
        return []
    offset, length = tables[0]
    entries = [struct.unpack_from("<QQ", data, at) for at in range(offset, offset + length, 16)]
    address = next(value for tag, value in entries if tag == _STRINGS)
    strings = next(
        place + address - base for kind, _, place, base, _, held, _, _ in headers if kind == _LOADED and base <= address < base + held
    )
    return [_text(data, strings + value) for tag, value in entries if tag == _NEEDED]


def needed_glibc(path: Path) -> tuple[int, ...]:
    """Return the newest version of glibc that a file asks for; () if it asks for none."""
    versions = re.findall(rb"\0GLIBC_(\d+(?:\.\d+)+)(?=\0)", path.read_bytes())
    return max((tuple(int(part) for part in version.split(b".")) for version in versions), default=())


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
