"""Calls of Iceberg's own procedures as SQL text, and which files of their result may be deleted. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from dms_iceberg.config.model import Maintenance
from dms_iceberg.errors import TargetError
from dms_iceberg.sql.quoting import quote, string_literal

FILES_AT_ONCE = 500
"""The maximum number of files in one commit of a compaction: the budget is checked between commits, and a lost race costs one commit."""
_INPUT_FILES = 5
"""Iceberg's own default: fewer small files in a partition are left alone."""
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")


def weights(rules: Maintenance) -> dict[str, str]:
    """Return the options that select data files for a compaction: many small ones in a partition, or ones with many deletes."""
    return {
        "min-input-files": str(min(_INPUT_FILES, rules.small_files)),
        "delete-file-threshold": str(rules.delete_files_per_data_file),
        "delete-ratio-threshold": str(rules.deleted_rows_percent / 100),
    }


def heavy_only(rules: Maintenance) -> dict[str, str]:
    """Return the options that select only data files with too many deletes."""
    return {**weights(rules), "min-file-size-bytes": "0", "max-file-size-bytes": str((1 << 63) - 1)}


def compact_sql(parts: Sequence[str], rules: Maintenance) -> str:
    """Return the call that rewrites small data files, and those with many deletes, in one commit."""
    return _call(parts, "rewrite_data_files", options=_map({**weights(rules), "max-files-to-rewrite": str(FILES_AT_ONCE)}))


def compact_deletes_sql(parts: Sequence[str]) -> str:
    """Return the call that rewrites delete files and leaves out deletes for data files that no longer exist."""
    return _call(parts, "rewrite_position_delete_files", options=_map({"rewrite-all": "true"}))


def manifests_sql(parts: Sequence[str]) -> str:
    """Return the call that rewrites manifests."""
    return _call(parts, "rewrite_manifests", use_caching="false")


def expire_sql(parts: Sequence[str], ids: Iterable[int]) -> str:
    """Return the call that expires exactly these snapshots, with the files that only they reference; none only because of its age."""
    listed = ", ".join(f"{one}L" for one in ids)
    return _call(parts, "expire_snapshots", older_than="TIMESTAMP '1970-01-02 00:00:00'", snapshot_ids=f"array({listed})")


def orphans_sql(parts: Sequence[str], older_than: str) -> str:
    """Return the call that lists files below a table's location that no snapshot references; ``older_than`` is UTC timestamp text.

    It fails if the metadata has files with another scheme or host than the listing: it could not distinguish live files.
    """
    return _call(
        parts,
        "remove_orphan_files",
        older_than=f"TIMESTAMP {string_literal(older_than)}",
        dry_run="true",
        equal_schemes=_map({"s3a,s3n": "s3"}),
        prefix_mismatch_mode="'ERROR'",
    )


def _call(parts: Sequence[str], procedure: str, **arguments: str) -> str:
    catalog, *name = parts
    table = string_literal(".".join(map(quote, name)))
    listed = ", ".join(f"{key} => {value}" for key, value in {"table": table, **arguments}.items())
    return f"CALL {quote(catalog)}.system.{procedure}({listed})"


def _map(values: Mapping[str, str]) -> str:
    return f"map({', '.join(f'{string_literal(key)}, {string_literal(value)}' for key, value in values.items())})"


def removable(location: str, orphans: Iterable[str]) -> list[str]:
    """Return which of the unreferenced files may be deleted: those in the table's own two folders, for data and metadata.

    Raises:
        TargetError: another table is in one of these folders, so its files are not referenced either.
    """
    found = list[str]()
    for uri in orphans:
        folder, _, rest = _below(location, uri).partition("/")
        if folder not in ("data", "metadata") or not rest:
            continue
        inner = rest.split("/")[:-1]
        if {"data", "metadata"} & set(inner) or (folder == "metadata" and inner) or (folder == "data" and rest.endswith(".metadata.json")):
            raise TargetError(
                f"{uri}: lies in the folder of the table at {location} and looks like a file of another table, whose live files cannot be "
                "told from orphans. Nothing was deleted. Move that table out of this folder, or set "
                "maintenance.orphan_files_older_than_hours of this table to null."
            )
        found.append(uri)
    return found


def _below(location: str, uri: str) -> str:
    """Return a file's path below a location, "" if it is elsewhere.

    Schemes do not matter: s3 and s3a are the same store, and so are file:/ and file:///.
    """
    root, path = (re.sub("^/*", "/", _SCHEME.sub("", text)) for text in (location.rstrip("/"), uri))
    return path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else ""
