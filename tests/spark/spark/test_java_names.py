"""Names of Java's packages and classes are asked for once."""

from typing import Any

import pytest
from pyspark.sql import SparkSession


def test_java_is_asked_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    jvm: Any = spark._jvm
    first = jvm.org.apache.iceberg.BaseTable
    asked: list[str] = []
    send = jvm._gateway_client.send_command
    monkeypatch.setattr(jvm._gateway_client, "send_command", lambda command, *args, **kwargs: (asked.append(command), send(command))[1])
    assert jvm.org.apache.iceberg.BaseTable is first
    assert jvm.PythonUtils is jvm.PythonUtils
    assert not [command for command in asked if "apache" in command]
    assert jvm.org.apache.iceberg.util.ZOrderByteUtils._fqn == "org.apache.iceberg.util.ZOrderByteUtils"
    # Nothing else asks for this one.
    assert [command for command in asked if "ZOrderByteUtils" in command]


def test_what_is_no_class_is_still_refused(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for _ in range(2):
        with pytest.raises(TypeError, match="object is not callable"):
            jvm.org.apache.iceberg.NoSuchClass()
    assert jvm.java.lang.Integer.parseInt("7") == 7
