"""Which copy of a package was imported: that of the job's zips, one of the same version elsewhere, or another one."""

import sys
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType

import attr

import dms_iceberg
from dms_iceberg.doctor.finding import Verdict
from dms_iceberg.doctor.packages import examine_packages

ATTRS = metadata.version("attrs")


def zip_of(folder: Path, version: str) -> str:
    """Return a zip that has attrs, in a version."""
    path = folder / "requirements.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("attr/__init__.py", "")
        archive.writestr(f"attrs-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: attrs\nVersion: {version}\n")
    return str(path)


def test_without_zips_the_installed_packages_are_named() -> None:
    finding = examine_packages(["/somewhere.zip"], {"dms_iceberg": dms_iceberg})
    assert (finding.verdict, str(Path(dms_iceberg.__file__).parents[1]) in finding.found) == (Verdict.OK, True)


def test_a_package_from_the_zip_is_right(tmp_path: Path) -> None:
    entry = zip_of(tmp_path, ATTRS)
    ours = ModuleType("attr")
    ours.__file__ = f"{entry}/attr/__init__.py"
    assert examine_packages([entry], {"attr": ours}).verdict is Verdict.OK


def test_another_copy_of_the_same_version_is_right(tmp_path: Path) -> None:
    assert examine_packages([zip_of(tmp_path, ATTRS), *sys.path], {"attr": attr}).verdict is Verdict.OK


def test_another_copy_of_another_version_is_wrong_and_named(tmp_path: Path) -> None:
    entry = zip_of(tmp_path, "99.1")
    finding = examine_packages([entry, *sys.path], {"attr": attr})
    assert finding.verdict is Verdict.WRONG
    assert finding.found == f"attr is imported from {Path(attr.__file__).parents[1]} ({ATTRS}), not from {entry} (99.1)"
    assert "--additional-python-modules" in finding.advice


def test_an_older_job_beside_the_zip_is_wrong(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        archive.writestr("dms_iceberg/__init__.py", "")
    finding = examine_packages([str(tmp_path / "job.zip")], {"dms_iceberg": dms_iceberg})
    assert (finding.verdict, finding.found.startswith("dms_iceberg is imported from ")) == (Verdict.WRONG, True)


def test_a_package_that_would_be_imported_from_elsewhere_is_wrong_as_well(tmp_path: Path) -> None:
    finding = examine_packages([zip_of(tmp_path, "99.1")], {"dms_iceberg": dms_iceberg})
    assert (finding.verdict, finding.found.startswith("attr is imported from ")) == (Verdict.WRONG, True)


def test_zips_of_others_and_folders_of_packages_without_a_name_do_not_matter(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pyspark.zip", "w") as archive:
        archive.writestr("attr/__init__.py", "")
    folder = tmp_path / "site"
    (folder / "~ttrs-1.dist-info").mkdir(parents=True)
    (folder / "attr").mkdir()
    ours = ModuleType("attr")
    ours.__file__ = str(folder / "attr" / "__init__.py")
    assert examine_packages([str(tmp_path / "pyspark.zip")], {"dms_iceberg": dms_iceberg}).verdict is Verdict.OK
    found = examine_packages([zip_of(tmp_path, "99.1")], {"attr": ours}).found
    assert found.startswith(f"attr is imported from {folder} (unknown version)")
