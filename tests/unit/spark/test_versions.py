"""What is chosen for a version of Spark, and that no other module asks for one."""

import re
import tomllib
from pathlib import Path

import pytest

import dms_iceberg
from dms_iceberg.spark import versions

PACKAGE = Path(dms_iceberg.__file__).parent
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("spark", "chosen", "is_tested"),
    [
        ("3.5.6", versions.SPARK_3_5, True),
        ("3.5.6-amzn-1", versions.SPARK_3_5, True),
        ("3.4.1", versions.SPARK_3_5, False),
        ("4.1.1", versions.SPARK_4_1, True),
        ("4.0.1", versions.SPARK_4_1, False),
        ("4.10.0", versions.SPARK_4_1, False),
    ],
)
def test_the_nearest_version_is_chosen_and_a_line_that_is_not_tested_is_known(
    spark: str, chosen: versions.Version, is_tested: bool
) -> None:
    assert versions.of(spark) is chosen
    assert versions.is_tested(spark) is is_tested


def test_the_environments_of_both_runtimes_have_the_sparks_of_their_versions() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    pinned = [next(one for one in extras[name] if one.startswith("pyspark==")) for name in ("local", "local-glue-6")]
    assert [versions.of(one.removeprefix("pyspark==")) for one in pinned] == [versions.SPARK_3_5, versions.SPARK_4_1]
    assert versions.present() in versions.TESTED
    assert [version.iceberg for version in versions.TESTED] == ["1.10", "1.11"]


def test_terraform_takes_the_versions_of_glue_that_are_tested() -> None:
    (allowed,) = re.findall(
        r"contains\((\[.*\]), var\.glue_version\)", (ROOT / "terraform/modules/merge-job/variables_runs.tf").read_text("utf-8")
    )
    assert re.findall(r'"([^"]+)"', allowed) == [version.glue for version in versions.TESTED]


def test_no_other_module_asks_for_a_version_of_spark() -> None:
    asks = re.compile(r"spark\.version\b|pyspark\.__version__|\bSPARK_[34]_\d\b")
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if asks.search(path.read_text("utf-8"))}
    # The doctor prints it.
    assert found == {"spark/versions.py", "doctor/run.py"}
