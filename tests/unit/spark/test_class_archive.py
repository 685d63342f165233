"""Which options Java gets for its archive of classes."""

from pathlib import Path

import pytest

from dms_iceberg.spark import class_archive


def test_an_archive_of_this_environment_is_used_if_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert class_archive.sharing_options() == ()
    path = class_archive.archive_path()
    path.parent.mkdir(parents=True)
    path.touch()
    assert class_archive.sharing_options()[0] == f"-XX:SharedArchiveFile={path}"


def test_java_options_are_split_at_blanks_so_an_archive_behind_one_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path / "a folder"))
    path = class_archive.archive_path()
    path.parent.mkdir(parents=True)
    path.touch()
    assert class_archive.sharing_options() == ()
