"""What a model's names mean, and whether its query reads the clock."""

from datetime import UTC, datetime

import pytest

from dms_iceberg.config.model_meaning import Clock, clock_of, meaning_of_names, names_in
from dms_iceberg.gold.model_inputs import Input, ModelInputs

BEFORE = {"id": (1, "long"), "a": (2, "string"), "b": (3, "string"), "Odd name": (4, "string")}
SQL = "SELECT A, count(*) AS n FROM silver.t GROUP BY a"


@pytest.mark.parametrize(
    ("after", "is_same"),
    [
        pytest.param(BEFORE, True, id="as it was"),
        pytest.param({"id": (1, "long"), "b": (2, "string"), "a": (3, "string"), "Odd name": (4, "string")}, False, id="swapped"),
        pytest.param({**BEFORE, "a": (9, "string")}, False, id="dropped and added again"),
        pytest.param({**BEFORE, "a": (2, "binary")}, False, id="another type"),
        pytest.param({**BEFORE, "b": (9, "string")}, True, id="a column that the query does not name"),
        pytest.param({**BEFORE, "c": (9, "string")}, True, id="a new column that it does not name"),
        # In GROUP BY n it would come before the alias.
        pytest.param({**BEFORE, "N": (9, "long")}, False, id="a new column that has the name of an alias"),
        pytest.param({**BEFORE, "Odd name": (9, "string")}, False, id="a name that needs quotes"),
        pytest.param(dict(reversed(BEFORE.items())), True, id="another order"),
    ],
)
def test_what_names_mean_is_told_by_the_ids_of_columns(after: dict[str, tuple[int, str]], is_same: bool) -> None:
    assert (meaning_of_names(SQL, BEFORE) == meaning_of_names(SQL, after)) is is_same


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM silver.t",
        "SELECT t.* FROM silver.t",
        "SELECT count(t.*) AS n FROM silver.t",
        "SELECT count(DISTINCT *) AS n FROM silver.t",
        "SELECT hash(*) AS h FROM silver.t",
        "SELECT to_json(struct(*)) AS h FROM silver.t",
        "SELECT id FROM silver.t WHERE EXISTS (SELECT * FROM silver.u)",
        "WITH a AS (SELECT * FROM silver.t) SELECT id FROM a",
        "SELECT count(*) AS n FROM silver.t NATURAL JOIN silver.u",
        "SELECT count(*) AS n FROM silver.t NATURAL LEFT JOIN silver.u",
        "SELECT p FROM silver.t PIVOT (count(id) FOR a IN ('x' AS p))",
        "SELECT v FROM silver.t UNPIVOT (v FOR n IN (a, b))",
        "SELECT IDENTIFIER('a') AS x FROM silver.t",
    ],
)
def test_a_query_that_may_take_columns_that_it_does_not_name(sql: str) -> None:
    assert names_in(sql) is None
    assert meaning_of_names(sql, BEFORE) != meaning_of_names(sql, {**BEFORE, "c": (9, "string")})
    assert meaning_of_names(sql, BEFORE) != meaning_of_names(sql, dict(reversed(BEFORE.items())))


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT count(*) AS n, a * b AS c FROM silver.t JOIN silver.u USING (d)", {"a", "b", "c", "d", "n"}),
        ("SELECT `A b`, t.x.Y FROM silver.t WHERE z IN (SELECT q FROM silver.u)", {"a b", "x", "y", "z", "q"}),
        ("SELECT max(a) FILTER (WHERE b > 1) OVER (PARTITION BY c ORDER BY d) AS m FROM silver.t", {"a", "b", "c", "d"}),
        ("SELECT g FROM silver.t LATERAL VIEW explode(h) v AS g", {"g", "h"}),
    ],
)
def test_all_names_of_columns_are_found(sql: str, names: set[str]) -> None:
    found = names_in(sql)
    assert found is not None
    assert names <= found


@pytest.mark.parametrize(
    ("expression", "clock"),
    [
        *((text, Clock.MOMENT) for text in ("now()", "current_timestamp()", "CURRENT_TIMESTAMP", "localtimestamp()", "unix_timestamp()")),
        *((text, Clock.MOMENT) for text in ("current_time()", "TIMESTAMP 'now'", "CAST('now' AS timestamp)", "NOW ()")),
        *(
            (text, Clock.DAY)
            for text in ("current_date", "current_date()", "curdate()", "DATE 'today'", "ts >= 'yesterday UTC'", "ts > '08:00'")
        ),
        *((text, None) for text in ("unix_timestamp(ts)", "now", "'today is'", "DATE '2026-03-01'", "current_user()", "rand()", "`now`")),
    ],
)
def test_the_clock_is_found_in_a_query(expression: str, clock: Clock | None) -> None:
    found = clock_of(f"SELECT id, {expression} AS x FROM silver.t")
    # A text that only begins like a time may be read as one.
    assert found == (Clock.DAY if expression == "'today is'" else clock)


@pytest.mark.parametrize(
    ("expression", "clock"),
    [
        *(
            (f"CAST({text} AS timestamp)", Clock.MOMENT)
            for text in (
                *("r'now'", 'R"now"', "N'now'", "'no' 'w'", "'no'\n'w'", "concat('no','w')", "concat(r'n', 'o' || 'w')", "'n' || ('ow')"),
                *("upper('n') || 'ow'", "CAST('no' || 'w' AS string)", "CAST(CAST('now' AS string) AS string)", "'\\u006eow'", "'\\tnow'"),
                # Only Spark computes these.
                *("reverse('won')", "substr('xnow', 2)", "char(110) || 'ow'", "CAST(X'6E6F77' AS string)", "decode(X'6E6F77', 'UTF-8')"),
                *(
                    "coalesce(NULL, reverse('won'))",
                    "element_at(array(reverse('won')), 1)",
                    "trim('xnow', 'x')",
                    "map('a', 'n')['a'] || 'ow'",
                ),
                *(
                    "if(true, concat('no', 'w'), id)",
                    "IF(1 = 1, 'no', 'x') || 'w'",
                    "translate('nXw', 'X', 'o')",
                    "unknown_function('won')",
                ),
            )
        ),
        *((text, Clock.MOMENT) for text in ("ts > reverse('won')", "to_timestamp('n' || 'ow')", "date_add(reverse('won'), 1)")),
        *(
            (text, Clock.DAY)
            for text in ("ts > 'to' 'day'", "CAST(r'08:00' AS timestamp)", "to_date('yester' || 'day')", "ts > '08' || ':00'")
        ),
        *(
            (text, None)
            for text in (
                *("concat('open', '-', 'x')", "concat(a, 'w')", "CAST(concat(a, ' ', b) AS timestamp)", "r'\\d+'", "upper('open') = a"),
                *(
                    "ts >= DATE '2026-01-01' - INTERVAL 7 DAYS",
                    "ts >= date_trunc('month', TIMESTAMP '2026-01-01')",
                    "ts > make_date(2026, 1, 1)",
                ),
                *("ts >= add_months(DATE '2026-01-01', 1)", "ts < to_timestamp('2026-01-01', 'yyyy-MM-dd')", "ts > timestamp_millis(1)"),
                *(
                    "CASE a WHEN 'x' THEN 'y' ELSE 'z' END",
                    "CASE WHEN a = 'x' THEN 'y' END",
                    "a IN ('x', 'y')",
                    "array('a', 'b')",
                    "length('a')",
                ),
                *("named_struct('a', b)", "a RLIKE r'^x'", "a LIKE 'x!_' ESCAPE '!'", "count('x')", "date_format(ts, 'yyyy' || '-MM')"),
                *(
                    "from_json(a, 'b INT')",
                    "get_json_object(a, '$.b')",
                    "concat_ws(',', a, b)",
                    "split(a, ',')[0]",
                    "concat('a', CAST(1 AS string))",
                    "explode(sequence(to_date('2026-01-01'), to_date('2026-02-01'), INTERVAL 1 DAY))",
                    "inline(array(struct('a', 1)))",
                    "concat_ws('-', collect_list(a))",
                    "coalesce(a, 'x')",
                    "map('a', 1)['a']",
                ),
                *("explode(array('a', 'b'))", "stack(2, 'a', 1, 'b', 2)", "datediff(DATE '2026-01-01', ts)", "window(ts, '1 day')"),
            )
        ),
    ],
)
def test_the_clock_is_found_in_a_text_that_is_computed(expression: str, clock: Clock | None) -> None:
    assert clock_of(f"SELECT id, {expression} AS x FROM silver.t") == clock


def test_a_query_that_reads_the_day_gives_another_result_on_the_next() -> None:
    inputs = {"silver.t": Input(1, 1, "x")}
    evening = ModelInputs("d", inputs, datetime(2026, 3, 1, 23, 59, tzinfo=UTC).isoformat(timespec="seconds"))
    night = ModelInputs("d", inputs, datetime(2026, 3, 2, 0, 1, tzinfo=UTC).isoformat(timespec="seconds"))
    assert evening.is_of(evening, Clock.DAY)
    assert not night.is_of(evening, Clock.DAY)
    assert night.is_of(evening, None)
    assert not evening.is_of(evening, Clock.MOMENT)
