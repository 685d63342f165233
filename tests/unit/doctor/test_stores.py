"""Reading bronze and writing the state: what is right, and what each failure says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.doctor import stores
from dms_iceberg.doctor.finding import Verdict, exit_code, to_document
from dms_iceberg.doctor.stores import examine_stores, examine_writing
from dms_iceberg.storage.store import LocalStore, StoredObject


def config(folder: Path) -> Config:
    return parse_config(
        {
            "version": 1,
            "pipeline": "shop",
            "bronze": {"uri": str(folder / "bronze")},
            "state_uri": str(folder / "state"),
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(folder / "lake")},
            "tables": {f"public.{name}": {"target": f"silver.{name}", "key": ["id"]} for name in ("a", "b")},
        },
        base=str(folder),
    )


def verdicts(findings: Iterator[stores.Finding]) -> list[tuple[str, str]]:
    return [(one.subject, one.verdict.value) for one in findings]


def test_what_works_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "bronze/public/a/LOAD00000001.csv"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"1\n")
    found = list(examine_stores(config(tmp_path)))
    assert verdicts(iter(found)) == [("bronze", "ok"), ("run state", "ok"), ("clock", "ok")]
    assert "1 of 2 tables have files, read from public/a/LOAD00000001.csv" in found[0].found
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    assert (exit_code(found), to_document(found)["ok"]) == (0, True)


def test_bronze_without_files_may_be_meant_so(tmp_path: Path) -> None:
    first = next(examine_stores(config(tmp_path)))
    assert (first.verdict, "compare bronze.uri" in first.advice) == (Verdict.NOTE, True)


def test_what_cannot_be_written_is_wrong_and_says_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    found = list(examine_stores(config(tmp_path)))
    assert verdicts(iter(found)) == [("bronze", "note"), ("run state", "wrong")]
    assert "s3:PutObject" in found[1].advice
    assert exit_code(found) == 1


@attrs.define
class OffStore(LocalStore):
    """A store whose clock is off."""

    directory: Path
    off: timedelta
    root: str = "file:///off"

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        """Yield what there is, at another time."""
        for one in LocalStore.list(self, prefix, start_after):
            yield attrs.evolve(one, modified=datetime.now(UTC) + self.off)


@pytest.mark.parametrize(("minutes", "verdict"), [(-10, "wrong"), (0, "ok"), (10, "wrong")])
def test_a_clock_that_is_off_is_wrong_either_way(tmp_path: Path, minutes: int, verdict: str) -> None:
    findings = examine_writing("state", OffStore(tmp_path, timedelta(minutes=minutes)), "", with_clock=True)
    assert verdicts(findings) == [("state", "ok"), ("clock", verdict)]
