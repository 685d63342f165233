"""SQL expressions, types and partition transforms of the document, judged without Spark."""

import pytest

from dms_iceberg.config.expressions import ExpressionError, expression_problems, referenced_columns
from dms_iceberg.config.partition import PartitionField, parse_partition
from dms_iceberg.config.types import TypeTextError, canonical_type, value_problem

ONE_ROW = "an expression sees one row"
AGAIN = "gives another value each time; a batch that is run again must give the same rows"
PART_OF_SQL = "the expression becomes part of a longer line of SQL"


@pytest.mark.parametrize(
    ("expr", "columns"),
    [
        ("amount >= 0", {"amount"}),
        ("trim(split(location, ',')[0])", {"location"}),
        ("address.city.name", {"address"}),
        ("`order id` > 1 AND `a``b` = 2", {"order id", "a`b"}),
        ("transform(tags, t -> t.name || suffix)", {"tags", "suffix"}),
        ("aggregate(parts, 0, (acc, x) -> acc + x)", {"parts"}),
        ("exists(items, i -> i > least)", {"items", "least"}),
        ("timestampadd(DAY, 1, at)", {"at"}),
        ("extract(year from at) = 2024", {"at"}),
        ("cast(a AS struct<x: int>)", {"a"}),
        ("CASE WHEN a THEN b ELSE c END", {"a", "b", "c"}),
        ("name LIKE ANY ('a%', 'b%')", {"name"}),
        ("x > '-- not a comment; really'", {"x"}),
        ("'now' = word", {"word"}),
        ("count > 1 AND first IS NULL AND `current_date` = date", {"count", "first", "current_date", "date"}),
        ("unix_timestamp(at)", {"at"}),
        ("DATE '2024-01-01' <= d", {"d"}),
        ("1 = 1", set()),
        ("get_json_object(doc, '$.a')", {"doc"}),
    ],
)
def test_good_expressions(expr: str, columns: set[str]) -> None:
    assert expression_problems(expr) == []
    assert referenced_columns(expr) == columns


@pytest.mark.parametrize(
    ("expr", "problem"),
    [
        ("amount >= 0 and", "syntax error at line 1, column 13 near 'and': something is missing"),
        ("a b c", "syntax error at line 1, column 5 near 'c': unexpected text"),
        ("(a", "syntax error at line 1, column 2 near 'a': Expecting )"),
        ("a)", "syntax error at line 1, column 2 near ')': unexpected text"),
        ("a +\n) b", "syntax error at line 2, column 1 near ')': something is missing"),
        ("name = 'abc", "syntax error: a quote is opened and not closed"),
        ("", "empty; write an expression"),
        ("a, b", "2 expressions; write one, without a comma at the top"),
        ("a AS b", "two expressions side by side, or an alias ('b'); write the expression alone"),
        ("a FROM t", "a query, not an expression: 'from' is not allowed here"),
        ("DISTINCT a", "a query, not an expression: 'distinct' is not allowed here"),
        ("a UNION SELECT 1", "not an expression"),
        ("a; DROP TABLE t", "several statements; write one expression, without ';'"),
        ("(" * 2000 + "a" + ")" * 2000, "nested too deeply"),
    ],
)
def test_not_an_expression(expr: str, problem: str) -> None:
    assert expression_problems(expr) == [problem]
    with pytest.raises(ExpressionError):
        referenced_columns(expr)


@pytest.mark.parametrize(
    ("expr", "problem"),
    [
        ("max(a) > 1", f"max is an aggregate; {ONE_ROW} (greatest and least compare columns)"),
        ("`max`(a) > 1", f"max is an aggregate; {ONE_ROW} (greatest and least compare columns)"),
        ("any(a)", f"any is an aggregate; {ONE_ROW} (greatest and least compare columns)"),
        ("lag(a)", f"lag is a window function; {ONE_ROW}"),
        ("f(a) OVER (ORDER BY b)", f"a window (OVER) is not allowed; {ONE_ROW}"),
        ("a IN (SELECT b FROM c)", f"a subquery is not allowed; {ONE_ROW}"),
        ("EXISTS (SELECT 1)", f"a subquery is not allowed; {ONE_ROW}"),
        ("(SELECT 1)", f"a subquery is not allowed; {ONE_ROW}"),
        ("explode(a)", "explode makes several rows of one; use element access such as [0], or a gold model"),
        ("rand(7)", f"rand {AGAIN}"),
        ("UUID()", f"uuid {AGAIN}"),
        ("NOW ( ) > a", f"now {AGAIN}"),
        ("a < current_timestamp", f"current_timestamp {AGAIN}"),
        ("a < current_date()", f"current_date {AGAIN}"),
        ("unix_timestamp() > a", f"unix_timestamp() {AGAIN}"),
        ("a < DATE 'today'", f"'today' as a date or time {AGAIN}"),
        ("a < TIMESTAMP '08:00'", f"'08:00' as a date or time {AGAIN}"),
        ("a < CAST('8:00:01' AS timestamp)", f"'8:00:01' as a date or time {AGAIN}"),
        ("a < TIMESTAMP 'today Europe/Berlin'", f"'today Europe/Berlin' as a date or time {AGAIN}"),
        ("monotonically_increasing_id()", f"monotonically_increasing_id {AGAIN}"),
        ("input_file_name()", f"input_file_name {AGAIN}"),
        ("raise_error('x')", "raise_error stops the whole table on one row; use a rule with on_fail"),
        ("reflect('java.lang.System', 'exit', 1)", "reflect calls code outside SQL, which expressions may not"),
        ("a -- comment", f"comments are not allowed; {PART_OF_SQL}"),
        ("a /* comment */", f"comments are not allowed; {PART_OF_SQL}"),
        ("a = 1;", f"';' is not allowed; {PART_OF_SQL}"),
        ("a::int", "'::' is not Spark 3.5 SQL; write CAST(value AS type)"),
        ("hash(*)", "'*' is not allowed; name the columns"),
        ("${x} = 1", "parameters and variables are not allowed; write the value"),
        (":x = 1", "parameters and variables are not allowed; write the value"),
    ],
)
def test_refused_constructs(expr: str, problem: str) -> None:
    assert expression_problems(expr) == [problem]


def test_every_refused_construct_is_named() -> None:
    assert len(expression_problems("max(a) > rand() AND b IN (SELECT 1)")) == 3


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("real", "float"),
        ("Timestamp_NTZ", "timestamp_ntz"),
        (" decimal( 38 , 0 ) ", "decimal(38,0)"),
        ("numeric(5)", "decimal(5,0)"),
        ("array< map<string, decimal(10,2)> >", "array<map<string,decimal(10,2)>>"),
        ("STRUCT<Street: STRING, `no 1`: array<int>>", "struct<Street:string,`no 1`:array<int>>"),
    ],
)
def test_types(text: str, canonical: str) -> None:
    assert canonical_type(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("varchar(20)", "'varchar' is not a Spark SQL type for columns; write string"),
        ("datetime", "'datetime' is not a Spark SQL type for columns; write timestamp"),
        ("uuid", "'uuid' is not a Spark SQL type for columns; write string"),
        ("bigin", "'bigin' is not a Spark SQL type for columns; did you mean 'bigint'?"),
        ("q", "'q' is not a Spark SQL type for columns; allowed: boolean, tinyint, smallint, int, bigint, "),
        ("", "'' is not a Spark SQL type for columns; allowed: boolean"),
        ("decimal", "'decimal' needs precision and scale, such as decimal(18,2)"),
        ("decimal(39,2)", "'decimal(39,2)': precision must be from 1 to 38 and scale at most the precision"),
        ("decimal(2,3)", "'decimal(2,3)': precision must be from 1 to 38 and scale at most the precision"),
        ("decimal(a,b)", "'decimal(a,b)' is not a type: write decimal(precision,scale)"),
        ("decimal(1", "'decimal(1' is not a type: write decimal(precision,scale)"),
        ("int not null", "'int not null' is not a type: 'not null' is too much"),
        ("array<int", "'array<int' is not a type: expected '>', found the end"),
        ("array", "'array' is not a type: expected '<', found the end"),
        ("struct<a int>", "'struct<a int>' is not a type: expected ':', found 'int'"),
        ("int!", "'int!' is not a type: unexpected '!'"),
        ("map<string>", "'map<string>' is not a type: expected ',', found '>'"),
    ],
)
def test_wrong_types(text: str, message: str) -> None:
    with pytest.raises(TypeTextError) as caught:
        canonical_type(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "type_", "problem"),
    [
        (127, "tinyint", None),
        (128, "tinyint", "is outside tinyint (-128 to 127)"),
        (-(1 << 63), "bigint", None),
        (1.0, "int", "is not a whole number, as int needs"),
        (1, "boolean", "is not true or false, as boolean needs"),
        (3, "double", None),
        (True, "double", "is not a number, as double needs"),
        ("99.99", "decimal(4,2)", None),
        ("0", "decimal(2,2)", None),
        (100, "decimal(4,2)", "does not fit decimal(4,2)"),
        ("0.001", "decimal(4,2)", "does not fit decimal(4,2)"),
        ("12x", "decimal(4,2)", "is not a number, as decimal(4,2) needs"),
        ("NaN", "decimal(4,2)", "is not a number, as decimal(4,2) needs"),
        (True, "decimal(4,2)", "is not a number, as decimal(4,2) needs"),
        ("2024-02-29", "date", None),
        ("2023-02-29", "date", "is not a date; write text such as '2024-01-31'"),
        (20240101, "date", "is not a date; write text such as '2024-01-31'"),
        ("2024-01-31T10:00:00Z", "timestamp", None),
        ("2024-01-31 10:00:00", "timestamp", "has no offset, so it is no instant; write text such as '2024-01-31T10:00:00Z'"),
        ("2024-01-31 10:00:00", "timestamp_ntz", None),
        ("2024-01-31T10:00:00Z", "timestamp_ntz", "is not a timestamp_ntz; write text such as '2024-01-31T10:00:00'"),
        ("x", "array<int>", "cannot be given for array; leave it out, or use an expression"),
        ("x", "binary", "cannot be given for binary; leave it out, or use an expression"),
    ],
)
def test_values(value: str | int | float | bool, type_: str, problem: str | None) -> None:
    assert value_problem(value, type_) == problem


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("city", PartitionField("identity", "city")),
        ("`home town`", PartitionField("identity", "home town")),
        ("home town", PartitionField("identity", "home town")),
        ("Bucket( 16 , `a``b` )", PartitionField("bucket", "a`b", 16)),
        ("truncate(4,zip)", PartitionField("truncate", "zip", 4)),
        ("hours(at)", PartitionField("hours", "at")),
    ],
)
def test_partition_transforms(text: str, field: PartitionField) -> None:
    assert parse_partition(text) == field
