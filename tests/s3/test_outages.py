"""S3 and Glue fail in every way they have: what passes is ridden out, what lasts fails its table alone, and nothing is lost or doubled."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.cloud import Cloud, open_cloud
from support.fault_proxy import Fault, Rule
from support.warm_job import GLUE_ATTEMPTS, S3_ATTEMPTS, WarmJob

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with open_cloud(tmp_path_factory.mktemp("faults")) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def job(cloud: Cloud) -> Iterator[WarmJob]:
    with WarmJob(cloud.environment, cloud.folder) as job:
        yield job


@pytest.fixture(autouse=True)
def calm(cloud: Cloud) -> Iterator[None]:
    yield
    cloud.proxy.plan()


LOADED = [(1, "row 1"), (2, "row 2"), (3, "row 3")]
CHANGED = [(1, "new"), (3, "row 3"), (4, "four")]


def write_load(cloud: Cloud, name: str, *tables: str) -> None:
    for table in tables:
        cloud.load(name, table, [1, 2, 3])


def write_changes(cloud: Cloud, name: str, *tables: str) -> None:
    for table in tables:
        cloud.changes(name, table, 1, [("U", 1, "new"), ("D", 2, None), ("I", 4, "four")])


def errors(report: dict[str, Any]) -> dict[str, str]:
    return {name.removeprefix("public."): table["error"] for name, table in report["tables"].items() if table["error"]}


def struck(cloud: Cloud, *faults: Fault) -> None:
    """Check that the faults were really injected, and forget them."""
    assert {text.partition(":")[0] for text in cloud.proxy.injected} >= set(faults), cloud.proxy.injected
    cloud.proxy.plan()


def test_passing_faults_are_ridden_out(cloud: Cloud, job: WarmJob) -> None:
    document = cloud.document("passing", ["t"])
    write_load(cloud, "passing", "t")
    cloud.proxy.plan(
        Rule(Fault.SLOW_DOWN, "ListObjectsV2", times=2),
        Rule(Fault.RESET, "GetObject", "passing"),
        Rule(Fault.CUT, "GetObject", "passing"),
        Rule(Fault.SERVER_ERROR, "GetObject", "passing"),
        Rule(Fault.DELAY, "HeadObject", "passing"),
        Rule(Fault.SLOW_DOWN, "HeadObject", "passing"),
        Rule(Fault.RESET_AFTER, "PutObject", "/data/"),
        Rule(Fault.SLOW_DOWN, "PutObject", "/metadata/"),
        Rule(Fault.SLOW_DOWN, "GetTable", times=2),
        Rule(Fault.RESET_AFTER, "CreateDatabase"),
        Rule(Fault.RESET_AFTER, "CreateTable"),
        Rule(Fault.SERVER_ERROR, "UpdateTable"),
    )
    report = job.run(document)
    assert (report["exit_code"], errors(report)) == (0, {})
    struck(cloud, *set(Fault) - {Fault.ERROR_AFTER})
    assert cloud.rows("passing", "t") == LOADED


def test_commit_whose_answer_is_lost_is_neither_lost_nor_doubled(cloud: Cloud, job: WarmJob) -> None:
    """Glue did it, and the job is told of an error, or of nothing, or too late, or cannot even ask what became of it."""
    tables = ["error", "reset", "late", "unknown"]
    document = cloud.document("answers", {table: {"rules": [{"name": "good", "expr": "v <> 'bad'"}]} for table in tables})
    write_load(cloud, "answers", *tables)
    assert errors(job.run(document)) == {}
    write_changes(cloud, "answers", *tables)
    cloud.changes("answers", "late", 2, [("I", 5, "bad")])
    cloud.proxy.plan(
        Rule(Fault.ERROR_AFTER, "UpdateTable", '"error"'),
        Rule(Fault.RESET_AFTER, "UpdateTable", '"reset"', times=GLUE_ATTEMPTS),
        Rule(Fault.DELAY, "UpdateTable", '"late"'),
        Rule(Fault.ERROR_AFTER, "UpdateTable", '"answers__late"'),
        Rule(
            Fault.RESET_AFTER,
            "UpdateTable",
            '"unknown"',
            times=GLUE_ATTEMPTS,
            then=(Rule(Fault.RESET, "GetTable", '"unknown"', times=2 * GLUE_ATTEMPTS),),
        ),
    )
    report = job.run(document)
    assert (report["exit_code"], errors(report)) == (0, {})
    struck(cloud, Fault.ERROR_AFTER, Fault.RESET_AFTER, Fault.DELAY, Fault.RESET)
    for table in tables:
        assert report["tables"][f"public.{table}"]["applied"] == 3, table
        assert cloud.rows("answers", table) == CHANGED, table
        assert cloud.books("answers", table) == [3, 4 if table == "late" else 3], table
    assert len(cloud.load_table("quarantine_answers", "answers__late").scan().to_arrow()) == 1
    assert [table["batches"] for table in job.run(document)["tables"].values()] == [0] * len(tables)


def test_rebuild_whose_switch_is_done_and_not_answered_is_not_begun_again(cloud: Cloud, job: WarmJob) -> None:
    """The switch makes no snapshot of its own to be known by."""
    document = cloud.document("switch", ["t"])
    write_load(cloud, "switch", "t")
    assert errors(job.run(document)) == {}
    masked = cloud.document("switch", {"t": {"columns": [{"name": "v", "mask": "redact"}]}})
    lost = Rule(Fault.RESET, "GetTable", times=2 * GLUE_ATTEMPTS)
    # After the table, its load and the branch, the switch is the fourth state.
    cloud.proxy.plan(Rule(Fault.RESET_AFTER, "UpdateTable", "/metadata/00003-", times=GLUE_ATTEMPTS, then=(lost,)))
    report = job.run(masked, rebuild=["public.t"])
    assert (report["exit_code"], errors(report)) == (0, {})
    struck(cloud, Fault.RESET_AFTER, Fault.RESET)
    assert report["tables"]["public.t"]["batches"] == 1
    assert cloud.rows("switch", "t") == [(1, "***"), (2, "***"), (3, "***")]


def test_metadata_that_iceberg_deletes_although_glue_has_committed_is_put_back(cloud: Cloud, job: WarmJob) -> None:
    """Iceberg takes an error of Glue for a refusal when the AWS client does not try again, as after many errors."""
    document = cloud.document("untried", ["t"], catalog="untried")
    write_load(cloud, "untried", "t")
    assert errors(job.run(document, glue_attempts=1)) == {}
    write_changes(cloud, "untried", "t")
    cloud.proxy.plan(Rule(Fault.ERROR_AFTER, "UpdateTable"))
    report = job.run(document, glue_attempts=1)
    deleted = [call.path for call in cloud.proxy.calls if call.operation == "DeleteObject"]
    assert [path.endswith(".metadata.json") for path in deleted] == [True], "Iceberg has mended this: remove the case"
    assert (report["exit_code"], errors(report)) == (0, {})
    assert cloud.rows("untried", "t") == CHANGED
    assert cloud.books("untried", "t") == [3, 3]


def test_lasting_faults_fail_their_table_alone_and_the_next_run_completes(cloud: Cloud, job: WarmJob) -> None:
    """The way of a batch: listing, reading footers, reading rows, writing, committing; then the whole catalog is down for a run."""
    faults = {
        "listing": Rule(Fault.SLOW_DOWN, "ListObjectsV2", "lasting%2Fpublic%2Flisting", times=None),
        "silence": Rule(Fault.DELAY, "GetObject", "lasting/public/silence", times=None),
        "reading": Rule(Fault.RESET, "HeadObject", "lasting/public/reading", times=None),
        "writing": Rule(Fault.SERVER_ERROR, "PutObject", "writing/data", times=None),
        "committing": Rule(Fault.SERVER_ERROR, "UpdateTable", '"committing"', times=None),
    }
    tables = [*faults, "well"]
    document = cloud.document("lasting", tables)
    write_load(cloud, "lasting", *tables)
    cloud.proxy.plan(*faults.values(), Rule(Fault.SLOW_DOWN, "PutObject", "/state/lasting/runs/lasting/public.well", times=None))
    report = job.run(document)
    assert report["exit_code"] == 1
    # A budget: no layer repeats what another has repeated, and a commit that nobody confirms is not done again for ever.
    assert cloud.proxy.count("GetObject", "lasting/public/silence") == S3_ATTEMPTS
    assert cloud.proxy.count("UpdateTable", '"committing"') == 3 * GLUE_ATTEMPTS
    struck(cloud, Fault.SLOW_DOWN, Fault.SERVER_ERROR, Fault.DELAY, Fault.RESET)
    told = errors(report)
    assert told.keys() == faults.keys()
    check_told(told)
    assert [word for word in ("ListObjectsV2", "SlowDown", "parallelism") if word not in told["listing"]] == []
    assert "VPC endpoint" in told["silence"]
    assert "s3a://bronze/lasting/public/reading/LOAD00000001.parquet" in told["reading"].replace("s3://", "s3a://")
    assert cloud.rows("lasting", "well") == LOADED
    assert "could not be written" in report["tables"]["public.well"]["warnings"][0]

    cloud.proxy.plan(Rule(Fault.RESET, "Glue", times=None))
    report = job.run(document)
    assert report["exit_code"] == 1
    assert errors(report).keys() == {*tables}
    check_told(errors(report))

    cloud.proxy.plan()
    report = job.run(document)
    assert (report["exit_code"], errors(report)) == (0, {})
    for table in tables:
        assert cloud.rows("lasting", table) == LOADED, table
        assert cloud.books("lasting", table) == [3], table


def check_told(told: dict[str, str]) -> None:
    """Each error says of which table, that nothing is lost, and holds neither rows nor secrets."""
    for table, error in told.items():
        assert error.startswith(f"public.{table}: "), error
        assert "next run goes on" in error, error
        assert "Nothing is lost" in error, error
        assert not [word for word in ("row 1", "Signature", "Credential=") if word in error], error
