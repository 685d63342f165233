"""How DMS maps a source type, and the text that a change file has for the source's text of a value."""

from collections.abc import Callable
from typing import Final

import attrs

from dms_iceberg.dms.convert import FIRST_TIME, LAST_TIME, Converter
from dms_iceberg.dms.text import formatter
from dms_iceberg.dms.types import TEXT_KINDS, DmsType, DmsValue, Kind

Shown = Callable[[str], str | None]
"""Converts the text that the source shows to that of a change file, None for NULL."""

# Spark's casts read the source's own texts of these kinds, and DMS changes no value of them.
_CAST: Final = frozenset({Kind.REAL4, Kind.REAL8, Kind.BOOLEAN})
_PLAIN: Final = _CAST | {Kind.INT1, Kind.INT2, Kind.INT4, Kind.INT8, Kind.UINT1, Kind.UINT2, Kind.UINT4, Kind.UINT8}
_ENDS: Final = {
    Kind.DATE: (FIRST_TIME.date().isoformat(), LAST_TIME.date().isoformat()),
    Kind.DATETIME: (FIRST_TIME.isoformat(" "), FIRST_TIME.isoformat(" ", "microseconds"), LAST_TIME.isoformat(" ")),
}


@attrs.frozen
class Mapped:
    """A DMS type, and the converter from the source's texts to its values.

    Attributes:
        converter: None where the text is the value.
        exact: each value but those of ``ends`` comes from one value at the source only.
    """

    type: DmsType
    converter: Converter = None
    exact: bool = True

    @property
    def ends(self) -> tuple[str, ...]:
        """Texts, as Spark and CSV show them, of the first and last values, which also stand for everything beyond them."""
        return _ENDS.get(self.type.kind, ())

    def shown(self, *, in_parquet: bool) -> Shown | None:
        """Return the converter from the source's text to that of a change file, None where they are the same.

        Args:
            in_parquet: Spark will cast the text to the type of a Parquet file, so it need not have the form of CSV.
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
