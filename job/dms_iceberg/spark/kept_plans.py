"""Plans that are kept from batch to batch: a frame with the same steps over other files is not analysed, optimised and planned again.

Of a small batch, Spark's work on the plan takes more processor time than its rows. The next batch of a table has the same plan, but for its
files. So a frame that `reading` returns records the steps that are taken on it, as texts. What Spark found about these steps is kept in a
tree: columns and types for each step, and for a frame that was run its physical plan. Equal texts over files of an equal schema are an
equal plan, so nothing has to be invalidated. A text that differs, such as one with another number, is another plan.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from threading import Lock
from typing import Any, cast
from weakref import WeakKeyDictionary

import attrs
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.spark.arrow import to_arrow
from dms_iceberg.spark.brief import briefly_planned
from dms_iceberg.spark.physical_plan import PhysicalPlan, physical_plan, relation_of

MOST_STEPS = 10_000
"""The most steps that are kept, of all tables; those on files of the schema that was read longest ago go first."""
MOST_FAILURES = 3
"""After so many the plan of a frame is not kept any more."""
_LOCK = Lock()
_TREES: "WeakKeyDictionary[SparkSession, OrderedDict[Hashable, _Tree]]" = WeakKeyDictionary()


@attrs.define(eq=False)
class _Tree:
    """The steps on files of one schema."""

    root: "_Kept"
    steps: int = 1


@attrs.define(eq=False)
class _Kept:
    """What is known of a frame whatever files it reads.

    Attributes:
        frame: one with these steps, over files of an earlier batch, for its columns and types.
        plan: how Spark runs it; None before it was run, and where it cannot be kept.
        failures: how often a kept plan has failed where a new one did not.
    """

    frame: DataFrame
    next: dict[Hashable, "_Kept"] = attrs.field(factory=dict)
    plan: PhysicalPlan | None = None
    failures: int = 0


def reading(spark: SparkSession, form: Hashable, read: Callable[[], DataFrame]) -> DataFrame:
    """Return the frame of ``read``, such that what Spark finds about the steps on it is kept.

    The result behaves like a `DataFrame` (except for ``isinstance`` and ``[]``).

    Args:
        spark: the session.
        form: all that ``read`` depends on, but for the paths of files.
        read: reads files by a data source of files.
    """
    frame = read()
    with _LOCK:
        trees = _TREES.setdefault(spark, OrderedDict())
        while sum(one.steps for one in trees.values()) > MOST_STEPS:
            trees.popitem(last=False)
        tree = trees.setdefault(form, _Tree(_Kept(frame)))
        trees.move_to_end(form)
    return cast(DataFrame, FileFrame(frame, tree, tree.root))


class FileFrame:
    """A frame over files whose steps are recorded.

    Its methods are those of any data frame. What is not defined here is that of `frame`, the frame as Spark has it.
    """

    def __init__(self, files: DataFrame, tree: _Tree, kept: _Kept, before: "tuple[FileFrame, _Step] | None" = None) -> None:
        self._files, self._tree, self._kept, self._before = files, tree, kept, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)

    @cached_property
    def frame(self) -> DataFrame:
        """The frame as Spark has it, over the files of this batch."""
        if self._before is None:
            return self._files
        before, step = self._before
        return step.taken(before.frame)

    @property
    def columns(self) -> list[str]:
        """As of any data frame."""
        return self._kept.frame.columns

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """As of any data frame."""
        return self._kept.frame.dtypes

    def selectExpr(self, *texts: str) -> "FileFrame":
        """As of any data frame."""
        return self._after(_Step("selectExpr", texts))

    def toDF(self, *names: str) -> "FileFrame":
        """As of any data frame."""
        return self._after(_Step("toDF", names))

    def drop(self, *names: str) -> "FileFrame":
        """As of any data frame."""
        return self._after(_Step("drop", names))

    def coalesce(self, partitions: int) -> "FileFrame":
        """As of any data frame."""
        return self._after(_Step("coalesce", (partitions,)))

    def transform(self, function: Callable[..., DataFrame], *args: Hashable) -> "FileFrame":
        """As of any data frame; ``function`` is one of a module, and depends on its arguments only."""
        return self._after(_Step("transform", (function, *args)))

    def unpersist(self) -> "FileFrame":
        """As of any data frame."""
        # What Spark has never had is not cached.
        if "frame" in vars(self):
            self.frame.unpersist()
        return self

    def _after(self, step: "_Step") -> "FileFrame":
        result = FileFrame(self._files, self._tree, self._kept, (self, step))
        kept = self._kept.next.get(step)
        if kept is None:
            kept = self._kept.next[step] = _Kept(result.frame)
            self._tree.steps += 1
        result._kept = kept
        return result

    def brief_rows(self) -> pa.Table:
        """See `brief_rows`."""
        # Another table's thread may have the same frame.
        kept, plan, relation = self._kept, self._kept.plan, relation_of(self._files)
        has_failed = False
        if plan is not None and not plan.is_of(relation):
            try:
                return plan.rows(relation)
            except (Py4JError, PySparkException):
                # Because of a file or of its store, which the plain way will say, or of the plan.
                kept.plan, has_failed = None, True
        planned = briefly_planned(self.frame)
        found = to_arrow(planned)
        kept.failures += has_failed
        kept.plan = physical_plan(planned, found.schema) if kept.failures < MOST_FAILURES else None
        return found


def as_planned_now(frame: DataFrame) -> DataFrame:
    """Return a frame such that no kept plan is run for it."""
    return frame.frame if isinstance(frame, FileFrame) else frame


def brief_rows(frame: DataFrame) -> pa.Table:
    """Return all rows of a frame, at most some thousands, as Arrow, planned as by `briefly_planned`."""
    return frame.brief_rows() if isinstance(frame, FileFrame) else to_arrow(briefly_planned(frame))


@attrs.frozen
class _Step:
    """A method of a data frame, and its arguments."""

    method: str
    args: tuple[Hashable, ...]

    def taken(self, frame: DataFrame) -> DataFrame:
        return cast(DataFrame, getattr(frame, self.method)(*self.args))
