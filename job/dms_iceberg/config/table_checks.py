"""Checks of one table's entry: key, columns, drop, partitions, expressions, properties."""

from collections.abc import Iterable

from dms_iceberg.config.check_context import Place
from dms_iceberg.config.column_checks import check_columns
from dms_iceberg.config.key_columns import key_column, silver_key
from dms_iceberg.config.model import BronzeFormat, Column, OtherColumns, Table
from dms_iceberg.config.partial_update_checks import check_kept
from dms_iceberg.config.partition import PartitionError, PartitionField, parse_partition, unfit_type
from dms_iceberg.config.problems import item, suggestion
from dms_iceberg.config.property_checks import check_properties
from dms_iceberg.config.publish import column_of
from dms_iceberg.config.types import TypeTextError, canonical_type
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.sql.json_documents import full_names


def check_table(place: Place) -> None:
    """Record what is wrong with one table."""
    table = place.table
    check_columns(place)
    check_kept(place)
    _check_key(place)
    _check_drop(place)
    _check_publish(place)
    _check_history(place)
    _check_source_columns(place)
    _check_partitions(place)
    _check_rules(place)
    if table.filter is not None:
        place.check_expression("filter", place.at("filter"), table.filter, silver=True)
    check_properties(place, _silver_names(place))
    _check_full_names(place)


def _check_full_names(place: Place) -> None:
    """Check that no declared column has the full name of another one's member: Iceberg refuses such a table."""
    first: dict[str, str] = {}
    for index, column in enumerate(place.table.columns):
        for name, _ in full_names({column.name: _type_of(column) or "string"}):
            other = first.setdefault(name, column.name)
            if other != column.name:
                path = f"{item(place.at('columns'), index)}.name"
                place.problems.add(
                    path, f"Iceberg calls a part of '{column.name}' and one of '{other}' '{name}'; rename one of the columns"
                )


def _silver_names(place: Place) -> list[str] | None:
    """Return the full names of the table's columns and members, None if only the files have them."""
    others = _undeclared_silver_columns(place)
    if others is None:
        return None
    # A declared type that is none is another check's matter.
    declared = {column.name: _type_of(column) or "string" for column in place.table.columns}
    undeclared = [name for name in (*place.table.key, *place.table.source_columns) if name.casefold() in others]
    return [name for name, _ in full_names(declared | dict.fromkeys(undeclared, "string"))]


def _check_names(place: Place, key: str, names: Iterable[str]) -> None:
    """Check names in a list: none is empty, none occurs twice."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        path = item(place.at(key), index)
        if place.problems.at(path):
            continue
        if not name.strip():
            place.problems.add(path, "must not be empty")
        elif (other := first.setdefault(name.casefold(), index)) != index:
            place.problems.add(path, f"'{name}' is there twice (also {item(key, other)}; case does not count)")


def _check_key(place: Place) -> None:
    table = place.table
    _check_names(place, "key", table.key)
    if not table.key_confirmed:
        place.add(
            "key_confirmed",
            f"false: init proposed the key ({', '.join(table.key)}) from samples of the files. With a wrong key, rows of the source "
            "overwrite each other. Compare it with the table's primary key, and correct key if it is another; then remove key_confirmed or "
            "set it to true",
        )
    keys = {name.casefold() for name in table.key}
    for index, name in enumerate(table.key):
        path = item(place.at("key"), index)
        place.check_reserved(path, name)
        place.check_source_exists(path, name)
        carrier = key_column(table, name)
        if carrier is None:
            _check_undeclared_key(place, path, name)
        else:
            _check_key_carrier(place, carrier, keys)


def _check_undeclared_key(place: Place, path: str, name: str) -> None:
    table = place.table
    if name.casefold() in {dropped.casefold() for dropped in table.drop}:
        place.problems.add(path, f"'{name}' is also in drop; a key column must be in the silver table")
    shadow = next((c for c in table.columns if c.name.casefold() == name.casefold()), None)
    if shadow is not None:
        place.problems.add(
            path,
            f"the silver column '{shadow.name}' copies '{shadow.source}', so key column '{name}' is nowhere; declare it under another name",
        )


def _check_key_carrier(place: Place, column: Column, keys: set[str]) -> None:
    path = item(place.at("columns"), place.table.columns.index(column))
    if column.mask is not None and column.mask != "sha256":
        place.problems.add(
            f"{path}.mask", f"'{column.mask}' gives different keys the same text, which would merge different rows; use sha256"
        )
    if column.null_in_update == "keep":
        place.problems.add(f"{path}.null_in_update", f"'{column.name}' is a key column, which every change supplies; remove it")
    if column.type is not None and column.type.lstrip().lower().startswith(("array", "map", "struct")):
        place.problems.add(f"{path}.type", "a key column must be of a simple type")
    used = place.references(column.expr)
    if column.expr is None or used is None:
        return
    foreign = sorted(name for name in used if name.casefold() not in keys)
    if foreign:
        place.problems.add(
            f"{path}.expr",
            f"'{column.name}' is a key column, so its expr may use key columns only (a delete has no others); found {', '.join(foreign)}",
        )
    elif not used:
        place.problems.add(f"{path}.expr", f"'{column.name}' is a key column, but its expression is the same for every row")


def _check_drop(place: Place) -> None:
    """Check ``drop``. To drop a column that only an expression or a rename reads is allowed: it removes the raw column from silver."""
    table = place.table
    _check_names(place, "drop", table.drop)
    copies = {c.name.casefold(): i for i, c in enumerate(table.columns) if (c.source_name or "").casefold() == c.name.casefold()}
    for index, name in enumerate(table.drop):
        path = item(place.at("drop"), index)
        place.check_source_exists(path, name)
        if (declared := copies.get(name.casefold())) is not None:
            place.problems.add(path, f"'{name}' is declared in {item('columns', declared)} and dropped; remove one of them")


def _check_publish(place: Place) -> None:
    table = place.table
    _check_names(place, "publish", table.publish)
    known, dropped = place.known_sources(), {name.casefold() for name in table.drop}
    words = [*table.source_columns, *(column.name for column in table.columns)]
    for index, word in enumerate(table.publish):
        path = item(place.at("publish"), index)
        name = column_of(word)
        if name is None:
            if table.filter is not None:
                place.problems.add(path, "the table has a filter; remove one of them")
        elif name.casefold() in dropped:
            place.problems.add(path, f"'{name}' is also in drop; remove it from one of them")
        elif known is not None and name.strip() and name.casefold() not in {one.casefold() for one in words}:
            place.problems.add(path, f"there is no column '{name}'; {suggestion(name, words)}")


def _check_history(place: Place) -> None:
    table, mode = place.table, table_mode(place.table.mode)
    _check_names(place, "track_columns", table.track_columns)
    change = place.config.bronze.change
    if change.orders_by_file and mode.keeps_every_change:
        place.add(
            "mode",
            f"found '{table.mode}', but bronze.change.timestamp_column and sequence_column are null: such a table keeps every change once, "
            "and without the commit time nothing tells a change that DMS writes again from another one. Name the column that the task "
            "writes (TimestampColumnName, $AR_H_CHANGE_SEQ); allowed without: 'mirror', 'soft_delete'",
        )
    elif mode.has_versions and change.timestamp_column is None:
        place.add("mode", f"found '{table.mode}', which needs the commit times of changes; name bronze.change.timestamp_column")
    if table.track_columns and not mode.has_versions:
        place.add("track_columns", f"found with mode '{table.mode}'; it belongs to mode 'history'. Remove it")
    keys = {name.casefold() for name in silver_key(table)}
    for index, name in enumerate(table.track_columns):
        if name.casefold() in keys:
            place.problems.add(
                item(place.at("track_columns"), index), f"'{name}' is a key column, which is the same in all versions; remove it"
            )


def _check_source_columns(place: Place) -> None:
    bronze, table = place.config.bronze, place.table
    path = place.at("source_columns")
    if bronze.format is BronzeFormat.CSV and not bronze.csv.header and not table.source_columns:
        place.problems.add(path, "missing; CSV without a header needs the source columns in file order (without service columns)")
    _check_names(place, "source_columns", table.source_columns)
    for index, name in enumerate(table.source_columns):
        place.check_reserved(item(path, index), name)


def _check_rules(place: Place) -> None:
    first: dict[str, int] = {}
    for index, rule in enumerate(place.table.rules):
        path = item(place.at("rules"), index)
        if rule.name and (other := first.setdefault(rule.name.casefold(), index)) != index:
            place.problems.add(f"{path}.name", f"'{rule.name}' is also the name of {item('rules', other)}; each rule needs its own")
        place.check_expression("rule", f"{path}.expr", rule.expr, silver=True)


def _check_partitions(place: Place) -> None:
    seen: dict[tuple[str, str], str] = {}
    for index, text in enumerate(place.table.partition_by):
        path = item(place.at("partition_by"), index)
        if place.problems.at(path):
            continue
        if not text.strip():
            place.problems.add(path, "must not be empty")
            continue
        try:
            field = parse_partition(text)
        except PartitionError as error:
            place.problems.add(path, str(error))
            continue
        _check_partition_column(place, path, field)
        kind = "time" if field.transform in ("years", "months", "days", "hours") else field.transform
        other = seen.setdefault((kind, field.column.casefold()), text)
        if other is not text:
            place.problems.add(path, f"'{text}' repeats '{other}'; Iceberg takes one partition field of a kind for a column")


def _check_partition_column(place: Place, path: str, field: PartitionField) -> None:
    table, name = place.table, field.column.casefold()
    declared = next((c for c in table.columns if c.name.casefold() == name), None)
    if declared is None:
        known = _undeclared_silver_columns(place)
        if known is not None and name not in known:
            words = sorted({c.name for c in table.columns} | known)
            place.problems.add(path, f"the silver table has no column '{field.column}'; {suggestion(field.column, words)}")
        elif (gone := _why_gone(table, name)) is not None:
            place.problems.add(path, f"the silver table has no column '{field.column}': {gone}")
    elif (type_ := _type_of(declared)) is not None and (unfit := unfit_type(field, type_)) is not None:
        place.problems.add(path, unfit)


def _type_of(column: Column) -> str | None:
    if column.mask is not None:
        return "string"
    try:
        return None if column.type is None else canonical_type(column.type)
    except TypeTextError:
        return None


def _undeclared_silver_columns(place: Place) -> set[str] | None:
    """Return the silver columns beside the declared ones, in folded case; None if only the files have them."""
    table = place.table
    keys = {name.casefold() for name in table.key if key_column(table, name) is None}
    if table.other_columns is OtherColumns.DROP:
        return keys
    known = place.known_sources()
    if known is None:
        return None
    return keys | {name for name in known if _why_gone(table, name) is None}


def _why_gone(table: Table, name: str) -> str | None:
    """Return why a source column is not in silver under its own name, as far as the document shows."""
    renamed = next((c for c in table.columns if c.source is not None and c.source.casefold() == name), None)
    if renamed is not None:
        return f"it is called '{renamed.name}' there"
    return "it is in drop" if name in {dropped.casefold() for dropped in table.drop} else None
