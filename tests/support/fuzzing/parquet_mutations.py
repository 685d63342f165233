"""What other writers make of Parquet: other columns, names, types, and layouts of the same rows."""

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from support.fuzzing.csv_mutations import ODD_NAMES, ODD_VALUES
from support.fuzzing.forms import ARROW, parquet_bytes

TableMutation = Callable[[pa.Table, Random], pa.Table]

_TYPES = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()),
    *(
        pa.decimal128(5, 0),
        pa.decimal128(12, 2),
        pa.decimal128(38, 6),
        pa.decimal128(30, 10),
        pa.decimal256(50, 2),
        pa.string(),
        pa.large_string(),
    ),
    *(
        pa.binary(),
        pa.bool_(),
        pa.date32(),
        pa.date64(),
        pa.time32("ms"),
        pa.time64("us"),
        pa.null(),
        pa.dictionary(pa.int32(), pa.string()),
    ),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Paris")),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.binary(4), pa.duration("us")),
)


def _at(table: pa.Table, random: Random, *names: str) -> int:
    return table.column_names.index(random.choice(names or tuple(table.column_names)))


def _of_type(values: list[Any], type_: pa.DataType, random: Random) -> pa.Array:
    """The values in another type; where that cannot be, others that it has."""
    array = pa.array(values)
    try:
        return array.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    try:
        return array.cast(pa.string()).cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _some(len(values), type_, random)


def _some(length: int, type_: pa.DataType, random: Random) -> pa.Array:
    numbers = pa.array([random.choice([None, 0, 1, 7, 100]) for _ in range(length)], pa.int64())
    if pa.types.is_list(type_):
        return pa.array([None if n is None else [n] for n in numbers.to_pylist()], type_)
    if pa.types.is_struct(type_):
        return pa.array([None if n is None else {"a": n} for n in numbers.to_pylist()], type_)
    if pa.types.is_map(type_):
        return pa.array([None if n is None else [("k", n)] for n in numbers.to_pylist()], type_)
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return pa.array([random.choice([b"abcd", b"\xff\xfe\x00\x01", None]) for _ in range(length)], type_)
    for step in (numbers, pc.cast(numbers, pa.int32())):
        try:
            return step.cast(type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.nulls(length, type_)


def other_type(table: pa.Table, random: Random) -> pa.Table:
    at = _at(table, random)
    column = _of_type(table.column(at).to_pylist(), random.choice(_TYPES), random)
    return table.set_column(at, table.column_names[at], column)


def other_type_of_source(table: pa.Table, random: Random) -> pa.Table:
    at = _at(table, random, *(name for name in ARROW if name != "BI_id"), "name")
    column = _of_type(table.column(at).to_pylist(), random.choice(_TYPES), random)
    return table.set_column(at, table.column_names[at], column)


def as_texts(table: pa.Table, random: Random) -> pa.Table:
    """A column as text, with texts that may be no values."""
    at = _at(table, random, *ARROW)
    texts = [random.choice([None if one is None else str(one), random.choice(ODD_VALUES)]) for one in table.column(at).to_pylist()]
    return table.set_column(at, table.column_names[at], pa.array(texts, pa.string()))


def odd_texts(table: pa.Table, random: Random) -> pa.Table:
    at = _at(table, random, "Op", "dms_commit_ts", "name", "free", "dms_change_seq")
    texts = [random.choice([one, random.choice(ODD_VALUES)]) for one in table.column(at).to_pylist()]
    return table.set_column(at, table.column_names[at], pa.array(texts, pa.string()))


def odd_numbers(table: pa.Table, random: Random) -> pa.Table:
    """Numbers at the ends of their type, and floating ones that are no numbers."""
    name = random.choice(["id", "ratio", "amount", "BI_id"])
    type_ = random.choice([pa.float64(), pa.float32(), pa.int64(), pa.uint64()])
    pool: list[Any] = [0, 1, 2**31, 2**53, 2**62, 7]
    pool += [1.5, float("nan"), float("inf"), -0.0, 1e300, 0.1] if pa.types.is_float64(type_) else []
    chosen = [random.choice(pool) for _ in range(table.num_rows)]
    column = pa.array([float(one) for one in chosen] if pa.types.is_floating(type_) else chosen, type_)
    return table.set_column(table.column_names.index(name), name, column)


def invalid_text(table: pa.Table, random: Random) -> pa.Table:
    """A text column whose bytes are no UTF-8."""
    at = _at(table, random, "name", "free", "Op", "dms_commit_ts")
    data = [random.choice([b"\xff", b"a\xc3", b"ok", None]) for _ in range(table.num_rows)]
    buffers = pa.array(data, pa.binary()).buffers()
    return table.set_column(at, table.column_names[at], pa.Array.from_buffers(pa.string(), len(data), buffers))


def drop_column(table: pa.Table, random: Random) -> pa.Table:
    return table.remove_column(_at(table, random))


def add_column(table: pa.Table, random: Random) -> pa.Table:
    column = pa.array([random.choice(ODD_VALUES[:40]) for _ in range(table.num_rows)], pa.string())
    return table.add_column(random.randint(0, table.num_columns), random.choice(ODD_NAMES[:-1]), column)


def rename_column(table: pa.Table, random: Random) -> pa.Table:
    at, names = _at(table, random), list(table.column_names)
    names[at] = random.choice([*ODD_NAMES[:-1], names[at].upper(), names[at].title(), names[at] + " ", random.choice(names)])
    return table.rename_columns(names)


def other_case(table: pa.Table, random: Random) -> pa.Table:
    return table.rename_columns([random.choice([name, name.upper(), name.lower()]) for name in table.column_names])


def swap_names(table: pa.Table, random: Random) -> pa.Table:
    names = list(table.column_names)
    a, b = random.sample(range(len(names)), 2)
    names[a], names[b] = names[b], names[a]
    return table.rename_columns(names)


def shuffle_columns(table: pa.Table, random: Random) -> pa.Table:
    return table.select(random.sample(table.column_names, table.num_columns))


def nulls(table: pa.Table, random: Random) -> pa.Table:
    at = _at(table, random)
    return table.set_column(at, table.column_names[at], pa.nulls(table.num_rows, random.choice([table.schema.field(at).type, pa.null()])))


def rows_twice(table: pa.Table, random: Random) -> pa.Table:
    return pa.concat_tables([table, table])


def no_rows(table: pa.Table, random: Random) -> pa.Table:
    return table.slice(0, 0)


def fewer_rows(table: pa.Table, random: Random) -> pa.Table:
    return table.slice(random.randrange(table.num_rows))


def same(table: pa.Table, random: Random) -> pa.Table:
    return table


TABLES: tuple[TableMutation, ...] = (
    other_type,
    other_type,
    other_type_of_source,
    other_type_of_source,
    other_type_of_source,
    as_texts,
    as_texts,
    odd_texts,
    odd_numbers,
    invalid_text,
    drop_column,
    add_column,
    rename_column,
    other_case,
    swap_names,
    shuffle_columns,
    nulls,
    rows_twice,
    no_rows,
    fewer_rows,
    same,
)
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"use_deprecated_int96_timestamps": True},
    {"use_byte_stream_split": ["ratio"], "use_dictionary": False},
    {"column_encoding": "PLAIN", "use_dictionary": False},
    {"compression": "brotli"},
    {"compression": "lz4"},
    {"store_schema": False},
    {"write_statistics": False},
    {"coerce_timestamps": "ms", "allow_truncated_timestamps": True},
    {"store_decimal_as_integer": True},
    {"write_page_checksum": True},
    {"data_page_size": 1},
)


def encoded(table: pa.Table, random: Random) -> bytes:
    """The table as some writer writes it."""
    settings = random.choice(_SETTINGS)
    try:
        return parquet_bytes(table, random, **settings)
    except (pa.ArrowException, ValueError, NotImplementedError, OSError):
        # Version 1.0 has no nanoseconds.
        return parquet_bytes(table, random, version="2.6")


def other_footer(data: bytes, other: bytes) -> bytes:
    """The data of a file with the footer of another."""
    size, other_size = (int.from_bytes(one[-8:-4], "little") + 8 for one in (data, other))
    return data[:-size] + other[-other_size:]
