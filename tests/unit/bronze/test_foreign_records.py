"""Records of other tools are known by their columns alone, and tables of the source are not taken for them."""

import pytest

from dms_iceberg.bronze.foreign_records import foreign_records


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("data", "metadata"), "Kinesis or Kafka"),
        (("data", "metadata", "before-image"), "Kinesis or Kafka"),
        (("before", "after", "source", "op", "ts_ms", "transaction"), "Debezium"),
        (("before", "after", "source", "op"), "Debezium"),
        (("schema", "payload"), "Debezium"),
        (("database", "table", "type", "ts", "xid", "commit", "data"), "Maxwell"),
    ],
)
def test_known_tools(names: tuple[str, ...], says: str) -> None:
    found = foreign_records(names)
    assert found is not None
    assert says in found.found
    assert ", ".join(sorted(names)) in found.found
    assert "S3 target" in found.advice


@pytest.mark.parametrize(
    "names",
    [("Op", "data", "metadata"), ("id", "data", "metadata"), ("before", "after", "op"), ("op", "id", "v"), ("data",), ()],
)
def test_tables_are_none(names: tuple[str, ...]) -> None:
    assert foreign_records(names) is None
