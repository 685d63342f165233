"""Suggests where the files of a table may be when its folder is empty: the existing folders with the nearest names."""

from collections.abc import Sequence
from itertools import islice

from dms_iceberg.config.problems import first_of, nearest
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore, join

_SHOWN = 10
_FIRST = 1000
"""Objects that S3 lists in one request. A slash sorts before letters and digits, so keys with two of them come first."""


def whereabouts(store: ObjectStore, schema: str, table: str) -> str:
    """Return what exists instead of ``<schema>/<table>/``, and which of it may be meant: a clause without a full stop.

    Costs one or two listings of folders.
    """
    if beside := _folders(store, f"{schema}/"):
        return f"folders found in {join(store.root, schema)}/: {some(beside)}{_meant(table, beside)}"
    above, _, last = store.root.rpartition("/")
    top = _folders(store, "")
    if top and last == schema:
        return f"folders found in {store.root}/: {some(top)}; bronze.uri ends with the folder of the schema, so set it to {above}"
    if top:
        return f"folders found in {store.root}/: {some(top)}{_meant(schema, top)}"
    if next(iter(store.list("")), None) is not None:
        return f"{store.root}/ has files and no folder, and bronze.uri must be the folder that those of the schemas are in"
    return f"nothing at all lies below {store.root}/"


def nameless(store: ObjectStore, schema: str, table: str) -> str:
    """Return that a table's files lie below a folder without a name, with what to do; "" if the first objects show none.

    Only S3 has such keys. Costs a listing or two.
    """
    top = next((one.key for one in islice(store.list(""), _FIRST) if one.key.startswith("/")), None)
    if top is not None:
        top = next((one.key for one in store.list(f"/{schema}/{table}/")), None)
    within = next((one.key for one in islice(store.list(f"{schema}/"), _FIRST) if one.key.startswith(f"{schema}//{table}/")), None)
    key = top if top is not None else within
    return "" if key is None else two_slashes(store, key)


def two_slashes(store: ObjectStore, key: str) -> str:
    """Return what to do about a key with an empty part."""
    return (
        f"{store.root}/{key}: there are two slashes in a row in its key, a folder without a name, which Spark cannot read. BucketFolder of "
        "the endpoint begins or ends with a slash: set it without, and load again; or copy the objects to keys with one slash"
    )


def neighbour(store: ObjectStore) -> str:
    """Return which folder beside an empty store may be meant, as a clause to append; "" without one."""
    above, _, last = store.root.rpartition("/")
    # Never list buckets, or the root of the machine.
    if above.rpartition(":")[2].strip("/") == "":
        return ""
    near = nearest(last, [name for name in _folders(open_store(above), "") if name != last])
    return f"; did you mean {join(above, near)}?" if near is not None else ""


def _folders(store: ObjectStore, prefix: str) -> list[str]:
    """Return the folders in ``prefix`` that may be those of a schema or a table."""
    return [name for name in store.folders(prefix).names if may_be_source(name)]


def may_be_source(name: str) -> bool:
    """Whether a folder may be that of a schema or table."""
    return not name.startswith(("_", ".", "awsdms_"))


def some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    return first_of(names, _SHOWN)


def _meant(wanted: str, names: Sequence[str]) -> str:
    """Return which of some folders may be meant. One of the very name has no file of DMS: a file system keeps empty folders."""
    if wanted in names:
        return f"; '{wanted}' has no file that DMS writes"
    near = nearest(wanted, names)
    return f"; did you mean '{near}'?" if near is not None else ""
