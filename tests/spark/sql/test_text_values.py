"""Text becomes a value of a declared type when all of it is one: against an oracle, over DMS's forms, near misses and random damage."""

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.sql.text_values import text_value_sql
from support import text_oracle as oracle

SEED = 13
MUTATED = 900


def listed(texts: str) -> list[str]:
    return texts.replace("\n", "|").split("|")


DATES = listed(
    """2026-03-01|2026-03-01 garbage|2026-03-01Tx|2026-3-1|2026|2026-03|2026-03-|2026-03-01T|+2026-03-01|-0044-03-15|0000-01-01
0000-00-00|10000-01-01|+12026-03-01|294247-01-10|5881580-07-11|9999999-01-01|today|epoch|now|2026-02-30|2024-02-29|1900-02-29
20260301|2026/03/01|26-03-01|2026-03-001|٢٠٢٦-03-01|2026-03-01 10:00:00|2026-03-01T10:00:00.123456789Z|2026-03-01 10:00:00+02
2026-03-01 10:00:00+00|2026-03-01 25:00:00|1582-10-10|0001-01-01|9999-12-31|2026-03-01 10|2026-03-01 24:00:00
2026-03-01 10:00:00 garbage|2026-03-01 ,"""
)
TIMES = listed(
    """2026-03-01 10:00:00.123456|1969-12-31 23:59:59.999999|0001-01-01 00:00:00.000000|9999-12-31 23:59:59.999999|2026-03-01 10:00
2026-03-01T10:00:00|2026-03-01 1:2:3|2026-03-01 10|2026-03-01T|10:00:00|T10:00|2026-03-01 10:00:00.|2026-03-01 10:00:00,5
2026-03-01 10:00:00.1234567|2026-03-01 10:00:00.1234560|2026-03-01 10:00:00+02|2026-03-01 10:00:00 +02:00
2026-03-01 10:00:00Z|2026-03-01 10:00:00 UTC|2026-03-01 10:00:00+2|2026-03-01 10:00:00-0230|2026-03-01 10:00:00+02:30:15
2026-03-01 10:00:00+023015|2026-03-01 10:00:00+230|2026-03-01 10:00:00+2:30|2026-03-01 10:00:00+18:00
2026-03-01 10:00:00+18:01|2026-03-01 10:00:00 UTC+2|2026-03-01 10:00:00GMT-02:30|2026-03-01 10:00:00 Europe/Berlin
2026-10-25 02:30:00 Europe/Berlin|2026-03-01 10:00:00 PST|2026-03-01 10:00:00 CET|2026-03-01 10:00:00 z
2026-03-01 10:00:00 -00:00|2026-03-01 10:00:00 +00:00:00|2026-03-01 10:00:00  Z|2026-03-01  10:00:00|2026-03-01 10:00:60
2026-03-01 24:00:00|2026-03-01 10:60:00|2026-03-01 10:00:00 AM|300000-01-01 00:00:00|294247-01-10 04:00:54.775807
294247-01-10 04:00:54.775808|-290308-12-21 19:59:05.224192|-0044-03-15 00:00:00|2026-03-01 10:00Z|2026-03-01T10:00+01:00
2026-03-01 10:00:00.5+02|2026-03-01 10:00:00.-02|2026-03-01+02|2026-03-01Z"""
)
NUMBERS = listed(
    """0|-0|+5|007|12|1.5|1.0|1.|.5|.|+.5e1|1e3|1E+5|1e-3|1000e-3|15e1|0e500|0e-500|0.000e99|1e400|-1e400|1e-400|1e39|3.4028235e38
3.4028236e38|1.401298464324817e-45|7e-46|8e-46|1e-46|4.9e-324|2.4e-324|2.5e-324|1.7976931348623157e308|1.7976931348623159e308
+3.23800011e+01|+0.00000000e+00|+1.0000000000000001e-01|1d|1f|1.5D|2F|0x10|0x1p3|1_000|1,5|1 2|--1|+-1|1e|e5|1e5e5|NaN|nan
+NaN|-nan|inf|-inf|+Inf|INFINITY|-Infinity|infinit|NaN1|16777217|9007199254740993|2147483647|2147483648|-2147483648
9223372036854775807|9223372036854775808|-9223372036854775809|12345678901234567.89|1.2349999999999999999999999999e0
12.345678901234567890123e0|99999999.99|99999999.990000|99999999.995|100000000|1e7|1e8|1.23e1|1.234e1|1.2340e1|12340e-3
12345e-3|123450e-3|1e2147483648|1e-2147483648|99999999999999999999999999999999999999
0.00000000000000000000000000000000000000000001|٣|\uff11|1L|1%|$1|NULL|"""
)
OTHERS = listed("""t|T|true|TRUE|y|yes|1|0|f|no|n|on|off|2|tr|\uff11|ABC|AB|ab|0xAB|zz|00ff|00FF80|AB CD|A|\\xab|é1|AB""")


def spoiled(rng: random.Random, texts: list[str], count: int) -> list[str]:
    """Texts with characters put in, taken out and changed, and pieces of two put together."""
    made = []
    for _ in range(count):
        text, other = rng.choice(texts), rng.choice(texts)
        at, to = rng.randint(0, len(text)), rng.randint(0, len(other))
        piece = rng.choice(["", "0", "9", ".", "-", "+", "e", "E", " ", "\t", "\x00", "\x7f", ":", "T", "Z", "x", "f", "é", "00", "\u00a0"])
        made.append(
            rng.choice([text[:at] + piece + text[at:], text[:at] + piece + text[at + 1 :], text[:at] + other[to:], piece + text + piece])
        )
    return made


def made_times(rng: random.Random) -> list[str]:
    """Times of all ages with zones of many forms."""
    zones = ["", "Z", " Z", "+00", "+02:00", "-1130", " UTC", "UTC-3", "+7", "-03:15:45"]
    made = []
    for _ in range(200):
        at = dt.datetime(1, 1, 1) + dt.timedelta(microseconds=rng.randrange(315_537_897_600 * 10**6))
        made.append(at.isoformat(rng.choice(" T"), rng.choice(["minutes", "seconds", "milliseconds", "microseconds"])) + rng.choice(zones))
    return made


def made_numbers(rng: random.Random) -> list[str]:
    """Numbers of all sizes, in DMS's forms of REAL and DOUBLE among others."""
    made = []
    for _ in range(300):
        value = rng.uniform(-10, 10) * 10.0 ** rng.choice([0, 1, 5, -5, 12, 38, -44, 300, -320])
        made.append(
            rng.choice([f"{value:+.8e}", f"{value:+.16e}", repr(value), f"{value:.3f}" if abs(value) < 1e20 else "0", str(Decimal(value))])
        )
    return made


@attrs.frozen
class Type:
    """A type, what the oracle says of a text, how Spark's value is shown, and what texts are tried."""

    name: str
    value: Callable[[str], Any]
    shown: str = "{}"
    texts: tuple[str, ...] = tuple(NUMBERS)


TYPES = [
    Type("date", oracle.day, "unix_date({})", (*DATES, *TIMES)),
    Type("timestamp", oracle.instant, "unix_micros({})", (*DATES, *TIMES)),
    Type("timestamp_ntz", oracle.wall_clock, "unix_micros(CAST({} AS timestamp))", (*DATES, *TIMES)),
    *(Type(name, lambda text, bits=bits: oracle.integer(text, bits)) for name, bits in (("tinyint", 8), ("int", 32), ("bigint", 64))),
    *(
        Type(f"decimal({p},{s})", lambda text, p=p, s=s: oracle.decimal(text, p, s))
        for p, s in ((10, 2), (38, 0), (38, 38), (38, 10), (4, 4), (1, 0))
    ),
    Type("double", oracle.double),
    Type("float", oracle.single),
    Type("boolean", oracle.boolean, texts=(*OTHERS, *NUMBERS)),
    Type("binary", oracle.binary, texts=tuple(OTHERS)),
]


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.name)
def test_text_is_a_value_or_none_as_the_oracle_says(spark: SparkSession, type_: Type) -> None:
    rng = random.Random(SEED)
    texts = [*type_.texts, *made_times(rng), *made_numbers(rng)]
    texts += spoiled(rng, texts, MUTATED)
    frame = spark.createDataFrame([(text,) for text in dict.fromkeys(texts)], "x string")
    rows = frame.selectExpr("x", type_.shown.format(text_value_sql("x", type_.name)) + " AS v").collect()
    wrong = [(row.x, row.v, type_.value(row.x)) for row in rows if not oracle.same(row.v, type_.value(row.x))]
    assert wrong == []
    assert sum(row.v is not None for row in rows) >= 16
