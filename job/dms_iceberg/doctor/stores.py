"""Tries the object stores: reads bronze, and writes and deletes an object where the job writes; the store's clock beside this machine's."""

import uuid
from datetime import UTC, datetime

from dms_iceberg.bronze.keys import table_prefix
from dms_iceberg.bronze.nearest_folders import nameless
from dms_iceberg.config.model import Config
from dms_iceberg.doctor.finding import Examination, Finding, Verdict, tried
from dms_iceberg.runs.state_file import state_folder
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore, join

MOST_SECONDS = 60
"""A clock may be off by so much: lag and look-back are reckoned from it, and AWS refuses signatures from five minutes on."""
_BRONZE = (
    "The job needs s3:ListBucket on the bucket, s3:GetObject below bronze.uri, and kms:Decrypt on the bucket's key; a bucket of another "
    "account needs the same in its own policy."
)
_WRITING = (
    "The job needs s3:PutObject, s3:GetObject and s3:DeleteObject here, and kms:GenerateDataKey and kms:Decrypt on the bucket's key; a "
    "bucket of another account needs the same in its own policy."
)


def examine_stores(config: Config) -> Examination:
    """Yield what reading bronze, and writing the run state, finds."""
    bronze, state = open_store(config.bronze.uri), open_store(config.state_uri)
    yield tried("bronze", lambda: _read(bronze, config), _BRONZE)
    yield from examine_writing("run state", state, state_folder(config), with_clock=True)


def examine_writing(subject: str, store: ObjectStore, folder: str, *, with_clock: bool = False) -> Examination:
    """Yield whether an object can be written, read, listed and deleted in a folder ("" or with a slash at its end) of a store."""
    key, moments = f"{folder}_dms-iceberg-doctor-{uuid.uuid4().hex}", list[tuple[datetime, datetime]]()

    def attempt() -> str:
        data = uuid.uuid4().bytes
        began = datetime.now(UTC)
        store.put(key, data)
        try:
            ended = datetime.now(UTC)
            found = store.read(key)
            moments.extend((began + (ended - began) / 2, one.modified) for one in store.list(key))
        finally:
            store.delete(key)
        if found != data or not moments:
            raise OSError(f"{join(store.root, key)}: what was written is not what is listed and read")
        return f"{join(store.root, folder)}: wrote, listed, read and deleted an object"

    yield tried(subject, attempt, _WRITING)
    if with_clock and moments:
        yield _clock(*moments[0])


def _clock(here: datetime, there: datetime) -> Finding:
    # Stores give whole seconds.
    seconds = abs((here - there).total_seconds())
    found = f"{seconds:.0f} s from the clock of the object store"
    if seconds <= MOST_SECONDS:
        return Finding("clock", Verdict.OK, found)
    return Finding("clock", Verdict.WRONG, found, f"Set this machine's clock (NTP); at most {MOST_SECONDS} s are allowed.")


def _read(store: ObjectStore, config: Config) -> str | Finding:
    """Look at the first object of each table, and read a byte of the first one that is found."""
    firsts = [next(store.list(table_prefix(table.schema_name, table.table_name)), None) for table in config.tables.values()]
    found = [one for one in firsts if one is not None]
    text = f"{store.root}: {len(found):,} of {len(firsts):,} tables have files"
    if not found:
        advice = "Nothing could be read yet. If DMS has written files, compare bronze.uri with the endpoint's bucket and folder."
        odd = (nameless(store, table.schema_name, table.table_name) for table in config.tables.values())
        return Finding("bronze", Verdict.NOTE, text, next(filter(None, odd), advice))
    store.read(found[0].key, 0, 1)
    return f"{text}, read from {found[0].key}"
