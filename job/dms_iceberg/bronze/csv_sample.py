"""The beginning of a CSV file, read without Spark: its first records, and whether it is RFC 4180."""

import csv
import io
import re
import sys
from collections.abc import Iterator

import attrs

from dms_iceberg.bronze.gzip_checks import decompress
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore, join

_HEAD_BYTES = 1 << 16
_MAX_RECORD_BYTES = 64 << 20
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

# The default of 128 KiB is less than the size of a LOB.
csv.field_size_limit(sys.maxsize)


@attrs.frozen
class FirstRecord:
    """The first record of a CSV file.

    Attributes:
        fields: its fields; empty when the file has no record.
        only: the file has no other record.
        line_end: the line end of records.
        records: the first record and those that follow it in the first bytes of the file.
        text: the first bytes, decoded.
        whole: these are all bytes of the file.
    """

    fields: tuple[str, ...]
    only: bool
    line_end: str = "\n"
    records: tuple[tuple[str, ...], ...] = attrs.field(default=(), eq=False, repr=False)
    text: str = attrs.field(default="", eq=False, repr=False)
    whole: bool = attrs.field(default=True, eq=False)


def first_record(store: ObjectStore, file: BronzeFile, delimiter: str, *, rfc4180: bool = True) -> FirstRecord:
    """Return the first record of a CSV file; bytes that are not UTF-8 become lone surrogates.

    Args:
        rfc4180: a field may be quoted; without it a quote is a character like any other.

    Raises:
        BronzeError: the file is named .gz and is not gzip, begins with a byte order mark, or its first record is not CSV or has no end.
    """
    size = _HEAD_BYTES
    while True:
        data = store.read(file.key, 0, min(size, file.size))
        whole = len(data) >= file.size
        data = decompress(data, file, store.root)
        _refuse_byte_order_mark(data, file, store.root)
        text = data.decode(errors="surrogateescape")
        found = parse_head(text, delimiter, rfc4180=rfc4180, whole=whole)
        if isinstance(found, FirstRecord) and (whole or not found.only):
            return found
        if whole or size >= _MAX_RECORD_BYTES:
            reason = "it has no end" if isinstance(found, FirstRecord) else str(found)
            if rfc4180 and (wrong := _unquoted(FirstRecord((), only=True, text=text, whole=whole), delimiter, None)):
                reason = f"line {wrong[0]} has {wrong[1]}"
            raise BronzeError(
                f"{join(store.root, file.key)}: the first record is not valid CSV ({reason}). Check bronze.csv against the endpoint's "
                "settings (CsvDelimiter; Rfc4180, which is bronze.csv.rfc4180), or restore the file."
            )
        size *= 8


def parse_head(text: str, delimiter: str, *, rfc4180: bool, whole: bool) -> FirstRecord | csv.Error:
    """Return the records at the beginning of a CSV file, or why its first record is none.

    Args:
        rfc4180: a field may be quoted.
        whole: ``text`` is all of the file, so its last record is not truncated.
    """
    found = _parse_quoted(text, delimiter) if rfc4180 else _parse_plain(text, delimiter, whole=whole)
    if isinstance(found, csv.Error):
        return found
    records = _quoted_records(text, delimiter, whole=whole) if rfc4180 else found.records
    return attrs.evolve(found, records=records, text=text, whole=whole)


def _parse_quoted(text: str, delimiter: str) -> FirstRecord | csv.Error:
    last = ""

    def lines() -> Iterator[str]:
        nonlocal last
        # Not universal newlines: a carriage return alone ends no record.
        for line in stream:
            last = line
            yield line

    stream = io.StringIO(text, newline="\n")
    try:
        record = next((fields for fields in csv.reader(lines(), delimiter=delimiter, strict=True) if fields), [])
    except csv.Error as error:
        return error
    only = not stream.read().strip("\r\n")
    return FirstRecord(tuple(record), only, "\r\n" if last.endswith("\r\n") else "\n")


def _quoted_records(text: str, delimiter: str, *, whole: bool) -> tuple[tuple[str, ...], ...]:
    records = list[tuple[str, ...]]()
    try:
        for fields in csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, strict=True):
            if fields:
                records.append(tuple(fields))
    except csv.Error:
        # The end of the sample, or a record that Spark will not parse either.
        whole = True
    return _without_cut(records, whole=whole)


def _without_cut(records: list[tuple[str, ...]], *, whole: bool) -> tuple[tuple[str, ...], ...]:
    """Leave out the last record, which may be truncated, unless the sample is whole."""
    return tuple(records if whole or len(records) == 1 else records[:-1])


def _parse_plain(text: str, delimiter: str, *, whole: bool) -> FirstRecord:
    lines = text.split("\n")
    ended = [line for line in lines[:-1] if line]
    # A value at the end of a line may end with a carriage return; then not all lines end with one.
    line_end = "\r\n" if ended and all(line.endswith("\r") for line in ended) else "\n"
    texts = [line.removesuffix("\r") if line_end == "\r\n" else line for line in lines]
    records = [tuple(line.split(delimiter)) for line in texts if line]
    return FirstRecord(records[0] if records else (), len(records) <= 1, line_end, _without_cut(records, whole=whole or not texts[-1]))


def _refuse_byte_order_mark(data: bytes, file: BronzeFile, root: str) -> None:
    if data.startswith(_BYTE_ORDER_MARKS):
        raise BronzeError(
            f"{join(root, file.key)}: begins with a byte order mark. DMS writes UTF-8 without one; whatever rewrote this file may "
            "have changed more. Restore the original."
        )


def refuse_unquoted(first: FirstRecord, file: BronzeFile, delimiter: str, further: str | None, root: str) -> None:
    """Refuse a file that is read as RFC 4180 and whose beginning shows that it is not.

    In RFC 4180 a field that contains a quote is quoted, and quotes in it are doubled. Spark reads a field that begins with a quote up to
    the next quote, even many rows later, and other fields as they are: rows would be lost, and quotes that are data.

    Args:
        further: a regular expression that matches only further rows (`csv_shapes.further_rows`), None where nothing is known.

    Raises:
        BronzeError: a field violates RFC 4180, or contains what looks like further rows.
    """
    found = _unquoted(first, delimiter, further) if '"' in first.text else None
    if found is not None:
        number, problem = found
        raise BronzeError(
            f"{join(root, file.key)}: line {number} has {problem}, which is not RFC 4180. If the endpoint's Rfc4180 is false (Terraform: "
            "rfc_4180), so that a quote is a character like any other, set bronze.csv.rfc4180 to false; otherwise restore the file."
        )


def _unquoted(first: FirstRecord, delimiter: str, further: str | None) -> tuple[int, str] | None:
    """Return the line (from 1) of the first field that violates RFC 4180, and what is wrong with it; None without one."""
    end = re.escape(delimiter)
    # Most files are valid, with every record on one line: this check takes a tenth of the time.
    valid = re.compile(rf'(?:(?:"(?:[^"]++|"")*+"\r?|[^"{end}\n]*+)(?:{end}|\n|\Z))*+')
    if first.text.count("\n") == len(first.records) and valid.fullmatch(first.text):
        return None
    field = re.compile(
        rf'(?:"(?P<quoted>(?:[^"]++|"")*+)(?P<closed>"?)(?P<after>[^{end}\n]*+)|(?P<plain>[^{end}\n]*+))(?:{end}|(?P<line>\n)|\Z)'
    )
    rows = re.compile(further) if further is not None else None
    line = 1
    for found in field.finditer(first.text):
        quoted = found["quoted"] or ""
        if found["plain"] and '"' in found["plain"]:
            return line, "a quote within a field that does not begin with one"
        if found["after"] and found["after"] != "\r":
            return line, "a field that goes on behind its closing quote"
        if found["quoted"] is not None and not found["closed"] and first.whole:
            return line, "a quote that opens a field and is never closed"
        # The last line of the sample may be cut off, and look like a shorter row then.
        seen = quoted if found["closed"] or first.whole else quoted[: quoted.rfind("\n") + 1]
        if rows is not None and rows.search(seen):
            return line, "a quote that opens a field in which further rows seem to stand"
        line += found[0].count("\n")
    return None
