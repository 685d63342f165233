"""What `discover` refuses, it refuses before it asks the source; its password is in no message."""

import pytest

from dms_iceberg.cli.app import main

NOBODY = "postgresql://ana@127.0.0.1:1/shop"


def refused(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[object, str]:
    with pytest.raises(SystemExit) as caught:
        main(["discover", *arguments])
    return caught.value.code, capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--source", NOBODY, "--yaml", "--json"], "--hcl, --yaml and --json are three forms of one thing; choose one"),
        (["--source", NOBODY, "--namespace", "Silver"], "--namespace: 'Silver' is no Glue name"),
        (["--source", NOBODY, "--namespace", "quarantine"], "--namespace: 'quarantine' is the quarantine's"),
        (["--source", "postgresql://ana:hunter2@db/shop"], "it holds a password"),
        (["--source", "oracle://db/hunter2"], "neither postgresql:// nor mysql://"),
    ],
)
def test_usage(arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, err = refused(arguments, capfd)
    assert code == 2
    assert says in err
    assert "hunter2" not in err


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_source_that_does_not_answer(scheme: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMS_ICEBERG_SOURCE_PASSWORD", "hunter2")
    code, err = refused(["--source", NOBODY.replace("postgresql", scheme)], capfd)
    assert code == 1
    assert "cannot connect to" in err
    assert "127.0.0.1:1" in err
    assert "hunter2" not in err
