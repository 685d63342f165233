"""A source type as DMS maps it, and the text that a change file shows of the source's text."""

from collections.abc import Callable
from typing import Final

import attrs

from dms_iceberg.dms.convert import FIRST_TIME, LAST_TIME, Converter
from dms_iceberg.dms.text import formatter
from dms_iceberg.dms.types import TEXT_KINDS, DmsType, DmsValue, Kind

Shown = Callable[[str], str | None]
"""From the text that the source shows to that of a change file, None for NULL."""

# Spark's casts read the source's own texts of these, and they have no value that DMS would make another one of.
_CAST: Final = frozenset({Kind.REAL4, Kind.REAL8, Kind.BOOLEAN})
_PLAIN: Final = _CAST | {Kind.INT1, Kind.INT2, Kind.INT4, Kind.INT8, Kind.UINT1, Kind.UINT2, Kind.UINT4, Kind.UINT8}
_ENDS: Final = {
    Kind.DATE: (FIRST_TIME.date().isoformat(), LAST_TIME.date().isoformat()),
    Kind.DATETIME: (FIRST_TIME.isoformat(" "), FIRST_TIME.isoformat(" ", "microseconds"), LAST_TIME.isoformat(" ")),
}


@attrs.frozen
class Mapped:
    """A DMS type, and what makes its values of the source's texts.

    Attributes:
        exact: a value tells which one it was at the source, but for those of ``ends``.
    """

    type: DmsType
    converter: Converter = None
    exact: bool = True

    @property
    def ends(self) -> tuple[str, ...]:
        """Texts, as Spark and CSV show them, of the values that stand for everything beyond them."""
        return _ENDS.get(self.type.kind, ())

    def shown(self, *, in_parquet: bool) -> Shown | None:
        """Return what makes the text of the source's, None where it is that text.

        Args:
            in_parquet: Spark will cast the text to the type of a Parquet file, so it need not be as CSV shows it.
        """
        convert, kind = self.converter, self.type.kind
        if kind in TEXT_KINDS and convert is None:
            return None
        if in_parquet and kind in _PLAIN:
            return None
        show = str if kind in TEXT_KINDS else formatter(self.type)

        def shown(text: str) -> str | None:
            value: DmsValue = text if convert is None else convert(text)
            return None if value is None else show(value)

        return shown
