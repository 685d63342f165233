"""Classifies the columns of change files: source columns, service columns, and before-images."""

from collections.abc import Collection, Mapping, Sequence

import attrs

from dms_iceberg.bronze.before_images import Images, find_images, refuse_undecided
from dms_iceberg.bronze.foreign_records import foreign_records
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.image_names import image_of
from dms_iceberg.config.model import Bronze, BronzeFormat, Change, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.sql.types import VOID

_TIMESTAMP_TYPES = ("string", "timestamp", "timestamp_ntz", "date", VOID)
_SEQUENCE_TYPES = ("string", "binary", VOID)


@attrs.frozen
class SourceColumns:
    """The classified columns of a group of files. Names keep the case they have in the files.

    Attributes:
        source: (name, Spark type) of the source's own columns.
        op: the operation column, None without one.
        timestamp: the column with the commit time, None without one.
        sequence: the column with DMS's sequence (``$AR_H_CHANGE_SEQ``), None without one.
        before_image: column with the value before the change, by key column.
        images: before-images of the other source columns, by these, where files have them.
        service: all columns that are not the source's own, before-images included.
        like_images: columns that look like before-images.
    """

    source: tuple[tuple[str, str], ...]
    op: str | None
    timestamp: str | None
    sequence: str | None
    before_image: dict[str, str]
    service: frozenset[str] = frozenset()
    images: Mapping[str, str] = attrs.field(factory=dict)
    like_images: Images = attrs.field(factory=Images)

    @property
    def has_clock(self) -> bool:
        """Whether changes have a sequence or a commit time; otherwise their files are the order."""
        return self.sequence is not None or self.timestamp is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the source table's own columns."""
        return tuple(name for name, _ in self.source)


def split_columns(
    group: SchemaGroup,
    columns: list[tuple[str, str]],
    bronze: Bronze,
    table: Table,
    known: Collection[str] = (),
    existing: Collection[str] = (),
) -> SourceColumns:
    """Separate service columns and before-images from source columns.

    Args:
        group: the files.
        columns: (name, Spark type) of the files.
        bronze: the format of the files, and how they name the service columns.
        table: the table's configuration.
        known: source columns that other files of the table have.
        existing: the silver table's columns.

    Raises:
        BronzeError: the operation column or a key column is missing, neither sequence nor commit time orders the changes, the sequence is
            not text, the commit time is not a time, a before-image has another type than its column, or a column may be a before-image
            or one of the source.
    """
    change = bronze.change
    by_name = {name.lower(): name for name, _ in columns}
    is_cdc, example = group.is_cdc, group.files[0].key if group.files else f"records of {table.source} in quarantine"

    def find(name: str | None) -> str | None:
        return by_name.get(name.lower()) if name else None

    op, timestamp, sequence = find(change.op_column), find(change.timestamp_column), find(change.sequence_column)
    before = {key: found for key in table.key if (found := find(image_of(change, key)))}
    like_images = find_images(by_name.values(), change, table, known, existing, ordered=bronze.format is not BronzeFormat.JSON)
    refuse_undecided(like_images, example, change, table)
    found_service = (op, timestamp, sequence, find(change.stream_position_column), *before.values(), *like_images.left_out)
    service = frozenset(name for name in found_service if name is not None)
    source = tuple((name, type_) for name, type_ in columns if name not in service)
    present = {name.lower() for name, _ in source}
    missing = [key for key in table.key if key.lower() not in present]
    if op is None and missing and (foreign := foreign_records(by_name)) is not None:
        raise BronzeError(f"{example}: {foreign.found}. {foreign.advice}.")
    if op is None and not (change.load_without_op and not is_cdc):
        raise BronzeError(f"{example}: {_no_operation([name for name, _ in columns], change, is_cdc=is_cdc)}")
    if missing:
        raise BronzeError(
            f"{example}: key column {missing[0]!r} of {table.source} is not in the file, which has {', '.join(n for n, _ in source)}. "
            f'Correct tables."{table.source}".key, or the mapping rules that rename or remove the column.'
        )
    if is_cdc and sequence is None and timestamp is None and not change.orders_by_file:
        raise BronzeError(
            f"{example}: neither the sequence column {change.sequence_column!r} nor the timestamp column {change.timestamp_column!r} "
            "is in the file, so the changes have no order. Name the columns that the task writes in bronze.change. If it writes neither, "
            "add $AR_H_CHANGE_SEQ with a mapping rule and load again; or set both to null for the weaker order by file."
        )
    _refuse_no_clock(dict(columns), timestamp, sequence if is_cdc else None, example)
    keys = {key.lower() for key in table.key}
    found_images = {name: find(image_of(change, name)) for name, _ in source if name.lower() not in keys}
    others = {name: image for name, image in found_images.items() if image is not None and image in like_images.known}
    _refuse_other_types({name.lower(): type_ for name, type_ in columns}, {**before, **others}, example)
    return SourceColumns(source, op, timestamp, sequence, before, service, others, like_images)


def _no_operation(names: Sequence[str], change: Change, *, is_cdc: bool) -> str:
    """Return what files without the operation column have, and what may be the cause."""
    found = f"no operation column {change.op_column!r} among {', '.join(names)}. "
    if is_cdc:
        return (
            f"{found}Without it a delete cannot be told from an insert. If the task writes it under another name, set "
            "bronze.change.op_column to that. If it writes none (CdcInsertsOnly, CdcInsertsAndUpdates of the endpoint), set both to false, "
            "and load again into a new load epoch. If another program has written or changed the file, restore that of DMS."
        )
    return (
        f"{found}DMS leaves it out of full-load files unless IncludeOpForFullLoad is true. If every row of these files is an insert, set "
        "bronze.change.load_without_op to true; better, set IncludeOpForFullLoad (Terraform: include_op_for_full_load) and load again. If "
        "the task writes it under another name, set bronze.change.op_column to that."
    )


def _refuse_no_clock(types: Mapping[str, str], timestamp: str | None, sequence: str | None, example: str) -> None:
    """Refuse files whose commit time is not a time, or whose sequence is not text: their rows would have no position."""
    for name, allowed, setting in ((timestamp, _TIMESTAMP_TYPES, "timestamp_column"), (sequence, _SEQUENCE_TYPES, "sequence_column")):
        if name is not None and types[name] not in allowed:
            raise BronzeError(
                f"{example}: the column {name!r} is {types[name]}; DMS writes {allowed[0]} there. Name the column that the task adds in "
                f"bronze.change.{setting}, or have the file written again."
            )


def _refuse_other_types(types: Mapping[str, str], images: Mapping[str, str], example: str) -> None:
    """Refuse a before-image of another type than its column: it takes the column's place in old rows."""
    for name, image in images.items():
        of_image, of_column = types[image.lower()], types[name.lower()]
        # Decimals compare equal, and get equal masks, whatever their scale.
        both_decimal = of_image.startswith("decimal") and of_column.startswith("decimal")
        if of_image != of_column and not both_decimal and VOID not in (of_image, of_column):
            raise BronzeError(
                f"{example}: the before-image {image!r} of column {name!r} is {of_image} and the column {of_column}. "
                "DMS gives both one type. Name the prefix or suffix that the task writes in bronze.change, or have the file written again."
            )
