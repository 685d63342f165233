"""What Iceberg would refuse at the commit, said by `plan` and before anything is written. Pure.

Of Iceberg's checks (1.10 and 1.11) these depend on the files or the table; what the document alone shows, `validate` says.
"""

from collections.abc import Iterable, Mapping

from dms_iceberg.config.iceberg_properties import unknown_columns
from dms_iceberg.config.model import Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.partition import unfit_type
from dms_iceberg.config.problems import below
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.silver.schema.ddl import partition_fields
from dms_iceberg.sql.json_documents import full_names


def refuse_new_table(table: Table, columns: Mapping[str, str]) -> None:
    """Refuse a table that Iceberg would not create.

    Args:
        table: its configuration.
        columns: its silver columns with their Spark types.

    Raises:
        SchemaChangeError: Iceberg would refuse it, or ignore a property without a word.
    """
    every = {**columns, **{name: one.type for name, one in table_mode(table.mode).metadata_columns.items()}}
    _refuse_equal_names(table, every, columns)
    for problem in unknown_columns(table.table_properties, (name for name, _ in full_names(every))):
        raise SchemaChangeError(f"{below(table_path(table), 'table_properties')}: {problem}. Nothing was written.")
    for text, field in zip(table.partition_by, partition_fields(table.partition_by, every), strict=True):
        type_ = every.get(field.column)
        unfit = f"the files have no column '{field.column}'" if type_ is None else unfit_type(field, type_)
        if unfit is not None:
            raise SchemaChangeError(
                f"{below(table_path(table), 'partition_by')}: '{text}': {unfit}. Nothing was written. Declare the column's type, correct "
                "the transform, or leave it out."
            )


def refuse_new_names(table: Table, existing: Mapping[str, str], added: Mapping[str, str], fields: Mapping[str, str]) -> None:
    """Refuse columns that Iceberg would not add to a table, or not under these names.

    Args:
        table: its configuration.
        existing: its columns with their Spark types.
        added: the columns to add, or the new names of columns, with their types.
        fields: names of the table's partition fields (`TargetTable.partition_names`).

    Raises:
        SchemaChangeError: Iceberg would refuse one.
    """
    for name in added:
        taken = next((field for field in fields if field.lower() == name.lower()), None)
        if taken is not None:
            raise SchemaChangeError(
                f"{below(table_path(table), 'columns')}: the column {name!r} is to be added to {table.target}, which has a partition field "
                f"of that name, and Iceberg allows only one of them. {_other_name(name)}, or load the table into a new target: "
                "the job names partition fields so that they cannot collide. Nothing was written."
            )
    _refuse_equal_names(table, {**existing, **added}, added)


def _refuse_equal_names(table: Table, columns: Mapping[str, str], new: Iterable[str]) -> None:
    first: dict[str, str] = {}
    for name, column in full_names(columns):
        other = first.setdefault(name, column)
        if other != column:
            renamed = next((one for one in (column, other) if one in new and "." in one), column)
            raise SchemaChangeError(
                f"{below(table_path(table), 'columns')}: {table.target} would have the column {column!r} beside {other!r}, and Iceberg "
                f"calls a part of each {name!r}. {_other_name(renamed)}, or declare the nested column as string. Nothing was written."
            )


def _other_name(name: str) -> str:
    return f'Give the column another name in silver, such as {{"name": "{name.replace(".", "_").lower()}_of_source", "from": "{name}"}}'
