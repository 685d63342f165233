"""The note of a table's source: what is written is read again, and a damaged one is never taken for none."""

from pathlib import Path

import pytest

from dms_iceberg.config.model import Table
from dms_iceberg.source.errors import SourceError
from dms_iceberg.storage.store import LocalStore
from dms_iceberg.verify.facts import NotedSource
from dms_iceberg.verify.noted_source import note_key, read_note, write_note

NOTE = NotedSource(engine="mysql", identity={"server_uuid": "u"}, position={"a:b": 2**63}, repaired="20260301100000123456")


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert read_note(store, "1") is None
    write_note(store, "1", Table(source="public.t", target="silver.t", key=("id",)), NOTE)
    assert read_note(store, "1") == NOTE
    assert read_note(store, "2") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"engine": "mysql", "identity": [], "position": {}, "repaired": ""}'])
def test_a_damaged_note_is_refused(tmp_path: Path, text: str) -> None:
    store = LocalStore(tmp_path)
    store.put(note_key("1"), text.encode())
    with pytest.raises(SourceError, match="damaged"):
        read_note(store, "1")
