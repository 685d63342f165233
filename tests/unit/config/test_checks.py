"""Contradictions in a document: each is one problem with its key path."""

from typing import Any

import pytest

from dms_iceberg.config.model import BeforeImage
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import changed

ORDERS = 'tables."public.orders"'
T = "tables/public.orders"
ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"


def problems(document: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    return caught.value.problems


def column(**entry: object) -> tuple[str, object]:
    """A path and value that add one column to the sample (its number is 0)."""
    return f"{T}/columns", [{"name": "extra", **entry}]


CASES: list[tuple[tuple[str, object], str]] = [
    (("pipeline", "my shop"), "pipeline: use letters, digits, '.', '_' and '-'"),
    (("bronze/uri", "gs://bucket/x"), "bronze.uri: 'gs:' is not supported; use s3://, file:// or a path"),
    (("catalog/name", "a-b"), "catalog.name: 'a-b' is no name; use letters, digits and '_', at most 255"),
    (("catalog/name", "spark_catalog"), "catalog.name: 'spark_catalog' is Spark's own catalog"),
    (("catalog/properties", {"cache-enabled": "true"}), 'catalog.properties."cache-enabled": is set by the job'),
    (("catalog/properties", {"type": "hive"}), "catalog.properties.type: write catalog.type instead"),
    (("catalog/type", "rest"), "catalog.properties.uri: missing; a rest catalog needs its address"),
    (("catalog/type", "hadoop"), "catalog.type: a hadoop catalog commits by renaming a file, which S3 cannot do in one step"),
    ((f"{T}/table_properties", {"location": "s3://b/x"}), f"{ORDERS}.table_properties: 'location' cannot be set here; tables lie below"),
    (("quarantine/namespace", "Bad Rows"), "quarantine.namespace: 'Bad Rows' is no Glue name"),
    (("bronze/change", {"op_column": ""}), "bronze.change.op_column: must not be empty"),
    (
        ("bronze/change", {"timestamp_column": ""}),
        "bronze.change.timestamp_column: must not be empty; use null when files have no such column",
    ),
    (
        ("bronze/change", {"timestamp_column": "OP"}),
        "bronze.change.timestamp_column: 'OP' is also op_column; each service column has its own name",
    ),
    (
        ("bronze/change", {"before_image_prefix": ""}),
        "bronze.change.before_image_prefix: must not be empty: every column would be a before-image",
    ),
    (("bronze/change", {"before_image_suffix": ""}), "bronze.change.before_image_suffix: must not be empty: every column would be"),
    (("bronze/change", {"op_words": {}}), "bronze.change.op_words: must not be empty"),
    (("bronze/change", {"op_words": {"I": "I", "": "I"}}), "bronze.change.op_words: an empty text is no word, and no row has it"),
    (("bronze", {"uri": "b", "format": "csv", "csv": {"null": "D"}}), "bronze.change.op_words.D: is the text of bronze.csv.null"),
    (("bronze/change", {"op_words": {"INSERT": "insert"}}), "bronze.change.op_words.INSERT: found the text 'insert'; allowed: I, U, D"),
    ((f"{T}/target", "orders"), f"{ORDERS}.target: expected namespace.table, found 'orders'"),
    ((f"{T}/key_confirmed", False), f"{ORDERS}.key_confirmed: false: init proposed the key (order_id) from samples of the files"),
    ((f"{T}/target", "a.b.c"), f"{ORDERS}.target: expected namespace.table, found 'a.b.c'"),
    ((f"{T}/target", "silver.Orders"), f"{ORDERS}.target: 'Orders' is no Glue name; use lower-case letters, digits and '_', at most 255"),
    ((f"{T}/target", "silver.or ders"), f"{ORDERS}.target: 'or ders' is no Glue name"),
    ((f"{T}/target", "quarantine.orders"), f"{ORDERS}.target: namespace 'quarantine' is the quarantine's, which holds unmasked rows"),
    ((f"{T}/key", ["order_id", "ORDER_ID"]), f"{ORDERS}.key[1]: 'ORDER_ID' is there twice (also key[0]; case does not count)"),
    ((f"{T}/key", ["order_id", " "]), f"{ORDERS}.key[1]: must not be empty"),
    ((f"{T}/key", ["order_id", "location"]), f"{ORDERS}.key[1]: 'location' is also in drop; a key column must be in the silver table"),
    ((f"{T}/key", ["order_id", "_cdc_x"]), f"{ORDERS}.key[1]: '_cdc_x': names that begin with _cdc_ are the job's own"),
    (
        (f"{T}/key", ["city"]),
        f"{ORDERS}.columns[2].expr: 'city' is a key column, so its expr may use key columns only (a delete has no others); found location",
    ),
    (
        column(name="order_id", expr="1"),
        f"{ORDERS}.columns[0].expr: 'order_id' is a key column, but its expression is the same for every row",
    ),
    (
        column(name="order_id", mask="redact"),
        f"{ORDERS}.columns[0].mask: 'redact' gives different keys the same text, which would merge different rows",
    ),
    (column(name="id", **{"from": "order_id"}, mask="partial"), f"{ORDERS}.columns[0].mask: 'partial' gives different keys"),
    (
        column(name="order_id", null_in_update="keep"),
        f"{ORDERS}.columns[0].null_in_update: 'order_id' is a key column, which every change supplies",
    ),
    (column(name="order_id", type="array<int>"), f"{ORDERS}.columns[0].type: a key column must be of a simple type"),
    (
        column(name="order_id", **{"from": "other"}),
        f"{ORDERS}.key[0]: the silver column 'order_id' copies 'other', so key column 'order_id' is nowhere",
    ),
    ((f"{T}/drop", ["EMAIL"]), f"{ORDERS}.drop[0]: 'EMAIL' is declared in columns[3] and dropped; remove one of them"),
    ((f"{T}/drop", ["a", "A"]), f"{ORDERS}.drop[1]: 'A' is there twice (also drop[0]; case does not count)"),
    ((f"{T}/columns/1/name", "CITY"), f"{ORDERS}.columns[2].name: 'city' is also the name of columns[1] (case does not count)"),
    (
        column(name="_CDC_position"),
        f"{ORDERS}.columns[0].name: '_CDC_position': names that begin with _cdc_ are the job's own; choose another name",
    ),
    (column(name="_File", **{"from": "_file"}), f"{ORDERS}.columns[0].name: '_File' is a name of Iceberg's own columns"),
    (column(name="m", **{"from": "_metadata"}), f"{ORDERS}.columns[0].from: '_metadata' is a name Spark needs to read files"),
    (column(name="op"), f"{ORDERS}.columns[0].name: 'op' is a service column (bronze.change.op_column); rename one of them"),
    (
        column(**{"from": "dms_change_seq"}),
        f"{ORDERS}.columns[0].from: 'dms_change_seq' is a service column (bronze.change.sequence_column)",
    ),
    (column(name="bi_order_id"), f"{ORDERS}.columns[0].name: 'bi_order_id' looks like the before-image of 'order_id'"),
    (column(name="a\nb"), f"{ORDERS}.columns[0].name: must be 1 to 255 printable characters"),
    (column(**{"from": " "}), f"{ORDERS}.columns[0].from: must not be empty; leave it out when"),
    (column(**{"from": "a"}, expr="b"), f"{ORDERS}.columns[0]: has both from and expr; a column copies a source column or computes one"),
    (column(type="varchar(20)"), f"{ORDERS}.columns[0].type: 'varchar' is not a Spark SQL type for columns; write string"),
    (column(format="yyyy"), f"{ORDERS}.columns[0].format: needs type date, timestamp or timestamp_ntz; there is no type"),
    (column(type="int", format="yyyy"), f"{ORDERS}.columns[0].format: needs type date, timestamp or timestamp_ntz; type is int"),
    (
        column(type="date", format="YYYY-MM-dd"),
        f"{ORDERS}.columns[0].format: 'Y' in 'YYYY-MM-dd' is no pattern letter Spark can read; write yyyy for the year",
    ),
    (column(type="date", format="yyyy-mm"), f"{ORDERS}.columns[0].format: 'yyyy-mm' has minutes (m) and no month (M)"),
    (column(type="date", format="dd.mm.yyyy"), f"{ORDERS}.columns[0].format: 'dd.mm.yyyy' has minutes (m) and no month (M)"),
    (column(type="date", format="yyyydd"), f"{ORDERS}.columns[0].format: 'yyyydd' has a day (d) and no month (M)"),
    (
        column(type="timestamp", format="yyyy-MM-dd hh:mm"),
        f"{ORDERS}.columns[0].format: 'yyyy-MM-dd hh:mm' has an hour of half a day (h) and no half (a); write HH",
    ),
    (column(type="date", format="MM-dd"), f"{ORDERS}.columns[0].format: 'MM-dd' has no year"),
    (column(type="date", format="yyyy'T"), f"{ORDERS}.columns[0].format: has a quote without its partner"),
    (
        column(type="date", format="yyyyTdd"),
        f"{ORDERS}.columns[0].format: 'T' in 'yyyyTdd' is no pattern letter Spark can read; put literal text",
    ),
    (column(mask_salt="env:SALT"), f'{ORDERS}.columns[0].mask_salt: is used with "mask": "sha256" only'),
    (
        column(mask="sha256", backfill="x"),
        f"{ORDERS}.columns[0].backfill: cannot be given for a masked column: it would be stored unmasked",
    ),
    (column(type="smallint", backfill=40000), f"{ORDERS}.columns[0].backfill: is outside smallint (-32768 to 32767)"),
    (column(type="decimal(3,1)", backfill="1e999999999"), f"{ORDERS}.columns[0].backfill: does not fit decimal(3,1)"),
    (column(type="decimal(3,1)", backfill="1e-999999999"), f"{ORDERS}.columns[0].backfill: does not fit decimal(3,1)"),
    (column(type="decimal(38,29)", backfill=f"0.{'1' * 30}"), f"{ORDERS}.columns[0].backfill: does not fit decimal(38,29)"),
    (column(type="decimal(38,0)", backfill="9" * 39), f"{ORDERS}.columns[0].backfill: does not fit decimal(38,0)"),
    (column(type="date", backfill="20240131"), f"{ORDERS}.columns[0].backfill: is not a date; write text such as '2024-01-31'"),
    (column(type="date", backfill="2024-W05-3"), f"{ORDERS}.columns[0].backfill: is not a date; write text such as '2024-01-31'"),
    (column(type="timestamp", backfill="20240131T100000Z"), f"{ORDERS}.columns[0].backfill: is not a timestamp; write text such as"),
    (column(type="int", backfill=True), f"{ORDERS}.columns[0].backfill: is not a whole number, as int needs"),
    (column(type="string", backfill=1), f"{ORDERS}.columns[0].backfill: is not text, as string needs; put it in quotes"),
    (column(renamed_from="extra"), f"{ORDERS}.columns[0].renamed_from: 'extra' is the name it has; remove it"),
    (column(renamed_from=" "), f"{ORDERS}.columns[0].renamed_from: must not be empty"),
    (column(renamed_from="_cdc_x"), f"{ORDERS}.columns[0].renamed_from: '_cdc_x': names that begin with _cdc_"),
    (
        column(renamed_from="old", null_in_update="keep"),
        f"{ORDERS}.columns[0].renamed_from: updates may leave this column out",
    ),
    (
        (f"{T}/columns", [{"name": "a", "renamed_from": "Old"}, {"name": "b", "from": "old"}]),
        f"{ORDERS}.columns[0].renamed_from: 'Old' belongs to column 'b' as well",
    ),
    (column(type_changes="new_column", type="int"), f"{ORDERS}.columns[0].type_changes: found 'new_column' beside type"),
    (
        column(type_changes="new_column", null_in_update="keep"),
        f"{ORDERS}.columns[0].type_changes: found 'new_column' beside null_in_update 'keep'",
    ),
    (
        (f"{T}/columns", [{"name": "order_id", "type_changes": "new_column"}]),
        f"{ORDERS}.columns[0].type_changes: found 'new_column' for a key column",
    ),
    (
        (f"{T}/columns", [{"name": "amount", "type_changes": "new_column"}]),
        f"{ORDERS}.columns[0].type_changes: found 'new_column' for a column that the filter or a rule reads",
    ),
    (column(expr=" "), f"{ORDERS}.columns[0].expr: must not be empty; a column's expr is a Spark SQL expression"),
    (column(expr="concat(a, `_cdc_salt_0`)"), f"{ORDERS}.columns[0].expr: '_cdc_salt_0': the job has the salts of masks"),
    (column(expr="max(a)"), f"{ORDERS}.columns[0].expr: max is an aggregate; an expression sees one row"),
    ((f"{T}/filter", "a = 1; drop table x"), f"{ORDERS}.filter: several statements; write one expression, without ';'"),
    (
        (f"{T}/filter", "created > now()"),
        f"{ORDERS}.filter: now gives another value each time; a batch that is run again must give the same rows",
    ),
    ((f"{T}/rules/0/expr", "a in (select b from c)"), f"{ORDERS}.rules[0].expr: a subquery is not allowed; an expression sees one row"),
    ((f"{T}/partition_by", ["bucket(order_id)"]), f"{ORDERS}.partition_by[0]: 'bucket(order_id)': write bucket(n, column) with n from 1"),
    (
        (f"{T}/partition_by", ["bucket(2147483648, order_id)"]),
        f"{ORDERS}.partition_by[0]: 'bucket(2147483648, order_id)': write bucket(n, column) with n from 1 to 2147483647",
    ),
    (
        (f"{T}/partition_by", [f"truncate({'9' * 5000}, order_id)"]),
        f"{ORDERS}.partition_by[0]: 'truncate({'9' * 5000}, order_id)': write truncate(n, column) with n from 1 to 2147483647",
    ),
    (
        (f"{T}/partition_by", ["bucket(0, order_id)"]),
        f"{ORDERS}.partition_by[0]: 'bucket(0, order_id)': write bucket(n, column) with n from 1",
    ),
    ((f"{T}/partition_by", ["day(ordered_at)"]), f"{ORDERS}.partition_by[0]: 'day' is not a partition transform; did you mean 'days'?"),
    ((f"{T}/partition_by", ["days(3, ordered_at)"]), f"{ORDERS}.partition_by[0]: 'days(3, ordered_at)': write days(column)"),
    (
        (f"{T}/partition_by", ["days("]),
        f"{ORDERS}.partition_by[0]: 'days(' is not a partition transform; write one of: column, bucket(n, column)",
    ),
    ((f"{T}/partition_by", [""]), f"{ORDERS}.partition_by[0]: must not be empty"),
    ((f"{T}/partition_by", ["days(order_id)"]), f"{ORDERS}.partition_by[0]: days cannot take bigint (column 'order_id')"),
    (
        (f"{T}/partition_by", ["hours(ordered_at)", "days(ordered_at)"]),
        f"{ORDERS}.partition_by[1]: 'days(ordered_at)' repeats 'hours(ordered_at)'",
    ),
    ((f"{T}/partition_by", ["location"]), f"{ORDERS}.partition_by[0]: the silver table has no column 'location': it is in drop"),
    (
        (f"{T}/table_properties", {"format-version": "3"}),
        f"{ORDERS}.table_properties: 'format-version' cannot be set here; write format_version",
    ),
    (
        (f"{T}/table_properties", {"write.merge.isolation-level": "snapshot"}),
        f"{ORDERS}.table_properties: 'write.merge.isolation-level' cannot be set here",
    ),
    ((f"{T}/table_properties", {"dms-iceberg.frontier": "x"}), f"{ORDERS}.table_properties: 'dms-iceberg.frontier' cannot be set here"),
    (
        ("tables/orders", {"target": "a.b", "key": ["id"]}),
        "tables.orders: expected schema.table (as the folders below bronze.uri), found 'orders'",
    ),
    (
        ("tables/public.awsdms_status", {"target": "a.b", "key": ["id"]}),
        'tables."public.awsdms_status": awsdms_* are control tables of DMS itself',
    ),
    (("tables/public.lines", {"target": "SILVER.orders", "key": ["id"]}), "tables.\"public.lines\".target: 'SILVER' is no Glue name"),
]


@pytest.mark.parametrize(("change", "message"), CASES, ids=[message[:70] for _, message in CASES])
def test_contradiction(change: tuple[str, object], message: str) -> None:
    document = changed(*change)
    if change[0] == f"{T}/columns":
        document["tables"]["public.orders"]["partition_by"] = []
    found = problems(document)
    assert found[0].startswith(message), found
    assert len(found) == 1 or message.startswith('tables."public.lines"'), found


def test_duplicate_targets_in_another_case() -> None:
    document = changed("catalog", {"warehouse": "wh"})
    document["tables"]["public.lines"] = {"target": "Silver.Orders", "key": ["id"]}
    assert problems(document) == [
        f"tables.\"public.lines\".target: 'Silver.Orders' is also the target of {ORDERS}; each table needs its own"
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "mail", "from": "email"},
        {"name": "mail", "expr": "lower(email)"},
        {"name": "address", "type": "struct<Street: string, no: int>"},
        {"name": "bi_report", "type": "int"},
        {"name": "select", "from": 'a "b" `c`'},
        {"name": "n", "type": "decimal(4,2)", "backfill": 12.5},
        {"name": "n", "type": "decimal(4,2)", "backfill": "-012.5000"},
        {"name": "n", "type": "decimal(4,0)", "backfill": "12e2"},
        {"name": "n", "type": "decimal(38,38)", "backfill": f"0.{'1' * 38}"},
        {"name": "n", "type": "decimal(3,1)", "backfill": "0.000"},
        {"name": "at", "type": "timestamp", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "trim": True},
        {"name": "at", "expr": "concat(d, ' ', t)", "type": "timestamp_ntz", "format": "dd.MM.yyyy HH:mm:ss"},
        {"name": "phone", "type": "bigint", "mask": "partial"},
        {"name": "mail", "mask": "sha256", "mask_salt": f"secret:{ARN}"},
        {"name": "order_id", "expr": "upper(order_id)"},
        {"name": "order_id", "mask": "sha256", "mask_salt": "env:SALT", "trim": True},
    ],
)
def test_harmless(entry: dict[str, Any]) -> None:
    document = changed(f"{T}/columns", [entry])
    document["tables"]["public.orders"] |= {"drop": ["email", "phone_raw"], "partition_by": []}
    parse_config(document)


@pytest.mark.parametrize("type_", ["date", "timestamp_ntz"])
def test_a_format_with_an_offset_needs_a_type_that_has_one(type_: str) -> None:
    (found,) = problems(changed(f"{T}/columns", [{"name": "at", "type": type_, "format": "yyyy-MM-dd'XX' HH:mmXXX"}]))
    assert found.startswith(f"{ORDERS}.columns[0].format: 'XXX' reads an offset, and a {type_} has none")


@pytest.mark.parametrize("salt", ["hunter2", "env:a b", "secret:shop/salt", f"secret:{ARN}:key::", "ENV:SALT", "env:", ""])
def test_a_salt_is_never_shown(salt: str) -> None:
    assert problems(changed(f"{T}/columns/3/mask_salt", salt)) == [
        f"{ORDERS}.columns[3].mask_salt: must say where the salt is: env:NAME or secret:ARN (a Secrets Manager ARN), "
        "never the salt itself; value not shown"
    ]


def test_csv() -> None:
    document = changed("bronze/format", "csv")
    document["bronze"]["csv"] = {"delimiter": "ab", "null": "x", "no_supplement": "x"}
    assert problems(document) == [
        "bronze.csv.delimiter: must be one character, neither a quote nor a line break; found the text 'ab'",
        "bronze.csv.no_supplement: is the same text as bronze.csv.null; a value that was not supplied is no NULL",
    ]
    document["bronze"]["csv"] = {"delimiter": "\\"}
    assert problems(document)[0].startswith("bronze.csv.delimiter: a backslash cannot be read: Spark takes it for the beginning")
    document["bronze"]["csv"] = {"no_supplement": ""}
    assert problems(document)[0].startswith("bronze.csv.no_supplement: must not be empty: an empty field is a value")


def test_csv_without_header_knows_its_columns() -> None:
    document = changed("bronze/format", "csv")
    document["bronze"]["csv"] = {"header": False}
    table = document["tables"]["public.orders"]
    assert problems(document) == [
        f"{ORDERS}.source_columns: missing; CSV without a header needs the source columns in file order (without service columns)"
    ]
    table["source_columns"] = ["order_id", "ordered_at", "email", "location", "deleted_by_app", "amount"]
    parse_config(document)
    document["bronze"]["change"] = {"before_image": "optional", "sequence_column": "seq", "before_image_prefix": "BI_"}
    assert parse_config(document).bronze.change.before_image is BeforeImage.OPTIONAL
    document["bronze"]["change"] = {"before_image": "optional", "sequence_column": None, "before_image_prefix": None}
    without_prefix, without_sequence = problems(document)
    assert without_prefix.startswith("bronze.change.before_image: 'optional' needs bronze.change.before_image_prefix")
    assert without_sequence.startswith("bronze.change.before_image: 'optional' needs bronze.change.sequence_column")
    document["bronze"].pop("change")
    table["source_columns"] = ["order_id", "ordered", "email", "Location", "deleted", "order_id", "Op"]
    assert problems(document) == [
        f"{ORDERS}.columns[1].name: 'ordered_at' is not in source_columns; did you mean 'ordered'?",
        f"{ORDERS}.source_columns[5]: 'order_id' is there twice (also source_columns[0]; case does not count)",
        f"{ORDERS}.source_columns[6]: 'Op' is a service column (bronze.change.op_column); rename one of them",
        f"{ORDERS}.rules[0].expr: there is no column 'amount'; allowed: order_id, ordered, email, Location, deleted, order_id, Op, "
        "order_id, ordered_at, city, email",
        f"{ORDERS}.filter: there is no column 'deleted_by_app'; did you mean 'deleted'?",
    ]


def test_partition_columns_are_checked_where_they_are_known() -> None:
    document = changed(f"{T}/partition_by", ["unknown_to_the_document"])
    parse_config(document)
    document["tables"]["public.orders"]["other_columns"] = "drop"
    assert problems(document) == [
        f"{ORDERS}.partition_by[0]: the silver table has no column 'unknown_to_the_document'; allowed: city, email, order_id, ordered_at"
    ]
    renamed = changed(f"{T}/columns/0", {"name": "id", "from": "order_id"})
    assert problems(renamed) == [f"{ORDERS}.partition_by[0]: the silver table has no column 'order_id': it is called 'id' there"]


def test_a_problem_of_defaults_is_noted_there_and_once() -> None:
    document = changed("defaults", {"filter": "a >", "rules": [{"name": "r", "expr": "sum(a) > 1"}]})
    document["tables"] = {f"public.t{n}": {"target": f"silver.t{n}", "key": ["id"]} for n in range(3)}
    assert problems(document) == [
        "defaults.rules[0].expr: sum is an aggregate; an expression sees one row (greatest and least compare columns)",
        "defaults.filter: syntax error at line 1, column 3 near '>': something is missing",
    ]


@pytest.mark.parametrize(("first", "second"), [("shop.eu__people", "shop__eu.people"), ("shop.t", "shop.t__replays")])
def test_targets_that_would_share_a_quarantine(first: str, second: str) -> None:
    """A replay of one table merged the rejected rows of the other."""
    document = changed("catalog", {"warehouse": "wh"})
    document["tables"] = {"public.orders": {"target": first, "key": ["id"]}, "public.lines": {"target": second, "key": ["id"]}}
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    assert f"the quarantine of '{second}' would have a table of tables.\"public.orders\"'s" in str(caught.value)
