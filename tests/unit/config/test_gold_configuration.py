"""The gold section: what is read from the SQL, and what is refused before anything runs."""

from typing import Any

import pytest

from dms_iceberg.config.gold_checks import model_order
from dms_iceberg.config.incremental import group_columns, incremental_problems
from dms_iceberg.config.model import Refresh
from dms_iceberg.config.model_sql import ModelSqlError, pinned, references
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError


def config(gold: dict[str, Any]) -> Any:
    document = {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": "/bronze"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": "/lake"},
        "tables": {f"public.{name}": {"target": f"silver.{name}", "key": ["id"]} for name in ("orders", "customers")},
        "gold": gold,
    }
    return parse_config(document)


def problems(gold: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as error:
        config(gold)
    return list(error.value.problems)


def test_only_names_of_tables_are_replaced_and_all_else_stays_as_written() -> None:
    sql = "WITH a AS (SELECT * FROM silver.orders o) -- silver.orders\nSELECT 'silver.orders', `a`.* FROM a, lake.`silver`.customers c"
    assert [one.name for one in references(sql)] == ["silver.orders", "silver.customers"]
    assert pinned(sql, "lake", {"silver.orders": 7}) == (
        "WITH a AS (SELECT * FROM `lake`.`silver`.`orders` VERSION AS OF 7 o) -- silver.orders\n"
        "SELECT 'silver.orders', `a`.* FROM a, `lake`.`silver`.`customers` c"
    )


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT 1; SELECT 2", "several statements"),
        ("INSERT INTO silver.orders SELECT 1", "not a query"),
        ("SELECT FROM silver.orders WHERE", "syntax error"),
        ("SELECT 'open", "a quote is opened"),
        ("SELECT * FROM orders", "name tables as namespace.table"),
        ("SELECT * FROM range(10)", "only tables"),
        ("SELECT * FROM silver.orders VERSION AS OF 1", "newest snapshot"),
        ("SELECT * FROM silver.orders;", "without ';'"),
    ],
)
def test_sql_that_is_no_model(sql: str, reason: str) -> None:
    with pytest.raises(ModelSqlError, match=reason):
        references(sql)
    assert reason in problems({"gold.m": {"sql": sql}})[0]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT city, count(*) n FROM silver.orders GROUP BY 1", "GROUP BY 1"),
        ("SELECT year(d) y, count(*) n FROM silver.orders GROUP BY year(d)", "not by expressions"),
        ("SELECT count(*) n FROM silver.orders GROUP BY city", "select the column too"),
        ("SELECT count(*) n FROM silver.orders", "needs GROUP BY"),
        ("SELECT city, sum(n) OVER () FROM silver.orders GROUP BY city, n", "window"),
        ("SELECT city, rand() FROM silver.orders GROUP BY city", "rand"),
        ("SELECT city, current_date FROM silver.orders GROUP BY city", "current_date"),
        ("SELECT city, collect_list(x) FROM silver.orders GROUP BY city", "collect_list"),
        ("SELECT city, count(*) FROM silver.orders WHERE x IN (SELECT id FROM silver.orders) GROUP BY city", "one SELECT over one table"),
        ("SELECT o.city, count(*) FROM silver.orders o JOIN silver.customers c ON o.id = c.id GROUP BY o.city", "joins"),
        ("SELECT city, count(*) FROM (SELECT * FROM silver.orders) GROUP BY city", "FROM must be the table alone"),
        ("SELECT city, count(*) FROM silver.orders GROUP BY city ORDER BY city", "ORDER BY"),
        ("SELECT city, count(*) FROM silver.orders o TABLESAMPLE (10 ROWS) GROUP BY city", "TABLESAMPLE"),
        ("SELECT city, count(*) FROM silver.orders TABLESAMPLE (10 PERCENT) GROUP BY city", "TABLESAMPLE"),
        ("SELECT b, count(*) FROM silver.orders AS o(b, a) GROUP BY b", "not its columns"),
        ("SELECT city, explode(array(min(x), max(x))) FROM silver.orders GROUP BY city", "several rows of a group"),
        ("SELECT city, count(*) FROM silver.orders WHERE d >= DATE 'today' GROUP BY city", "time of the clock"),
        ("SELECT city, count(*) FROM silver.orders WHERE d >= 'Yesterday' GROUP BY city", "time of the clock"),
        ("SELECT city, count(*) FROM silver.orders WHERE t >= TIMESTAMP 'today UTC' GROUP BY city", "time of the clock"),
        ("SELECT city, count(*) FROM silver.orders WHERE t > CAST('tomorrow+01:00' AS timestamp) GROUP BY city", "time of the clock"),
        ("SELECT city, max(reflect('java.util.UUID', 'randomUUID')) FROM silver.orders GROUP BY city", "code outside SQL"),
        ("SELECT city, hll_sketch_estimate(hll_sketch_agg(x)) FROM silver.orders GROUP BY city", "another order"),
        ("SELECT city, count(*) FROM silver.orders WHERE t > unix_timestamp() - 5 GROUP BY city", "unix_timestamp"),
        ("SELECT city, count(_file) AS n FROM silver.orders GROUP BY city", "tells of files"),
        ("SELECT city, max(_last_updated_sequence_number) AS n FROM silver.orders GROUP BY city", "tells of files"),
        ("SELECT city, count(*) AS _present FROM silver.orders GROUP BY city", "cannot be called _present"),
        ("SELECT city, min(x) AS n, max(x) AS N FROM silver.orders GROUP BY city", "two columns are called n"),
        ("SELECT DISTINCT city, count(*) FROM silver.orders GROUP BY city", "DISTINCT"),
        ("SELECT city, count(*) FROM silver.orders GROUP BY city WITH ROLLUP", "ROLLUP"),
        ("SELECT silver.orders.city, count(*) FROM silver.orders GROUP BY silver.orders.city", "name columns alone"),
        ("SELECT city FROM silver.orders UNION SELECT name FROM silver.customers", "set operations"),
    ],
)
def test_why_a_model_cannot_be_incremental(sql: str, reason: str) -> None:
    assert any(reason in one for one in incremental_problems(sql)), incremental_problems(sql)
    (problem,) = {one for one in problems({"gold.m": {"sql": sql, "refresh": "incremental"}}) if reason in one}
    assert problem.startswith('gold."gold.m".refresh: cannot be incremental')
    assert config({"gold.m": {"sql": sql}}).gold["gold.m"].refresh is Refresh.AUTO


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT city AS _file FROM silver.orders", "_file"),
        ("SELECT count(*) `_POS` FROM silver.orders GROUP BY city", "_POS"),
        ("WITH a AS (SELECT 1 AS _partition, id FROM silver.orders) SELECT _partition FROM a", "_partition"),
        ("(SELECT 1 AS _deleted FROM silver.orders) UNION ALL SELECT id FROM silver.orders", "_deleted"),
        ("SELECT stack(2, 1, 2) AS (_spec_id, b) FROM silver.orders", "_spec_id"),
    ],
)
def test_a_column_cannot_have_the_name_of_one_of_iceberg(sql: str, column: str) -> None:
    (problem,) = problems({"gold.m": {"sql": sql}})
    assert problem.startswith(f'gold."gold.m".sql: a column cannot be called {column}: Iceberg has')


def test_a_column_of_iceberg_may_be_read() -> None:
    assert config({"gold.m": {"sql": "SELECT count(DISTINCT _file) AS files FROM silver.orders UNION SELECT 1 AS _pos FROM silver.orders"}})


def test_groups_of_an_incremental_model() -> None:
    sql = "SELECT o.city AS town, kind, count(*) n FROM silver.orders o WHERE x > 1 GROUP BY o.city, Kind HAVING count(*) > 1"
    assert incremental_problems(sql) == []
    assert incremental_problems("SELECT city, count_if(word = 'nowadays') n FROM silver.orders GROUP BY city") == []
    assert [(one.source, one.output) for one in group_columns(sql)] == [("city", "town"), ("Kind", "kind")]


def test_models_come_after_those_they_read() -> None:
    gold = {"gold.c": "gold.b", "gold.a": "silver.orders", "gold.b": "gold.a"}
    order = model_order(config({name: {"sql": f"SELECT * FROM {read}"} for name, read in gold.items()}))
    assert order == ["gold.a", "gold.b", "gold.c"]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ({"gold.m": {"sql": "SELECT * FROM silver.order"}}, "did you mean 'silver.orders'?"),
        ({"gold.m": {"sql": "SELECT * FROM other.silver.orders"}}, "is not in catalog 'lake'"),
        ({"gold.m": {"sql": "SELECT 1"}}, "it reads no table"),
        ({"gold.m": {"sql": "SELECT * FROM Silver.Orders"}}, "'Silver.Orders' is 'silver.orders' in this document; write it so"),
        ({"silver.orders": {"sql": "SELECT * FROM silver.customers"}}, "is the target of"),
        ({"m": {"sql": "SELECT * FROM silver.customers"}}, "expected namespace.table"),
        ({"quarantine.m": {"sql": "SELECT * FROM silver.customers"}}, "quarantine"),
        ({"gold.m": {"sql": "SELECT * FROM silver.customers", "partition_by": ["weeks(d)"]}}, "partition transform"),
        ({"gold.m": {"sql": "SELECT * FROM silver.customers", "refresh": "incremental "}}, "allowed"),
        ({"gold.m": {}}, "sql: missing"),
        ({"gold.a": {"sql": "SELECT * FROM gold.b"}, "gold.b": {"sql": "SELECT * FROM gold.a"}}, "reads itself by way of"),
        ({"gold.a": {"sql": "SELECT * FROM gold.a"}}, "reads itself"),
        (
            {
                "gold.a": {"sql": "SELECT * FROM silver.orders"},
                "gold.b": {"sql": "SELECT x, count(*) FROM gold.a GROUP BY x", "refresh": "incremental"},
            },
            "only changes of a silver table",
        ),
    ],
)
def test_what_a_gold_section_must_not_say(gold: dict[str, Any], expected: str) -> None:
    assert any(expected in one for one in problems(gold)), problems(gold)


def test_a_model_does_not_record_another_owner_by_its_properties() -> None:
    (problem,) = problems({"gold.m": {"sql": "SELECT id FROM silver.orders", "table_properties": {"dms-iceberg.source": "public.orders"}}})
    assert problem.startswith("gold.\"gold.m\".table_properties: 'dms-iceberg.source' cannot be set here")


def test_columns_that_only_unicode_calls_equal_are_two() -> None:
    """Spark reads both."""
    sql = "SELECT `straße` AS a, `strasse` AS b, count(*) AS n FROM s.t GROUP BY `straße`, `strasse`"
    assert [(one.source, one.output) for one in group_columns(sql)] == [("straße", "a"), ("strasse", "b")]
