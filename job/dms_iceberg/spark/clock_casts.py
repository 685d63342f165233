"""Finds texts that Spark takes for the present time, in an expression that it has analysed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


def constant_casts(frame: DataFrame) -> Iterator[str]:
    """Yield the texts that the first column of a frame casts to date or timestamp in every row alike.

    Spark makes such casts itself where a text is compared with a time or passed as one, as in ``ordered_at >= 'today'``. When a plan is
    optimised, ``now``, ``today``, ``yesterday`` and ``tomorrow`` become times (Spark's rule ``SpecialDatetimeValues``).
    """
    yield from _casts(frame._jdf.queryExecution().analyzed().expressions().apply(0))


def _casts(node: "JavaObject") -> Iterator[str]:
    name = node.getClass().getSimpleName()
    if name == "Cast" and node.dataType().typeName() in ("date", "timestamp", "timestamp_ntz") and node.child().foldable():
        yield _value(node.child())
    if name.startswith("ParseTo"):
        # to_date and to_timestamp: a cast that Spark puts in only when it optimises.
        yield from _casts(node.replacement())
    children = node.children()
    for number in range(children.size()):
        yield from _casts(children.apply(number))


def _value(constant: "JavaObject") -> str:
    try:
        return str(constant.eval(None))
    except (Py4JError, PySparkException):
        # Spark has no value for some functions before it optimises.
        return str(constant.sql())
