"""Positions in MySQL's binary log: a file and an offset in it, as one number that rises along the log."""

from dms_emulator.errors import EmulatorError

_OFFSET_BITS = 32


class BinlogPositions:
    """Numbers and texts of the positions of one server.

    Args:
        file: the name of any file of its log, such as ``binlog.000012``.
    """

    def __init__(self, file: str) -> None:
        self._base, _, digits = file.rpartition(".")
        self._width = len(digits)

    def number(self, file: str, offset: int) -> int:
        """Return a position as a number.

        Raises:
            EmulatorError: the file is none of the server's log.
        """
        base, _, digits = file.rpartition(".")
        if base != self._base or not digits.isdecimal() or not 0 <= offset < 1 << _OFFSET_BITS:
            raise EmulatorError(f"binary log position {file}:{offset}: expected {self._base}.NUMBER:OFFSET")
        return int(digits) << _OFFSET_BITS | offset

    def parts(self, position: int) -> tuple[str, int]:
        """Return file and offset."""
        return f"{self._base}.{position >> _OFFSET_BITS:0{self._width}d}", position & (1 << _OFFSET_BITS) - 1

    def text(self, position: int) -> str:
        """Return ``file:offset``."""
        file, offset = self.parts(position)
        return f"{file}:{offset}"

    def parse(self, text: str) -> int:
        """Read ``file:offset``.

        Raises:
            EmulatorError: it is no such text, or the file is none of the server's log.
        """
        file, colon, offset = text.rpartition(":")
        if not colon or not offset.isdecimal():
            raise EmulatorError(f"binary log position {text!r}: expected {self._base}.NUMBER:OFFSET")
        return self.number(file, int(offset))
