"""Cleaning: casts, expressions, renames, drops, trims, masks, filters and rules, over one run of several tables."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
import structlog
from pyspark.sql import SparkSession

from dms_iceberg.bronze.keys import table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.changes.frames import Cleaner, read_groups
from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext
from dms_iceberg.runs.report import RunReport
from dms_iceberg.silver.schema.evolve import plan_evolution
from dms_iceberg.storage.open_store import open_store
from support.lake import Lake
from support.text_files import cdc_name

SALT = "pepper-5f1c0e-and-salt"
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
Fields = list[tuple[str, pa.DataType]]


def texts(*names: str) -> Fields:
    return [(name, pa.string()) for name in names]


ID = ("id", pa.int64())

CASTS: Fields = [ID, *texts("ts", "ts_uk", "d", "d_de", "amount"), ("n", pa.int64()), *texts("flag", "numbers", "doc")]
GOOD = (
    "2026-03-01 10:00:00.5",
    "31/12/2025 23:59",
    "2026-02-28",
    "28.02.2026",
    "12345678.90",
    2**31 - 1,
    "true",
    "[1,2]",
    '{"a":1,"b":"x"}',
)
BAD: dict[str, Any] = {
    "ts": "2026-02-30 10:00:00",
    "ts_uk": "12/31/2025 23:59",
    "d": "yesterday",
    "d_de": "31.02.2026",
    "amount": "123456789.00",
    "n": 2**31,
    "flag": "perhaps",
    "numbers": "[1,x]",
    "doc": '{"a":"one"}',
}
BAD_JSON = ('{"a":1}} and more', '{"a":1}, "b": 2', '{"a":1},{"a":2}', '{"a":1', "[1]", "")
CASTS_TABLE = {
    "columns": [
        {"name": "ts", "type": "timestamp"},
        {"name": "ts_uk", "type": "timestamp_ntz", "format": "dd/MM/yyyy HH:mm"},
        {"name": "d", "type": "date"},
        {"name": "d_de", "type": "date", "format": "dd.MM.yyyy"},
        {"name": "amount", "type": "decimal(10,2)"},
        {"name": "n", "type": "int"},
        {"name": "flag", "type": "boolean"},
        {"name": "numbers", "type": "array<int>"},
        {"name": "doc", "type": "struct<a:int,b:string>"},
    ]
}

CUSTOMERS = [ID, *texts("full_name", "location", "note", "internal")]
CUSTOMERS_TABLE = {
    "columns": [
        {"name": "id"},
        {"name": "name", "from": "full_name", "trim": True},
        {"name": "city", "expr": "trim(split(location, ',')[0])", "type": "string"},
        {"name": "country", "expr": "trim(split(location, ',')[1])"},
    ],
    "drop": ["location"],
    "other_columns": "drop",
}

PEOPLE = texts("email", "name", "phone", "age")
PEOPLE_TABLE = {
    "key": ["email"],
    "columns": [
        {"name": "email", "mask": "sha256", "mask_salt": "env:TEST_MASK_SALT", "trim": True},
        {"name": "name", "mask": "redact"},
        {"name": "phone", "mask": "partial"},
        {"name": "age", "type": "int", "mask": "sha256", "mask_salt": "env:TEST_MASK_SALT"},
    ],
    "filter": "age < 120",
    "rules": [{"name": "real_name", "expr": "length(name) > 1"}],
}

FILTERED = [ID, *texts("status"), ("amount", pa.int32())]
FILTERED_TABLE = {
    "filter": "status <> 'test'",
    "drop": ["status"],
    "rules": [{"name": "positive", "expr": "amount > 0"}, {"name": "small", "expr": "amount < 100", "on_fail": "drop"}],
}

NICKNAMED = [ID, *texts("name", "nick")]
NICKNAMED_TABLE = {
    "columns": [{"name": "shown", "expr": "coalesce(nick, name)"}, {"name": "loud", "expr": "upper(nick)", "type": "string"}]
}

TABLES: dict[str, dict[str, Any]] = {
    "public.casts": CASTS_TABLE,
    "public.customers": CUSTOMERS_TABLE,
    "public.people": PEOPLE_TABLE,
    "public.filtered": FILTERED_TABLE,
    "public.nicknamed": NICKNAMED_TABLE,
    "public.trimmed": {"key": ["code", "n"], "columns": [{"name": "code", "trim": True}, {"name": "n", "trim": True}]},
}


def write_files(lake: Lake) -> None:
    rows: list[tuple[Any, ...]] = [(1, *GOOD), (2, *GOOD), (3, *[None] * len(GOOD))]
    rows.append((4, *GOOD[:-2], " null", "null"))
    names = [name for name, _ in CASTS[1:]]
    rows += [
        (10 + names.index(name), *(bad if other == name else GOOD[names.index(other)] for other in names)) for name, bad in BAD.items()
    ]
    rows += [(30 + number, *GOOD[:-1], text) for number, text in enumerate(BAD_JSON)]
    lake.load("public.casts", CASTS, rows)
    # A delete of a source that logs whole rows: what it carries beside its key is never looked at.
    lake.changes("public.casts", cdc_name(1), CASTS, [("D", T1, 61, 2, *BAD.values())])

    lake.load("public.customers", CUSTOMERS, [(1, " Ada ", "London, UK", "n", "i"), (2, "Bo", "Oslo", "n", "i"), (3, "Cy", None, "n", "i")])
    lake.changes(
        "public.customers", cdc_name(1), CUSTOMERS, [("U", T1, 61, 1, "Ada L", "Paris , France", "n", "i"), ("D", T1, 65, 2, *[None] * 4)]
    )

    lake.load(
        "public.people",
        PEOPLE,
        [
            ("a@x.org ", "Ada", "+44 1234", "36"),
            ("b@x.org", "Bo", "123", "30"),
            ("c@x.org", "C", "1", "1"),
            ("d@x.org", "Methuselah", None, "969"),
        ],
    )
    lake.changes(
        "public.people",
        cdc_name(1),
        PEOPLE,
        [
            ("D", T1, 61, "b@x.org", None, None, None, None),
            ("U", T1, 65, "e@x.org", "Ada", None, "37", "a@x.org"),
            ("I", T1, 69, "f@x.org", "Fay", "5", "old", None),
        ],
        key=("email",),
    )

    lake.load(
        "public.filtered", FILTERED, [(1, "live", 5), (2, "test", 5), (3, None, 5), (4, "live", None), (5, "live", -1), (6, "live", 500)]
    )
    lake.changes(
        "public.filtered",
        cdc_name(1),
        FILTERED,
        [("D", T1, 61, 1, "test", -5), ("U", T1, 65, 4, "live", 500), ("I", T1, 69, 7, "test", -1)],
    )

    lake.load("public.nicknamed", NICKNAMED, [(1, "Ada", "Countess"), (2, "Bo", None)])
    lake.changes("public.nicknamed", cdc_name(1), NICKNAMED[:2], [("I", T1, 61, 3, "Cy")])

    code = [("code", pa.string()), ("n", pa.int64()), ("v", pa.string())]
    lake.load("public.trimmed", code, [(" a", 1, "one"), ("b  ", 1, "two"), ("c", 1, "three")])
    changes = [("U", T1, 61, "a ", 1, "ONE", None, None), ("D", T1, 65, " b", 1, None, None, None), ("U", T1, 69, "d", 1, "THREE", "c ", 1)]
    lake.changes("public.trimmed", cdc_name(1), code, changes, key=("code", "n"))


@attrs.frozen
class Cleaned:
    lake: Lake
    config: Config
    report: RunReport
    logs: str

    def counts(self, table: str) -> tuple[int, int, int]:
        one = self.report.tables[f"public.{table}"]
        assert one.error is None, one.error
        for batch in one.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
        return one.rows_read, one.filtered, one.quarantined


@pytest.fixture(scope="module")
def cleaned(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cleaned]:
    with pytest.MonkeyPatch.context() as patch, structlog.testing.capture_logs() as logs:
        patch.setenv("TEST_MASK_SALT", SALT)
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp("cleaning"))
        write_files(lake)
        config = lake.config(TABLES)
        yield Cleaned(lake, config, lake.run(config), repr(logs))


def sha256(text: str) -> str:
    return hashlib.sha256((SALT + text).encode()).hexdigest()


def test_casts(cleaned: Cleaned) -> None:
    assert cleaned.counts("casts") == (4 + len(BAD) + len(BAD_JSON) + 1, 0, len(BAD) + len(BAD_JSON))
    rows = cleaned.lake.rows("casts", "id, CAST(ts AS string), CAST(ts_uk AS string), d, d_de, amount, n, flag, numbers, doc.a, doc.b")
    good = ("2026-03-01 10:00:00.5", "2025-12-31 23:59:00", dt.date(2026, 2, 28), dt.date(2026, 2, 28), Decimal("12345678.90"))
    assert rows == [(1, *good, 2**31 - 1, True, [1, 2], 1, "x"), (3, *[None] * 10), (4, *good, 2**31 - 1, True, None, None, None)]


def test_a_value_that_does_not_fit_is_quarantined_never_null(cleaned: Cleaned) -> None:
    found = dict(cleaned.lake.quarantine("casts", "int(get_json_object(key, '$.id')), detail"))
    columns = {column["name"]: column for column in CASTS_TABLE["columns"]}
    assert len(found) == len(BAD) + len(BAD_JSON)
    assert [found[30 + number] for number in range(len(BAD_JSON))] == ["doc does not fit struct<a:int,b:string>"] * len(BAD_JSON)
    for number, name in enumerate(BAD):
        detail = found[10 + number]
        assert detail.startswith(f"{name} does not fit {columns[name]['type']}")
        assert columns[name].get("format", "") in detail
        assert str(BAD[name]) not in detail


def test_quarantine_keeps_the_whole_record(cleaned: Cleaned) -> None:
    record, op, file = cleaned.lake.quarantine("casts", "record, op, file")[0]
    assert BAD["ts"] in record and "12345678.90" in record and op == "I" and file.endswith("casts/LOAD00000001.parquet")


def test_location_becomes_city_and_country_and_the_rest_is_left_out(cleaned: Cleaned) -> None:
    cleaned.counts("customers")
    rows = cleaned.lake.rows("customers", "*")
    assert [row[:4] for row in rows] == [(1, "Ada L", "Paris", "France"), (3, "Cy", None, None)]
    assert cleaned.lake.spark.table(f"lake.{cleaned.lake.namespace}.customers").columns[:5] == [
        "id",
        "name",
        "city",
        "country",
        "_cdc_position",
    ]


def test_masks(cleaned: Cleaned) -> None:
    assert cleaned.counts("people") == (7, 1, 2)
    rows = cleaned.lake.rows("people", "email, name, phone, age")
    assert rows == [(sha256("e@x.org"), "***", None, sha256("37"))]


def test_rules_see_masked_values_unmasked_and_casts_of_masked_values_are_judged(cleaned: Cleaned) -> None:
    found = cleaned.lake.quarantine("people", "reason, detail, get_json_object(key, '$.email')")
    assert found == [("cast", "age does not fit int", sha256("f@x.org")), ("rule", "real_name", sha256("c@x.org"))] or found == [
        ("rule", "real_name", sha256("c@x.org")),
        ("cast", "age does not fit int", sha256("f@x.org")),
    ]


def test_salt_is_nowhere_to_be_read(cleaned: Cleaned) -> None:
    lake = cleaned.lake
    assert SALT not in cleaned.logs
    places = [lake.folder, lake.warehouse / lake.namespace, lake.warehouse / f"quarantine_{lake.namespace}"]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if SALT.encode() in path.read_bytes()] == []
    assert [row for row in lake.spark.sql("SET").collect() if SALT in str(row)] == []


@pytest.mark.usefixtures("planned_as_on_glue")
def test_salt_is_in_no_query_plan(cleaned: Cleaned) -> None:
    lake, config = cleaned.lake, cleaned.config
    table = config.tables["public.people"]
    store = open_store(config.bronze.uri)
    files = list(list_files(store, table_prefix("public", "people"), "", config.bronze.format))
    groups = read_groups(lake.spark, config, store.root, inspect(store, files, config.bronze, table), table)
    shape = plan_evolution(table, groups, {}, None, change=config.bronze.change, ntz=False).shape
    frame = Cleaner(RunContext(lake.spark, config, store, "run"), table, shape, load=0).clean(groups)
    plan = frame._jdf.queryExecution().toString()
    assert "sha2" in plan
    assert SALT not in plan


def test_filter_keeps_only_true_and_a_rule_lets_null_pass_and_neither_sees_deletes(cleaned: Cleaned) -> None:
    assert cleaned.counts("filtered") == (9, 5, 1)
    assert cleaned.lake.rows("filtered", "id, amount") == []
    assert cleaned.lake.quarantine("filtered", "reason, detail, op") == [("rule", "positive", "I")]


def test_expression_over_a_column_that_later_files_lack(cleaned: Cleaned) -> None:
    cleaned.counts("nicknamed")
    assert cleaned.lake.rows("nicknamed", "id, shown, loud") == [(1, "Countess", "COUNTESS"), (2, "Bo", None), (3, "Cy", None)]


def test_trimmed_keys_meet(cleaned: Cleaned) -> None:
    cleaned.counts("trimmed")
    assert cleaned.lake.rows("trimmed", "code, n, v") == [("a", 1, "ONE"), ("d", 1, "THREE")]


def test_the_largest_bigint_is_no_floating_number_and_2_63_no_bigint(lake: Lake) -> None:
    largest, edge = 2**63 - 1, 2.0**63
    rows = [
        ("I", T1, 61, 1, largest, 0.0),
        ("I", T1, 65, 2, 0, edge),
        ("I", T1, 69, 3, 2**62, -edge),
    ]
    lake.changes("public.t", cdc_name(1), [ID, ("n", pa.int64()), ("f", pa.float64())], rows)
    columns = [{"name": "n", "type": "double"}, {"name": "f", "type": "bigint"}]
    lake.run_one(lake.config({"public.t": {"columns": columns}}))
    assert lake.rows("t", "id, n, f") == [(3, 2.0**62, -(2**63))]
    assert sorted(lake.quarantine("t", "detail")) == [("f does not fit bigint",), ("n does not fit double",)]
