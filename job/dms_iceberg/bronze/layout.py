"""The layout of a file, which each quarantined record stores, so that a replay reads the record like a row of that file. Pure."""

import json
from collections.abc import Sequence

from dms_iceberg.bronze.schema_groups import SchemaGroup


def layout_text(group: SchemaGroup, columns: Sequence[tuple[str, str]]) -> str:
    """Return the text that `layout_group` reads.

    Args:
        columns: (name, Spark type) as the files were read: JSON shows neither the type of a number nor whether a text is a time.
    """
    optional = {"told": True} if group.images_show_null else {}
    document = {"cdc": group.is_cdc, "segment": group.segment, **optional, "columns": [list(column) for column in columns]}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def layout_group(text: str) -> SchemaGroup:
    """Return the schema group, without its files, that a record was read with."""
    document = json.loads(text)
    columns = tuple((name, type_) for name, type_ in document["columns"])
    return SchemaGroup(document["cdc"], document["segment"], columns, (), None, images_show_null="told" in document)
