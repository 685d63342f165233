"""What a mutated file says, read in plain Python with nothing of the job in it."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import attrs

from support.fuzzing.forms import COLUMNS, Form
from support.fuzzing.read_parquet import Cell, read_columns


@attrs.frozen
class FileRow:
    """A row of a file.

    Attributes:
        number: its place, from 0.
        cells: values by column, names in lower case.
        broken: it is no whole row, so it must not get into silver.
    """

    number: int
    cells: dict[str, Cell]
    broken: str = ""


@attrs.frozen
class Reading:
    """All rows of a file; where it is broken as a whole, those that are sure.

    Attributes:
        broken: why the file, or what follows the rows, cannot be read; "" when all of it can.
        names: columns as they are spelled.
    """

    rows: list[FileRow]
    broken: str = ""
    names: tuple[str, ...] = ()


def read_file(data: bytes, form: Form) -> Reading:
    """Read a file as its form says."""
    if form.format == "parquet":
        return _parquet(data)
    broken = ""
    if form.extension.endswith(".gz"):
        data, broken = _unpacked(data)
    found = _csv(data, form) if form.format == "csv" else _json(data)
    return attrs.evolve(found, broken=broken or found.broken)


def _unpacked(data: bytes) -> tuple[bytes, str]:
    """What gzip streams one after the other hold."""
    made = b""
    while data:
        stream = zlib.decompressobj(wbits=31)
        try:
            made += stream.decompress(data)
        except zlib.error as error:
            return made, f"gzip: {error}"
        if not stream.eof:
            return made, "gzip: cut off"
        data = stream.unused_data
    return made, ""


def _parquet(data: bytes) -> Reading:
    try:
        names, columns = read_columns(data)
    except Exception as error:
        return Reading([], f"{type(error).__name__}: {error}"[:300])
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        return Reading([], "columns that differ in case only")
    rows = zip(*columns, strict=True) if columns else iter(())
    return Reading([FileRow(number, dict(zip(lower, row, strict=True))) for number, row in enumerate(rows)], "", tuple(names))


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _csv(data: bytes, form: Form) -> Reading:
    if data[:3] == b"\xef\xbb\xbf" or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Reading([], "byte order mark")
    first = data.partition(b"\n")[0]
    records = list(_records(data, form.delimiter.encode(), b"\r\n" if first.endswith(b"\r") else b"\n"))
    broken = ""
    if records and isinstance(records[-1], str):
        broken = str(records.pop())
    names: list[str] = list(COLUMNS)
    if form.header:
        if not records:
            return Reading([], broken)
        header = [_text(field) for field in records.pop(0)]
        if None in header:
            return Reading([], "header is no UTF-8")
        names = [name or "" for name in header]
        if len({name.lower() for name in names}) < len(names):
            return Reading([], "columns that differ in case only")
    rows = [_csv_row(number, names, fields, form) for number, fields in enumerate(records)]
    return Reading(rows, broken, tuple(names))


def _csv_row(number: int, names: list[str], fields: list[bytes], form: Form) -> FileRow:
    if len(fields) != len(names):
        return FileRow(number, {}, f"{len(fields)} fields")
    texts = [_text(field) for field in fields]
    if None in texts:
        return FileRow(number, {}, "no UTF-8")
    null = (form.null, "") if not form.null else (form.null,)
    service = {"op", "dms_commit_ts", "dms_change_seq", "bi_id"}
    cells = {}
    for name, text in zip(names, texts, strict=True):
        absent = text in null or (text == "" and name.lower() in service)
        cells[name.lower()] = Cell(None if absent else text)
    return FileRow(number, cells)


def _records(data: bytes, delimiter: bytes, end: bytes) -> Iterator[list[bytes] | str]:
    """Records of RFC 4180, then why the rest is none. Empty lines are no records."""
    at, fields = 0, list[bytes]()
    while at < len(data):
        if data[at : at + 1] == b'"':
            closed = re.compile(rb'"((?:[^"]|"")*)"').match(data, at)
            if closed is None:
                yield "a quote that is never closed"
                return
            field, at = closed[1].replace(b'""', b'"'), closed.end()
            is_quoted = True
            # A known limit: Spark's parser passes over blanks there.
            while at < len(data) and data[at] <= 32 and not data.startswith((delimiter, end), at):
                at += 1
        else:
            plain = re.compile(rb"(?:(?!" + re.escape(delimiter) + rb"|" + end + rb")[\s\S])*").match(data, at)
            assert plain is not None
            field, at, is_quoted = plain[0], plain.end(), False
            if b'"' in field:
                yield "a quote within a field"
                return
        fields.append(field)
        if data.startswith(end, at) or at >= len(data):
            at += len(end)
            if fields != [b""] or is_quoted:
                yield fields
            fields = []
        elif data.startswith(delimiter, at):
            at += 1
            if at >= len(data):
                yield [*fields, b""]
                fields = []
        else:
            yield "text behind a closing quote"
            return


class _Object(dict[str, Any]):
    """An object as it is written, with members that come twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


_MOST_LEVELS = 1_000
"""Those that Jackson reads (`StreamReadConstraints`)."""


class _Number(str):
    """A number as it is written."""


def _json(data: bytes) -> Reading:
    rows, names = list[FileRow](), dict[str, None]()
    for line in re.split(rb"\r\n|\n|\r", data):
        found = _text(line)
        text = None if found is None else found.lstrip("\ufeff").strip(" \t\r")
        if text == "":
            continue
        row = _json_row(len(rows), text)
        rows.append(row)
        names |= dict.fromkeys(row.cells)
    return Reading(rows, "", tuple(names))


def _differ_in_case(members: dict[str, Any]) -> bool:
    return len({name.lower() for name in members}) < len(members)


def _json_row(number: int, text: str | None) -> FileRow:
    if text is None:
        return FileRow(number, {}, "no UTF-8")
    if _levels(text) > _MOST_LEVELS:
        return FileRow(number, {}, "too deep")
    try:
        members = json.loads(text, object_pairs_hook=_Object, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except ValueError as error:
        return FileRow(number, {}, str(error)[:80])
    if not isinstance(members, _Object) or not members or "" in members:
        return FileRow(number, {}, "no object, or a member without a name")
    if len(members) < len(members.pairs):
        return FileRow(number, {}, "member twice")
    if _differ_in_case(members):
        return FileRow(number, {}, "members that differ in case only")
    if any("\ud800" <= char <= "\udfff" for char in repr(json.loads(text))) or _has_half(members):
        return FileRow(number, {}, "half a character")
    return FileRow(number, {name.lower(): Cell(_shown(value)) for name, value in members.items()})


def _levels(text: str) -> int:
    """How deep arrays and objects are nested. Python's own limit differs between its versions."""
    steps = ((char in "[{") - (char in "]}") for char in re.sub(r'"(?:[^"\\]|\\.)*"', "", text))
    return max(accumulate(steps), default=0)


def _has_half(value: Any) -> bool:
    if isinstance(value, _Object):
        return any(_has_half(one) for pair in value.pairs for one in pair)
    if isinstance(value, list):
        return any(map(_has_half, value))
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)


def _shown(value: Any) -> str | None:
    """A member as text: of a nested one the JSON that it is."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    return _compact(value)


def _compact(value: Any) -> str:
    if isinstance(value, _Object):
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_compact(one)}" for name, one in value.pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return str(value) if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def packed(data: bytes) -> bytes:
    """Gzip as DMS writes it."""
    return gzip.compress(data, mtime=0)
