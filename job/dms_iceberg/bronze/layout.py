"""What a record in quarantine must remember of its file beside its values, to be read like a row of that file. Pure."""

import json
from collections.abc import Sequence

from dms_iceberg.bronze.schema_groups import SchemaGroup


def layout_text(group: SchemaGroup, columns: Sequence[tuple[str, str]]) -> str:
    """Return the text that `layout_group` reads.

    Args:
        columns: (name, Spark type) as the files were read: JSON itself tells no number's type and no time from text.
    """
    told = {"told": True} if group.images_told else {}
    document = {"cdc": group.is_cdc, "segment": group.segment, **told, "columns": [list(column) for column in columns]}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def layout_group(text: str) -> SchemaGroup:
    """Return the group, without its files, that a record was read in."""
    document = json.loads(text)
    columns = tuple((name, type_) for name, type_ in document["columns"])
    # Records of earlier versions do not say it.
    return SchemaGroup(document["cdc"], document["segment"], columns, (), None, images_told="told" in document)
