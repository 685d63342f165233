"""What the doctor says of versions: Spark's line must be a tested one, and Iceberg's that of the same Glue."""

from types import SimpleNamespace
from typing import Any

import pytest

from dms_iceberg.doctor.finding import Verdict
from dms_iceberg.doctor.run import examine_runtime
from dms_iceberg.spark.versions import TESTED, present


def session(spark: str, iceberg: str) -> Any:
    """The part of a session that says its versions."""
    build = SimpleNamespace(version=lambda: iceberg)
    java = SimpleNamespace(getProperty=lambda _: "17.0.1")
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(iceberg=SimpleNamespace(IcebergBuild=build))), System=java)
    return SimpleNamespace(_jvm=jvm, version=spark, sparkContext=SimpleNamespace(master="local[2]"))


@pytest.mark.parametrize(
    ("spark", "iceberg", "verdict", "advice"),
    [
        (f"{present().spark}.0", f"{present().iceberg}.0", Verdict.OK, ""),
        (f"{present().spark}.9-amzn-1", f"{present().iceberg}.3-amzn-0", Verdict.OK, ""),
        (f"{present().spark}.0", "1.9.2", Verdict.NOTE, f"the job is tested with Iceberg {present().iceberg}: leave out the jar"),
        ("4.0.1", f"{present().iceberg}.0", Verdict.WRONG, f"use Glue {' and '.join(one.glue for one in TESTED)}"),
    ],
)
def test_runtime(spark: str, iceberg: str, verdict: Verdict, advice: str) -> None:
    found = examine_runtime(session(spark, iceberg))
    assert (found.subject, found.verdict) == ("runtime", verdict)
    assert advice in found.advice
    assert f"Spark {spark}, Iceberg {iceberg}, Java 17.0.1" in found.found
