"""Structure of the document: what is accepted, and what each wrong document is told."""

from typing import Any

import pytest

from dms_iceberg.config.model import CatalogType, Mask, NullInUpdate, OnFail, Timestamps
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import FULL, changed, sample, to_document

ORDERS = 'tables."public.orders"'
T = "tables/public.orders"


def problems(document: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    return caught.value.problems


def test_sample_of_the_design_is_valid() -> None:
    config = parse_config(sample(), base="s3://acme-config/shop")
    table = config.tables["public.orders"]
    assert (config.bronze.uri, config.catalog.warehouse) == ("s3://acme-bronze/dms/shop", "s3://acme-silver")
    assert config.state_uri == "s3://acme-config/shop"
    assert (table.source, table.schema_name, table.table_name) == ("public.orders", "public", "orders")
    assert [column.source_name for column in table.columns] == ["order_id", "ordered_at", None, "email"]
    assert table.columns[3].mask_salt == "env:DMS_ICEBERG_MASK_SALT"


def test_every_key_arrives() -> None:
    config = parse_config(FULL, base="/data/shop")
    table = config.tables["public.customers"]
    assert (config.bronze.uri, config.state_uri) == ("/data/shop/bronze", "/data/shop/state")
    assert (config.catalog.type, config.catalog.warehouse) == (CatalogType.REST, "wh")
    assert config.bronze.csv.delimiter == ";" and config.bronze.csv.no_supplement == "~"
    assert config.bronze.change.op_words == {"INSERT": "I", "UPDATE": "U", "DELETE": "D"}
    assert config.bronze.change.sequence_column is None and config.bronze.change.load_without_op
    assert config.timestamps is Timestamps.NTZ and config.parallelism == 2 and config.quarantine.namespace == "rejected"
    assert (config.batch.max_bytes, config.batch.max_files, config.batch.look_back_hours) == (1000, 10, 1.5)
    assert [column.type for column in table.columns] == ["bigint", "timestamp", None, None, None, "decimal(10,2)", "boolean"]
    assert table.columns[1].source == "joined_text" and table.columns[1].format == "dd.MM.yyyy HH:mm"
    assert table.columns[2].trim and table.columns[2].null_in_update is NullInUpdate.KEEP
    assert table.columns[4].mask is Mask.PARTIAL and table.columns[4].mask_salt is None
    assert table.columns[5].backfill == "0.50" and table.columns[6].backfill is True
    assert table.rules[0].on_fail is OnFail.DROP
    assert (table.format_version, table.write_mode, table.target_file_size_mb) == (3, "copy-on-write", 64)
    assert table.table_properties == {"write.parquet.compression-codec": "zstd", "write.spark.fanout.enabled": "true"}


@pytest.mark.parametrize("document", [sample(), FULL], ids=["sample", "full"])
def test_round_trip(document: dict[str, Any]) -> None:
    config = parse_config(document, base="/data")
    assert parse_config(to_document(config), base="/elsewhere") == config


def test_defaults_are_for_tables_that_do_not_say() -> None:
    document = changed("defaults/schema_changes", "strict")
    document["tables"]["public.lines"] = {"target": "silver.lines", "key": ["id"], "schema_changes": "quarantine"}
    tables = parse_config(document).tables
    assert [table.schema_changes for table in tables.values()] == ["strict", "quarantine"]


def test_a_tables_maintenance_is_the_documents_but_for_its_own_keys() -> None:
    document = changed("maintenance", {"snapshots_kept": 5, "small_files": 7, "orphan_files_older_than_hours": None})
    own = {"small_files": 9, "orphan_files_older_than_hours": 48}
    document["tables"]["public.lines"] = {"target": "silver.lines", "key": ["id"], "maintenance": own}
    config = parse_config(document, base="/data")
    first, second = (table.maintenance for table in config.tables.values())
    assert first == config.maintenance
    assert (first.snapshots_kept, first.small_files, first.orphan_files_older_than_hours) == (5, 7, None)
    assert (second.snapshots_kept, second.small_files, second.orphan_files_older_than_hours) == (5, 9, 48.0)
    assert to_document(config)["tables"]["public.lines"]["maintenance"] == own
    assert parse_config(to_document(config), base="/elsewhere") == config


CASES: list[tuple[str, object, str]] = [
    ("pipline", "x", "pipline: unknown key; did you mean 'pipeline'?"),
    ("bronze/fromat", "csv", "bronze.fromat: unknown key; did you mean 'format'?"),
    (f"{T}/kye", ["a"], f"{ORDERS}.kye: unknown key; did you mean 'key'?"),
    (f"{T}/columns/2/typ", "string", f"{ORDERS}.columns[2].typ: unknown key; did you mean 'type'?"),
    (f"{T}/columns/2/source", "x", f"{ORDERS}.columns[2].source: unknown key; allowed: name, from, renamed_from, type, "),
    (f"{T}/source", "x", f"{ORDERS}.source: unknown key; did you mean 'source_columns'?"),
    ("maintenance/snapshot_kept", 3, "maintenance.snapshot_kept: unknown key; did you mean 'snapshots_kept'?"),
    ("maintenance/orphan_files_older_than_hours", 1, "maintenance.orphan_files_older_than_hours: must be from 24 to 876000, found 1.0"),
    ("maintenance/budget_seconds", 0, "maintenance.budget_seconds: must be above 0, found 0.0"),
    ("maintenance/after_run", True, "maintenance.after_run: expected one of all, metadata, nothing, found the boolean true"),
    (
        "maintenance/snapshots_kept",
        501,
        "maintenance.snapshots_kept: 501 is more than snapshots_max (500); lower it, or raise the other",
    ),
    (f"{T}/maintenance", [], f"{ORDERS}.maintenance: expected an object, found a list"),
    (f"{T}/maintenance/manifests", 1, f"{ORDERS}.maintenance.manifests: must be at least 2, found 1"),
    (f"{T}/maintenance/snapshots_max", 3, f"{ORDERS}.maintenance.snapshots_kept: 20 is more than snapshots_max (3); lower it, or raise"),
    ("defaults/maintenance", {}, "defaults.maintenance: has its defaults at the top of the document; write them there"),
    ("defaults/target", "x", "defaults.target: belongs to each table, not to defaults"),
    (
        f"{T}/mode",
        "miror",
        f"{ORDERS}.mode: 'miror' is not one of them; did you mean 'mirror'? (allowed: mirror, soft_delete, history, append)",
    ),
    (f"{T}/schema_changes", "x", f"{ORDERS}.schema_changes: 'x' is not one of them; allowed: evolve, quarantine, strict"),
    (f"{T}/other_columns", 1, f"{ORDERS}.other_columns: expected one of keep, drop, found the number 1"),
    ("bronze/format", "orc", "bronze.format: 'orc' is not one of them; allowed: parquet, csv, json"),
    ("bronze", [], "bronze: expected an object, found a list"),
    ("bronze/uri", "", "bronze.uri: must not be empty; Folder above the schema folders: s3://, file:// or a path."),
    ("bronze/uri", "s3://[", "bronze.uri: 's3://[' is neither a path nor a URI: Invalid IPv6 URL"),
    ("bronze/uri", "s3://", "bronze.uri: 's3://' has no bucket; write s3://bucket/prefix"),
    ("pipeline", 7, "pipeline: expected text, found the number 7; put it in quotes"),
    ("pipeline", None, "pipeline: expected text, found null"),
    ("parallelism", "4", "parallelism: expected a whole number, found the text '4'"),
    ("parallelism", True, "parallelism: expected a whole number, found the boolean true"),
    ("parallelism", 0, "parallelism: must be from 1 to 64, found 0"),
    ("parallelism", 65, "parallelism: must be from 1 to 64, found 65"),
    ("batch/max_bytes", 0, "batch.max_bytes: must be at least 1, found 0"),
    ("batch/max_files", 1.5, "batch.max_files: expected a whole number, found the number 1.5"),
    ("batch/look_back_hours", 0, "batch.look_back_hours: must be above 0, found 0.0"),
    ("batch/look_back_hours", 1e9, "batch.look_back_hours: must be above 0 and at most 876000, found 1000000000.0"),
    ("maintenance/snapshots_max_age_hours", 1e300, "maintenance.snapshots_max_age_hours: must be above 0 and at most 876000, found 1e+300"),
    (
        f"{T}/maintenance",
        {"orphan_files_older_than_hours": 1e9},
        f"{ORDERS}.maintenance.orphan_files_older_than_hours: must be from 24 to 876000, found 1000000000.0",
    ),
    ("batch/look_back_hours", float("inf"), "batch.look_back_hours: must be a finite number"),
    ("batch/look_back_hours", 10**400, "batch.look_back_hours: the number is too large"),
    ("timestamps", "utc", "timestamps: 'utc' is not one of them; allowed: instant, ntz"),
    ("bronze/csv/header", "true", "bronze.csv.header: expected true or false, found the text 'true'"),
    (f"{T}/key", "id", f"{ORDERS}.key: expected a list, found the text 'id'"),
    (f"{T}/key", [], f"{ORDERS}.key: must not be empty; Source columns that identify a row."),
    (f"{T}/key", [1], f"{ORDERS}.key[0]: expected text, found the number 1; put it in quotes"),
    (f"{T}/columns/1", "x", f"{ORDERS}.columns[1]: expected an object, found the text 'x'"),
    (f"{T}/columns/1/name", "", f"{ORDERS}.columns[1].name: must not be empty; Name in the silver table."),
    (f"{T}/columns/1/backfill", [1], f"{ORDERS}.columns[1].backfill: expected text, a number, true or false, found a list"),
    (
        f"{T}/columns/3/mask",
        "sha",
        f"{ORDERS}.columns[3].mask: 'sha' is not one of them; did you mean 'sha256'? (allowed: sha256, redact, partial)",
    ),
    (f"{T}/columns/3/mask_salt", 42, f"{ORDERS}.columns[3].mask_salt: expected text (value not shown)"),
    (f"{T}/table_properties", {"a": 1}, f"{ORDERS}.table_properties.a: expected text, found the number 1; put it in quotes"),
    (f"{T}/format_version", 1, f"{ORDERS}.format_version: found the number 1; allowed: 2, 3"),
    (f"{T}/write_mode", "mor", f"{ORDERS}.write_mode: found the text 'mor'; allowed: merge-on-read, copy-on-write"),
    (f"{T}/target_file_size_mb", 0, f"{ORDERS}.target_file_size_mb: must be from 1 to 10240, found 0"),
    ("tables", {}, "tables: expected at least one table, found an object"),
    ("tables", [], "tables: expected at least one table, found a list"),
    (
        "version",
        2,
        "version: 2 is newer than this program reads (1); update dms-iceberg where it runs, or write the document for version 1",
    ),
    ("version", "1", "version: expected the number 1, found the text '1'"),
    ("version", 0, "version: expected 1, found 0"),
]


@pytest.mark.parametrize(("path", "value", "message"), CASES, ids=[f"{path}={value!r}"[:60] for path, value, _ in CASES])
def test_one_wrong_thing_is_one_problem(path: str, value: object, message: str) -> None:
    found = problems(changed(path, value))
    assert len(found) == 1 and found[0].startswith(message), found


@pytest.mark.parametrize("key", ["version", "pipeline", "bronze", "catalog", "tables"])
def test_missing_key(key: str) -> None:
    document = sample()
    del document[key]
    found = problems(document)
    assert len(found) == 1 and found[0].startswith(f"{key}: missing; ")


def test_missing_key_of_a_table() -> None:
    document = sample()
    del document["tables"]["public.orders"]["key"]
    assert problems(document) == [f"{ORDERS}.key: missing; Source columns that identify a row."]


def test_all_problems_at_once() -> None:
    document = changed("pipline", "x")
    document["parallelism"] = 0
    document["tables"]["public.orders"]["columns"][1] = {"nam": "x"}
    document["tables"]["public.orders"]["filter"] = "a >"
    document["tables"]["public.lines"] = {"target": "silver.orders"}
    assert problems(document) == [
        "pipline: unknown key; did you mean 'pipeline'?",
        "parallelism: must be from 1 to 64, found 0",
        f"{ORDERS}.columns[1].nam: unknown key; did you mean 'name'?",
        f"{ORDERS}.columns[1].name: missing; Name in the silver table.",
        'tables."public.lines".key: missing; Source columns that identify a row.',
        'tables."public.lines".target: \'silver.orders\' is also the target of tables."public.orders"; each table needs its own',
        f"{ORDERS}.filter: syntax error at line 1, column 3 near '>': something is missing",
    ]


def test_the_error_names_document_and_count() -> None:
    with pytest.raises(ConfigError, match=r"(?s)^shop\.json: 2 problems\n  - bronze: .*\n  - catalog: ") as caught:
        parse_config(changed("bronze", 1) | {"catalog": 1}, source="shop.json")
    assert caught.value.source == "shop.json"


@pytest.mark.parametrize("document", [None, [], "text", 3, True])
def test_not_an_object(document: object) -> None:
    (problem,) = problems(document)
    assert problem.startswith("the document must be an object, found ")


def test_keys_that_are_not_text() -> None:
    assert problems(changed("batch", {1: 2})) == ["batch: keys must be text, found the number 1; put it in quotes"]


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (f"{T}/filter", "a = '\ud800'", f"{ORDERS}.filter: has \\ud800"),
        (f"{T}/columns/2/name", "a\udfff", f"{ORDERS}.columns[2].name: has \\udfff"),
        (f"{T}/table_properties", {"x\ud83d": "1"}, f'{ORDERS}.table_properties."x\\ud83d": has \\ud83d'),
        ("pipeline", "\udc00", "pipeline: has \\udc00"),
    ],
)
def test_half_of_a_character_is_no_text(path: str, value: object, where: str) -> None:
    assert problems(changed(path, value)) == [
        f"{where}, half of a character of two (a lone surrogate), which is no text; write the whole one"
    ]


def test_a_document_that_holds_itself() -> None:
    document = sample()
    document["batch"] = document
    assert problems(document) == ["nested too deeply, or refers to itself"]


def test_the_schema_may_be_named_for_editors() -> None:
    assert parse_config(changed("$schema", "configuration.schema.json")).pipeline == "shop"
