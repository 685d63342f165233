"""Fixtures that every layer of tests may use. Spark starts once, on first use."""

import os
import shlex
import shutil
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.lake import Lake

# Without Terraform the plugin ends every test run, so pyproject.toml keeps pytest from loading it.
pytest_plugins = ["pytest_terraform.plugin"] if shutil.which("terraform") else []


def pytest_configure(config: pytest.Config) -> None:
    """Let the plugin take Terraform also where OpenTofu is there."""
    if pytest_plugins:
        config.option.dest_tf_binary = config.option.dest_tf_binary or shutil.which("terraform")


# Its asserts are those of the tests.
pytest.register_assert_rewrite("support.bad_input")

# Machines are shared: an example that takes long is no failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# No result may depend on the zone of machine or JVM: whoever reads a wall clock by mistake is off by a quarter of an hour at least.
os.environ["TZ"] = os.environ.get("TEST_TIME_ZONE", "Pacific/Chatham")
time.tzset()
# Tests plan much and compute little. Java's optimising compiler would take a fifth of the processor, and pay in none of the processes.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m")
# And for every Spark. Not by SPARK_CONF_DIR: a folder on the class path would keep Java from its archive of classes.
_QUICK_PLANS = Path(__file__).with_name("quick_plans") / "spark-defaults.conf"
os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {shlex.quote(str(_QUICK_PLANS))} pyspark-shell"

# A file that began last would keep one process busy and the others waiting, so these layers, whose files take minutes, begin first.
_LONG_LAYERS = ("terraform", "properties", "fuzz", "s3", "e2e", "spark")
# For AWS, as the provider does: a minute for each bucket.
_WAITING = "terraform"


_SLOW_SECONDS = 300


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failed or very slow test at once: a session that is stopped from outside prints no summary."""
    if "PYTEST_XDIST_WORKER" in os.environ or not (report.failed or report.duration > _SLOW_SECONDS):
        return
    reasons = [line[1:].strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
    why = f": {reasons[0][:300]}" if reasons else ""
    sys.stdout.write(f"\n{report.outcome} {report.nodeid} ({report.when}, {report.duration:.0f} s){why}\n")
    sys.stdout.flush()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Mark every test with the layer it belongs to: its folder, so that ``-m "not spark"`` chooses. Long files begin first.

    Within a layer those begin first that ask for more time than others, then those with most of the chosen tests: pytest-xdist gives a
    process a second file when its first has at most two tests left, also at the start, and that one waits for the first.
    """
    for item in items:
        item.add_marker(_layer(item))
    yield
    tests = Counter(item.path for item in items)
    seconds: dict[Path, float] = {}
    for item in items:
        seconds[item.path] = max(seconds.get(item.path, 0), _time_limit(item))
    ranks = {layer: rank for rank, layer in enumerate(_LONG_LAYERS)}
    items.sort(key=lambda item: (ranks.get(_layer(item), len(ranks)), -seconds[item.path], -tests[item.path], item.path))
    items[:] = _spread(items)


def _spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """Put two files of other layers behind each file of `_WAITING`: processes that only wait leave the processor to nobody."""
    files: dict[bool, list[list[pytest.Item]]] = {True: [], False: []}
    for _, of in groupby(items, lambda item: item.path):
        file = list(of)
        files[_layer(file[0]) == _WAITING].append(file)
    waiting, busy = deque(files[True]), deque(files[False])
    spread = list[pytest.Item]()
    while waiting or busy:
        for turn in (waiting, busy, busy):
            spread += turn.popleft() if turn else []
    return spread


def _layer(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _time_limit(item: pytest.Item) -> float:
    """Return the seconds that a test asks for in place of the usual ones, else 0."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker else 0


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the ``lake`` catalog that every test shares."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator["SparkSession"]:
    """One Spark session with the catalog ``lake``."""
    from dms_iceberg.config.parse import parse_config
    from dms_iceberg.spark.session import open_session

    document = {
        "version": 1,
        "pipeline": "tests",
        "bronze": {"uri": str(warehouse / "none")},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(warehouse)},
        "tables": {"public.none": {"target": "none.none", "key": ["id"]}},
    }
    os.environ.setdefault("DMS_ICEBERG_DRIVER_MEMORY", "2g")
    session = open_session(parse_config(document))
    yield session
    session.stop()


@pytest.fixture
def planned_as_on_glue(spark: "SparkSession") -> Iterator[None]:
    """Plans are adapted and compiled, and described in full, as everywhere but in tests."""
    from support.session_settings import session_settings

    on_glue = {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.debug.maxToStringFields": "25",
    }
    with session_settings(spark, on_glue):
        yield


@pytest.fixture
def lake(spark: "SparkSession", warehouse: Path, tmp_path: Path) -> "Lake":
    """A lake of its own for one test."""
    from support.lake import Lake

    return Lake(spark, warehouse, tmp_path)
