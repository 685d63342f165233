"""Spark SQL functions that a per-row, repeatable expression must not call, and why.

Taken from the function references of Spark 3.5 and 4.1, from the groups aggregate, window, generator and misc. A function that is not
in this list is left to Spark, which reports unknown functions when the table starts.
"""

import re

from sqlglot import exp

_AGGREGATE = """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
collect_list collect_set corr count count_if
count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric
hll_sketch_agg hll_union_agg kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
last_value listagg max max_by mean median min min_by mode
percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum var_pop var_samp variance
"""
_WINDOW = "cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number"
_GENERATOR = """
explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer sql_keywords stack variant_explode variant_explode_outer
"""
_UNREPEATABLE = """
aes_encrypt curdate current_catalog current_database current_date current_schema current_time
current_timestamp current_timezone current_user input_file_block_length input_file_block_start
input_file_name localtimestamp monotonically_increasing_id now rand randn random randstr session_user
shuffle spark_partition_id try_aes_encrypt uniform user uuid version
"""
_RAISING = "assert_true raise_error"
_OUTSIDE = "java_method reflect try_reflect"

_REASONS = {
    _AGGREGATE: "is an aggregate; an expression sees one row (greatest and least compare columns)",
    _WINDOW: "is a window function; an expression sees one row",
    _GENERATOR: "makes several rows of one; use element access such as [0], or a gold model",
    _UNREPEATABLE: "gives another value each time; a batch that is run again must give the same rows",
    _RAISING: "stops the whole table on one row; use a rule with on_fail",
    _OUTSIDE: "calls code outside SQL, which expressions may not",
}

REFUSED_CALLS: dict[str, str] = {name: reason for names, reason in _REASONS.items() for name in names.split()}
"""Function name in lower case, and why it is refused."""

GENERATORS = frozenset(_GENERATOR.split())
"""Functions that give several rows for one."""

REFUSED_WORDS = frozenset({"current_date", "current_timestamp", "current_user", "localtimestamp", "session_user", "current_time"})
"""Functions that Spark also calls without parentheses if no column has that name."""

RANDOM_CALLS = frozenset({"rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"})
"""Functions whose values are drawn."""

DAY_CALLS = frozenset({"curdate", "current_date"})
"""Functions that tell the present day."""

CLOCK_CALLS = frozenset({"current_time", "current_timestamp", "localtimestamp", "now"})
"""Functions that tell the present time."""

UNIX_TIMESTAMP = "unix_timestamp"
"""A function that tells the present time where it has no argument."""

_CLOCK_LITERAL = re.compile(r"(now|today|tomorrow|yesterday)([ \t]*\S*)?", re.IGNORECASE)

_CLOCK_TEXT = re.compile(r"(now|today|tomorrow|yesterday)(?![a-z])|T?\d{1,2}:\d", re.IGNORECASE)

_NOW = re.compile(r"now(?![a-z])", re.IGNORECASE)

_TRIMMED = "".join(map(chr, (*range(0x21), *range(0x7F, 0xA1))))
"""What Spark ignores around a text that it casts to a time: white space and control characters (``UTF8String.trimAll``)."""

_BY_ORDER = """
any_value approx_percentile array_agg collect_list collect_set first first_value histogram_numeric last last_value listagg max_by min_by
mode percentile_approx string_agg hll_sketch_agg hll_union_agg approx_top_k approx_top_k_accumulate approx_top_k_combine
kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float theta_intersection_agg theta_sketch_agg theta_union_agg
"""
CHANGEABLE_CALLS: dict[str, str] = {
    **dict.fromkeys(_UNREPEATABLE.split(), "gives another value each time"),
    **dict.fromkeys(_BY_ORDER.split(), "may give another value when the same rows are read in another order"),
    **dict.fromkeys(_OUTSIDE.split(), "calls code outside SQL"),
}
"""Function name in lower case, and why its result does not depend on a group's rows alone."""


def is_clock_literal(node: "exp.Expr") -> bool:
    """Whether Spark may read a literal as the present time, when it casts it to date or timestamp; also with a zone (``today UTC``)."""
    text = node.name if isinstance(node, exp.RawString | exp.National) or (isinstance(node, exp.Literal) and node.is_string) else ""
    found = _CLOCK_LITERAL.fullmatch(text.strip(_TRIMMED))
    return found is not None and not (found[2] or "")[:1].isalpha()


def is_clock_text(text: str) -> bool:
    """Whether Spark reads a text as the present time, or as one of the present day (``08:00``), when it casts it to date or timestamp."""
    return _CLOCK_TEXT.match(text.lstrip(_TRIMMED)) is not None


def is_moment_text(text: str) -> bool:
    """Whether a text of which `is_clock_text` is true tells the present moment, and not just the day."""
    return _NOW.match(text.lstrip(_TRIMMED)) is not None
