"""Partition transforms as the document spells them: ``column``, ``bucket(16, column)``, ``days(column)``."""

import re

import attrs

from dms_iceberg.config.problems import suggestion

_TIMED = ("years", "months", "days", "hours")
_COUNTED = ("bucket", "truncate")
_NAME = r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^`(),]+?)"
_IDENTITY = re.compile(rf"\s*(?:{_NAME})\s*")
_CALL = re.compile(rf"\s*(?P<transform>\w+)\s*\(\s*(?:(?P<argument>\d+)\s*,\s*)?(?:{_NAME})\s*\)\s*")
_MOST = (1 << 31) - 1
"""Iceberg keeps the number as an int."""
_WAYS = "column, bucket(n, column), truncate(n, column), and years, months, days or hours of (column)"


class PartitionError(ValueError):
    """The text is not a partition transform."""


@attrs.frozen
class PartitionField:
    """One partition field. ``transform`` is ``identity`` or the document's name of the transform; ``argument`` is its number."""

    transform: str
    column: str
    argument: int | None = None

    @property
    def iceberg_name(self) -> str:
        """Iceberg's own name of such a field, which SQL gives it: ``day`` of ``at`` is ``at_day``."""
        return self.column + {"identity": "", "truncate": "_trunc"}.get(self.transform, f"_{self.transform.removesuffix('s')}")

    @property
    def name(self) -> str:
        """The field's name in tables of this package, which no source column can have: Iceberg refuses a column with a field's name."""
        return f"_cdc_by_{self.transform.removesuffix('s')}_{self.column}"


def parse_partition(text: str) -> PartitionField:
    """Return the partition field that a text describes.

    Raises:
        PartitionError: it describes none; the message names the transforms.
    """
    if identity := _IDENTITY.fullmatch(text):
        return PartitionField("identity", _column(identity))
    call = _CALL.fullmatch(text)
    if call is None:
        raise PartitionError(f"'{text}' is not a partition transform; write one of: {_WAYS}")
    transform, number = call["transform"].lower(), call["argument"]
    if transform not in (*_TIMED, *_COUNTED):
        hint = suggestion(transform, (*_TIMED, *_COUNTED))
        raise PartitionError(f"'{transform}' is not a partition transform; {hint}")
    if (number is None) == (transform in _COUNTED) or (number is not None and not _is_count(number)):
        wanted = f"{transform}(n, column) with n from 1 to {_MOST}" if transform in _COUNTED else f"{transform}(column)"
        raise PartitionError(f"'{text}': write {wanted}")
    return PartitionField(transform, _column(call), int(number) if number else None)


def _is_count(digits: str) -> bool:
    # Python refuses to convert thousands of digits.
    return len(digits.lstrip("0")) <= len(str(_MOST)) and 1 <= int(digits.lstrip("0") or "0") <= _MOST


def _column(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    return str(quoted.replace("``", "`") if quoted is not None else match["plain"].strip())


def unfit_type(field: PartitionField, canonical: str) -> str | None:
    """Return why a transform does not accept a canonical type, or None.

    The table of types is the Iceberg specification's.
    """
    kind = canonical.split("(")[0].split("<")[0]
    allowed = {
        "hours": ("timestamp", "timestamp_ntz"),
        "truncate": ("tinyint", "smallint", "int", "bigint", "decimal", "string", "binary"),
        **dict.fromkeys(("years", "months", "days"), ("date", "timestamp", "timestamp_ntz")),
    }.get(field.transform)
    refused = {"bucket": ("boolean", "float", "double")}.get(field.transform, ())
    nested = kind in ("array", "map", "struct")
    if nested or kind in refused or (allowed is not None and kind not in allowed):
        return f"{field.transform} cannot take {canonical} (column '{field.column}')"
    return None
