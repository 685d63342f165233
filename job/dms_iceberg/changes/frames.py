"""Runs the steps read -> normalise -> clean as DataFrames. Lazy, except for what finds the columns of JSON lines, and empty operations."""

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, expr

from dms_iceberg.bronze.columns import SourceColumns, split_columns
from dms_iceberg.bronze.empty_operations import without_empty_operations
from dms_iceberg.bronze.layout import layout_text
from dms_iceberg.bronze.position import CLOCK_DIGITS
from dms_iceberg.bronze.read import read_group
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.clean import checked_select, condition_columns, expression_columns, masked_select, typed_steps, untyped_expressions
from dms_iceberg.changes.identity import is_identified, stream_sql
from dms_iceberg.changes.mapping import salt_names, sources_of
from dms_iceberg.changes.normalise import half_sql, imaged_sql, moved_sql, normalise_sql
from dms_iceberg.changes.partial_updates import kept_columns, mark_select
from dms_iceberg.changes.present_names import present_names
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import BronzeFormat, Config, Table
from dms_iceberg.config.salts import resolve_salt
from dms_iceberg.context import RunContext
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    CORRUPT,
    FILE,
    IMAGED,
    KEY_TEXT,
    LACKS,
    LAYOUT,
    MISPLACED,
    MOVED,
    OLD_KEY,
    ORIGIN_COLUMNS,
    PROBLEM,
    RECORD,
    REFUSED,
    ROW,
    ROW_ID,
    ROW_NUMBER,
    STREAM,
)
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import VOID
from dms_iceberg.sql.value_text import value_text


@attrs.frozen(eq=False)
class ReadGroup:
    """A schema group as a lazy DataFrame, with its classified columns. ``problem`` is SQL of why a row cannot be read (`PresentNames`)."""

    group: SchemaGroup
    frame: DataFrame
    columns: SourceColumns
    problem: str | None = None


def read_groups(
    spark: SparkSession, config: Config, root: str, groups: Sequence[SchemaGroup], table: Table, existing: Collection[str] = ()
) -> list[ReadGroup]:
    """Open every group; ``existing`` are the silver table's columns. See `read_group` and `classify_columns` for the errors raised."""

    def rows_of(group: SchemaGroup) -> DataFrame:
        return read_group(spark, root, group, config.bronze, table, existing)

    read = [one for group in groups for one in without_empty_operations(group, config.bronze.change, rows_of)]
    return classify_columns(read, config, table, existing)


def classify_columns(
    read: Sequence[tuple[SchemaGroup, DataFrame]], config: Config, table: Table, existing: Collection[str] = ()
) -> list[ReadGroup]:
    """Classify the columns of groups, names spelled as in the first that has them; see `split_columns` for the errors raised."""
    change, by_row = config.bronze.change, config.bronze.format is BronzeFormat.JSON
    named = [present_names(frame.dtypes, table, change, by_row=by_row) for _, frame in read]
    frames = _alike([frame if now.select is None else frame.selectExpr(*now.select) for (_, frame), now in zip(read, named, strict=True)])
    columns = [
        [(name, type_) for name, type_ in frame.dtypes if name not in ORIGIN_COLUMNS and name.lower() not in now.former]
        for frame, now in zip(frames, named, strict=True)
    ]
    known = {name for found in columns for name, _ in found}
    return [
        ReadGroup(group, frame, split_columns(group, found, config.bronze, table, known, existing), now.problem)
        for (group, _), frame, found, now in zip(read, frames, columns, named, strict=True)
    ]


def _alike(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """Give columns whose names differ between files in case only one name; such a difference is no schema change."""
    spelled: dict[str, str] = {}
    for frame in frames:
        for name in frame.columns:
            spelled.setdefault(name.lower(), name)
    named = [[spelled[name.lower()] for name in frame.columns] for frame in frames]
    return [frame if names == frame.columns else frame.toDF(*names) for names, frame in zip(named, frames, strict=True)]


def committed_since(groups: Sequence[ReadGroup], since: str) -> list[ReadGroup]:
    """Leave out changes committed before ``since`` (17 digits; "" for none) where files have a sequence.

    This saves reading most of old files. All groups are of change files.
    """
    if not since:
        return list(groups)
    begin = string_literal(since[:CLOCK_DIGITS])
    return [
        attrs.evolve(one, frame=one.frame.where(f"{quote(one.columns.sequence)} >= {begin}")) if one.columns.sequence is not None else one
        for one in groups
    ]


@attrs.frozen(eq=False)
class Cleaner:
    """Cleans changes of a table.

    Attributes:
        context: the context of the run.
        table: the table's configuration.
        shape: its silver columns.
        load: number of the load that the changes belong to (`Progress.load`).
    """

    context: RunContext
    table: Table
    shape: Shape
    load: int

    def clean(self, groups: Sequence[ReadGroup], *, with_record: bool = False, with_images: bool = False) -> DataFrame:
        """Return the cleaned changes of all groups, united by name.

        Args:
            groups: opened files, or records of the quarantine.
            with_record: also `RECORD` (the file's record as JSON), `ROW_NUMBER` and `LAYOUT` (the record's columns), for the quarantine.
            with_images: also the images of changes as separate rows (`half_sql`), `IMAGED` and `STREAM`, to play changes one by one.

        Rows that come from the quarantine have their `ROW_ID` as well.
        """
        elsewhere = {name: type_ for group in groups for name, type_ in group.columns.source}
        frames = []
        for number, group in enumerate(groups):
            is_record = ROW_ID in group.frame.columns
            carried = (RECORD, ROW_NUMBER, LAYOUT, KEY_TEXT) if with_record else (ROW_ID, KEY_TEXT) if is_record else ()
            frame = _with_record(group) if with_record else group.frame
            frame = frame.selectExpr("*", _key_text_sql(self.shape, frame)) if KEY_TEXT in carried else frame
            read = attrs.evolve(group, frame=frame)
            frame, further = self._normalised(read, carried, self._refusal(number, group), with_images=with_images)
            absent = _absent_columns(group.columns, self.table, self.shape, elsewhere)
            frames.append(self._cleaned(frame, group.columns, absent, further))
        return reduce(lambda left, right: left.unionByName(right), frames)

    @property
    def _is_sparse(self) -> bool:
        """Whether rows of a group may be of different structure, and lack columns that are NULL."""
        return self.context.config.bronze.format is BronzeFormat.JSON

    def _refusal(self, number: int, group: ReadGroup) -> str:
        """SQL over a group of why a row is rejected whole, with both halves of a change of its key; "" where none is."""
        refused = self.shape.refused.get(number)
        texts = [group.problem, refused.problem_sql(by_row=self._is_sparse) if refused else None]
        found = [text for text in texts if text is not None]
        return f"coalesce({', '.join(found)})" if found else ""

    def _normalised(self, read: ReadGroup, carried: Sequence[str], refusal: str, *, with_images: bool) -> tuple[DataFrame, tuple[str, ...]]:
        """Return the changes of a group in one form, and ``carried`` with the further columns that they have for later steps."""
        bronze, columns, frame = self.context.config.bronze, read.columns, read.frame
        change, is_cdc = bronze.change, read.group.is_cdc
        kept = kept_columns(bronze, self.table, self.shape.columns)
        flags = (LACKS, MOVED) if kept else (MOVED,)
        if kept:
            frame = frame.selectExpr(*mark_select(frame.columns, columns, bronze, self.table, self.shape.columns))
        else:
            moved = moved_sql(columns, change) if is_cdc else "false"
            frame = frame.selectExpr("*", f"coalesce({moved}, false) AS {MOVED}")
        streams = {STREAM: stream_sql(read.frame.columns, change)} if is_identified(self.table) or with_images else {}
        if with_images:
            sources = [sources_of(column) for column in self.shape.columns if not column.is_key]
            frame = frame.selectExpr("*", f"{imaged_sql(columns, change, self.table, sources)} AS {IMAGED}")
            flags = (*flags, IMAGED)
        if refusal:
            frame = frame.selectExpr("*", f"{refusal} AS {REFUSED}")
        half = half_sql(columns, change, is_cdc=is_cdc, with_images=with_images)
        frame = frame.selectExpr("*", half, *(f"{text} AS {name}" for name, text in streams.items()))
        *steps, last = normalise_sql(read.group, columns, change, self.table, self.load, with_images=with_images)
        frame = reduce(lambda result, step: result.selectExpr(*step), steps, frame)
        further = (*carried, *flags, *streams)
        frame = frame.selectExpr(*last, *further, *([MISPLACED] if kept else []), *([REFUSED] if refusal else []))
        if kept:
            frame = _rejecting(frame, f"CASE WHEN {OLD_KEY} = 0 THEN {MISPLACED} END").drop(MISPLACED)
        if table_mode(self.table.mode).has_versions:
            frame = _rejecting(
                frame, f"CASE WHEN {COMMITTED_AT} IS NULL THEN 'no_time: the change has no commit time, and its version no beginning' END"
            )
        if refusal:
            frame = _rejecting(frame, REFUSED).drop(REFUSED)
        return frame, further

    def _cleaned(self, frame: DataFrame, columns: SourceColumns, absent: Mapping[str, str], carried: Sequence[str]) -> DataFrame:
        """Return the silver columns of normalised changes; ``absent`` are columns that the files lack (`_absent_columns`)."""
        table, shape = self.table, self.shape
        if absent:
            frame = frame.selectExpr("*", *(f"CAST(NULL AS {type_}) AS {quote(name)}" for name, type_ in absent.items()))
        # A silver column of that name stays absent, because its value may be its backfill.
        shown = _shown(shape)
        source = dict(columns.source) | {name: type_ for name, type_ in absent.items() if name.lower() not in shown}
        source |= _key_types(frame, shape, columns)
        salts = salt_names(shape.columns)
        if salts:
            row = tuple(shape.salts.get(reference) or resolve_salt(reference) for reference in salts)
            schema = ", ".join(f"{column} string" for column in salts.values())
            frame = frame.crossJoin(broadcast(self.context.spark.createDataFrame([row], schema)))
        through = (*carried, *salts.values())
        untyped = untyped_expressions(shape.columns)
        # Of these files: their columns may have other types than those of the batch, or of the files that made the table.
        types = dict(frame.selectExpr(*(f"{one.base_sql(VOID)} AS {quote(one.name)}" for one in untyped)).dtypes) if untyped else {}
        typed = typed_steps(table, shape, source, through, expressions=types, sparse=self._is_sparse)
        frame = reduce(lambda result, step: result.selectExpr(*step), typed, frame)
        frame = frame.selectExpr(*checked_select(table, shape.columns, through))
        # Spark analyses each select list, which takes long for a wide table; without masks and retired columns the last would be a copy.
        if not salts and not any(column.retired or column.declared.mask for column in shape.columns):
            return frame
        return frame.selectExpr(*masked_select(shape.columns, carried, _mask_types(frame, shape, dict(columns.source)), shape.texts))


def _key_types(frame: DataFrame, shape: Shape, columns: SourceColumns) -> dict[str, str]:
    """Return the types that before-images leave to key columns that become text: an image may have a wider type than the key."""
    keys = {(one.source or "").lower() for one in shape.columns if one.is_key and one.name in shape.texts}
    named = [name for name, type_ in columns.source if name.lower() in keys and type_ != "string"] if columns.before_image else []
    types = dict(frame.dtypes) if named else {}
    return {name: types[name] for name in named}


def _mask_types(frame: DataFrame, shape: Shape, source: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the values to be masked; empty where all of them are copies of text."""
    masked = [column for column in shape.columns if column.name in shape.texts]
    if all(source.get(column.source or "") == shape.texts[column.name] == "string" for column in masked):
        return {}
    return dict(frame.dtypes)


def _rejecting(frame: DataFrame, problem: str) -> DataFrame:
    """Set `PROBLEM` of a row to the SQL ``problem``, unless the row has one already."""
    return frame.transform(_with_column, PROBLEM, f"coalesce({PROBLEM}, {problem})")


def _with_column(frame: DataFrame, name: str, text: str) -> DataFrame:
    return frame.withColumn(name, expr(text))


def _shown(shape: Shape) -> set[str]:
    return {column.name.lower() for column in shape.columns if not column.retired}


def _absent_columns(columns: SourceColumns, table: Table, shape: Shape, elsewhere: Mapping[str, str]) -> dict[str, str]:
    """Return name and type of columns that expressions read and these files lack, because the source dropped or has not yet added them."""
    absent: dict[str, str] = {}
    present, shown = {name.lower() for name, _ in columns.source}, _shown(shape)
    kept_types = {column.copies.lower(): shape.types[column.name] for column in shape.columns if column.copies is not None}
    conditions, expressions = condition_columns(table), expression_columns(table)
    referenced = {name.lower() for name in conditions | expressions}
    # Conditions see silver columns first, expressions source columns only.
    wanted = {name for name in conditions if name.lower() not in shown} | expressions
    for name in (*elsewhere, *sorted(wanted)):
        if name.lower() not in present and name.lower() in referenced:
            absent[name] = elsewhere.get(name) or kept_types.get(name.lower(), "string")
            present.add(name.lower())
    return absent


def _key_text_sql(shape: Shape, frame: DataFrame) -> str:
    """SQL of `KEY_TEXT`, before its masks (`masked_select`): in silver's form a key that its type does not hold is NULL."""
    present = {name.lower(): (name, type_) for name, type_ in frame.dtypes}
    texts = [
        f"{value_text(*present[source])} AS {quote(column.name)}"
        if (source := (column.source or "").lower()) in present
        else f"CAST(NULL AS string) AS {quote(column.name)}"
        for column in shape.columns
        if column.is_key
    ]
    return f"struct({', '.join(texts)}) AS {KEY_TEXT}"


def _with_record(read: ReadGroup) -> DataFrame:
    """Add the raw record and its row number. The number is counted by the order in the file, as Spark has none for text files."""
    own_types = [(name, type_) for name, type_ in read.frame.dtypes if name not in ORIGIN_COLUMNS]
    own = [name for name, _ in own_types] + [CORRUPT]
    record = f"{json_sql(own)} AS {RECORD}"
    row = f"CAST(row_number() OVER (PARTITION BY {FILE} ORDER BY {ROW}) - 1 AS bigint) AS {ROW_NUMBER}"
    return read.frame.selectExpr("*", record, row, f"{string_literal(layout_text(read.group, own_types))} AS {LAYOUT}")
