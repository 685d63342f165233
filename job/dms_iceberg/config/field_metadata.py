"""The metadata of a field of the document's classes."""

from typing import Any, Final

MOST_HOURS: Final = 876_000
"""A hundred years: the most that a duration in hours may be. Nothing is older, and Python has no times before the year 1."""
HOURS: Final[dict[str, Any]] = {"exclusiveMinimum": 0, "maximum": MOST_HOURS}
"""Limits of a duration in hours."""


def about(doc: str, *, key: str | None = "", **limits: object) -> dict[str, Any]:
    """Return the metadata of a field.

    Args:
        doc: the description in the JSON Schema.
        key: the document's key when it is not the field's name; None when the document has no such key.
        limits: keywords of JSON Schema that the parser checks too: ``minimum``, ``maximum``, ``exclusiveMinimum``,
            ``enum``.
    """
    return {"doc": doc, "key": key, "limits": limits}
