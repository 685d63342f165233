"""The metadata of a field of the document's classes."""

from typing import Any


def about(doc: str, *, key: str | None = "", **limits: object) -> dict[str, Any]:
    """Return the metadata of a field.

    Args:
        doc: the description in the JSON Schema.
        key: the document's key when it is not the field's name; None when the document has no such key.
        limits: keywords of JSON Schema that the parser checks too: ``minimum``, ``maximum``, ``exclusiveMinimum``,
            ``enum``.
    """
    return {"doc": doc, "key": key, "limits": limits}
