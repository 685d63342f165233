"""The source's rows as the job would write them: shaped like rows of a full-load file, then cleaned by the job's own code.

So there is no second implementation of casts, expressions, masks, filters and rules that could repeat a mistake or differ without one.
"""

from collections.abc import Collection, Mapping, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from dms_iceberg.bronze.columns import SourceColumns
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.clean import condition_columns
from dms_iceberg.changes.frames import Cleaner, ReadGroup
from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Bronze, BronzeFormat, SchemaChanges, Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.silver.analysis import analysed_evolution
from dms_iceberg.silver.memory.held_columns import without_held
from dms_iceberg.silver.memory.recorded_declarations import guarded
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.schema.diff import AddColumn
from dms_iceberg.silver.schema.switch_mode import silver_types
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.source.errors import SourceError
from dms_iceberg.sql.cdc_columns import CORRUPT, FAILED_RULE, FILE, FILE_NAME, FILTERED, NOT_TEXT, PROBLEM, ROW
from dms_iceberg.verify.columns import SourceColumn, select_list, shown_rows
from dms_iceberg.verify.lookup import lookup_text

REJECTED_SQL = f"({PROBLEM} IS NOT NULL OR {FAILED_RULE} IS NOT NULL)"
FILTERED_SQL = f"({FILTERED} AND {PROBLEM} IS NULL)"
_OWN_PREFIX = "_cdc_"
# Metadata that a file's rows would have; the comparison uses neither.
_ORIGIN = (
    f"'' AS {FILE}",
    f"'LOAD00000001.parquet' AS {FILE_NAME}",
    f"0L AS {ROW}",
    f"CAST(NULL AS string) AS {CORRUPT}",
    f"false AS {NOT_TEXT}",
)
_SEGMENT = "0" * 9
_ROWS = StructType([StructField("row", StringType())])


@attrs.frozen(eq=False)
class Cleaning(TableContext):
    """How rows of one source table become rows of its silver table.

    Attributes:
        columns: the columns that are read from the source; ``all_columns`` are those that it has.
        shape: the silver table's columns and types.
        compared: names of the compared silver columns, without those of the key.
        lookup: the source columns that the silver key columns copy; None if a key in silver does not determine the source's key.
        not_compared: names of columns that both sides have and that cannot be compared, with the reason.
        one_sided: names of columns that only one side has, with the side.
        in_files: the source columns that merged files have had, in lower case; those that silver needs where the table does not know.
    """

    columns: tuple[SourceColumn, ...]
    all_columns: tuple[SourceColumn, ...]
    shape: Shape
    compared: tuple[str, ...]
    lookup: tuple[SourceColumn, ...] | None
    not_compared: tuple[str, ...]
    one_sided: tuple[str, ...]
    in_files: frozenset[str]

    @property
    def expressions(self) -> list[str]:
        """The SQL expressions that the source evaluates, in the order of ``columns``."""
        return [column.sql for column in self.columns]

    @property
    def why_keys_collide(self) -> str:
        """Why several keys of the source may give one key of silver, as far as it is known."""
        sources = {column.name.lower(): column for column in self.columns}
        lossy = []
        for column in self.shape.columns:
            source = sources.get((column.source or "").lower())
            if column.is_key and source is not None and (not source.exact or source.ends):
                lossy.append(column.name)
        if lossy:
            return (
                f"in the key column {', '.join(lossy)} DMS writes one value for several of the source's (numeric without a precision is "
                "rounded to six decimals, times outside of the years 1 to 9999 and infinite ones become the ends of the calendar)"
            )
        return "the configuration makes one key of several, or silver's key is not unique at the source"

    def types(self) -> Mapping[str, str]:
        """Spark types by silver column."""
        return self.shape.types

    def source_frame(self, texts: Sequence[str], *, in_file: bool = False) -> DataFrame:
        """Return rows as a change file would have them; ``texts`` are JSON arrays, of the file's texts where they are ``in_file``."""
        bronze = self.context.config.bronze
        shown = str if in_file else shown_rows(self.columns, bronze)
        rows = self.context.spark.createDataFrame([(shown(text),) for text in texts], _ROWS, verifySchema=False)
        # A row that does not parse would become a row of NULLs.
        parsed = rows.selectExpr("coalesce(from_json(row, 'array<string>'), raise_error('a row of the source does not parse')) AS cells")
        return parsed.selectExpr(*select_list(self.columns, "cells", bronze), *_ORIGIN)

    def clean(self, texts: Sequence[str], *, in_file: bool = False) -> DataFrame:
        """Return rows as they would be in silver; rows that would not be there are marked (`REJECTED_SQL`, `FILTERED_SQL`)."""
        group = _group(self.context, self.columns, self.source_frame(texts, in_file=in_file))
        return Cleaner(self.context, self.table, self.shape, load=0).clean([group])


def _group(context: RunContext, columns: Sequence[SourceColumn], frame: DataFrame) -> ReadGroup:
    typed = tuple((column.name, column.spark_type(context.config.bronze)) for column in columns)
    return ReadGroup(SchemaGroup(False, _SEGMENT, typed, (), None), frame, SourceColumns(typed, None, None, None, {}))


def plan_cleaning(here: TableContext, columns: tuple[SourceColumn, ...], without: Collection[str] = ()) -> Cleaning:
    """Determine how rows of the source compare with the silver table as it is now.

    Args:
        here: the table.
        columns: the columns that the source has.
        without: columns, of the source or of silver, in lower case, that are left out of the comparison.

    Raises:
        TargetError: the silver table does not exist, or this package did not create it.
        SourceError: the source lacks a key column, or a condition reads a column that cannot be compared.
        SchemaChangeError: the configuration contradicts the silver table.
    """
    context, table = here.context, here.table
    existing = silver_types(here.target, table)
    if existing is None:
        raise TargetError(f"{table.target}: does not exist, so there is nothing to compare {table.source} with. Run the job first.")
    _refuse_twins(table, columns)
    seen = Seen.from_properties(here.target.properties())
    # Whether files have a column that the source computes depends on the way in which DMS reads the changes.
    all_columns = tuple(column for column in columns if not column.generated or column.name.lower() in seen.names)
    unknown = {column.name.lower(): column.unknown for column in all_columns if column.unknown is not None}
    columns = tuple(column for column in all_columns if column.unknown is None)
    names = {column.name.lower() for column in columns}
    _refuse_unknown(table, unknown)
    lacking = [key for key in table.key if key.lower() not in names]
    if lacking:
        raise SourceError(
            f"{table.source}: the source has no column {lacking[0]!r}, which is part of the key; it has "
            f'{", ".join(column.name for column in columns)}. Correct tables."{table.source}".key.'
        )
    group = _group(context, columns, context.spark.range(0))
    # The job applies the policy for differences in structure; here they are only reported.
    lenient = attrs.evolve(table, schema_changes=SchemaChanges.EVOLVE)
    memory = guarded(attrs.evolve(here, table=lenient), [group])
    lenient = without_held(lenient, memory.held)
    evolution = analysed_evolution(context, lenient, [group], existing, memory.texts, memory.salts)
    added = {operation.name for operation in evolution.plan.operations if isinstance(operation, AddColumn)}
    widened = {operation.name for operation in evolution.plan.operations} - added
    shape = _as_it_is(evolution.shape, existing, added, frozenset(widened))
    # A column that the configuration leaves out is NULL from then on; older rows keep their values.
    live = [column for column in shape.columns if not column.retired and not column.name.startswith(_OWN_PREFIX)]
    present = [column for column in live if is_computable(column, names) and not column.family]
    absent = [column for column in live if column not in present]
    _refuse_absent(table, names | {column.name.lower() for column in live if column in present or column.family})
    reasons = {column.name: _why_not(column, unknown) for column in absent}
    one_sided = [f"{name} (at the source, not in silver)" for name in sorted(added) if name.lower() not in without]
    one_sided += [f"{name} (in silver, not at the source)" for name, why in reasons.items() if why is None and name.lower() not in without]
    one_sided += [f"{name} (at the source, held back from silver)" for name in sorted(memory.held) if name.lower() not in without]
    read = _columns_read(table, shape, columns)
    return Cleaning(
        context,
        table,
        here.target,
        read,
        all_columns,
        shape,
        tuple(column.name for column in present if not column.is_key and column.name.lower() not in without),
        _lookup(shape, read, context.config.bronze),
        tuple(f"{name} ({why})" for name, why in reasons.items() if why is not None),
        tuple(one_sided),
        seen.names,
    )


def _why_not(column: SilverColumn, unknown: Mapping[str, str | None]) -> str | None:
    """Return why a column that both sides have cannot be compared, None for one that the source does not have."""
    return "of one type among several" if column.family else unknown.get((column.source or "").lower())


def _refuse_twins(table: Table, columns: Sequence[SourceColumn]) -> None:
    spelled: dict[str, str] = {}
    for column in columns:
        if (other := spelled.setdefault(column.name.lower(), column.name)) != column.name:
            raise SourceError(
                f"{table.source}: the source has the columns {other!r} and {column.name!r}, which differ in case only, so which of them "
                "silver has is not certain. The table cannot be compared."
            )


def _refuse_absent(table: Table, names: set[str]) -> None:
    """Refuse conditions that would be judged without a value; ``names``, in lower case, are those of columns that have values."""
    absent = sorted(name for name in condition_columns(table) if name.lower() not in names and not name.lower().startswith(_OWN_PREFIX))
    if absent:
        raise SourceError(
            f"{table.source}: the filter or a rule reads the column {absent[0]!r}, which the source does not have, or does not show to "
            "this user: a mapping rule of the task makes it, or the source has dropped it. So nobody can tell which rows belong into "
            "silver. The table cannot be compared."
        )


def _refuse_unknown(table: Table, unknown: Mapping[str, str | None]) -> None:
    for name in sorted(condition_columns(table)):
        if name.lower() in unknown:
            raise SourceError(
                f"{table.source}: the filter or a rule reads the column {name!r} ({unknown[name.lower()]}), so nobody can tell which rows "
                "belong into silver. The table cannot be compared."
            )


def _as_it_is(shape: Shape, existing: Mapping[str, str], added: set[str], widened: frozenset[str]) -> Shape:
    """Return the shape without the changes that the next batch may make to the table."""
    by_name = {name.lower(): type_ for name, type_ in existing.items()}
    columns = tuple(column for column in shape.columns if column.name not in added)
    types = {column.name: by_name[column.name.lower()] for column in columns}
    return Shape(columns, types, shape.exact | widened, texts=shape.texts, salts=shape.salts)


def is_computable(column: SilverColumn, names: Collection[str]) -> bool:
    """Whether a silver column can be computed from source columns with these names, in lower case."""
    if column.source is not None:
        return column.source.lower() in names
    return all(name.lower() in names for name in referenced_columns(column.declared.expr or ""))


def _columns_read(table: Table, shape: Shape, columns: Sequence[SourceColumn]) -> tuple[SourceColumn, ...]:
    """Leave out columns from which nothing in silver is computed: they need not be transferred."""
    used = {column.source.lower() for column in shape.columns if column.source is not None}
    used |= {name.lower() for column in shape.columns if column.declared.expr for name in referenced_columns(column.declared.expr)}
    used |= {name.lower() for name in (*condition_columns(table), *table.key)}
    return tuple(column for column in columns if column.name.lower() in used)


def _lookup(shape: Shape, columns: Sequence[SourceColumn], bronze: Bronze) -> tuple[SourceColumn, ...] | None:
    by_name = {column.name.lower(): column for column in columns}
    found = []
    for column in shape.columns:
        if not column.is_key:
            continue
        declared = column.declared
        source = by_name.get((column.source or "").lower())
        if source is None or not source.exact or declared.mask or declared.trim or declared.format:
            return None
        if bronze.format is not BronzeFormat.PARQUET and source.type == "binary":
            # Silver has the text, or the bytes of the text, that DMS writes of it.
            return None
        if lookup_text(column.name, source.type, shape.types[column.name]) is None:
            return None
        found.append(source)
    return tuple(found)
