"""CSV byte by byte as DMS writes it, and JSON lines with the same texts."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dms_emulator.columns import FileColumn, file_columns
from dms_emulator.layout import NOT_SUPPLIED, Change, CsvShape, FileShape, TableLayout
from dms_iceberg.dms.text import Formatter, formatter
from dms_iceberg.dms.types import INTEGER_KINDS, TEXT_KINDS, Kind

_JSON_NATIVE: Final = INTEGER_KINDS | TEXT_KINDS | {Kind.BOOLEAN}


def encode_csv(layout: TableLayout, changes: Sequence[Change], shape: FileShape, *, load: bool = False) -> bytes:
    """Return CSV in UTF-8 without a byte order mark; every line ends with one line feed.

    Without changes it is the header alone, or zero bytes.
    """
    csv = shape.csv
    quote = _quoter(csv)
    columns = file_columns(layout, changes, shape, load=load)
    lines = [csv.delimiter.join(quote(column.name) for column in columns)] if csv.header else []
    texts = [_csv_cells(column, csv, quote) for column in columns]
    lines.extend(map(csv.delimiter.join, zip(*texts, strict=True)))
    return _joined(lines)


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")


def _csv_cells(column: FileColumn, csv: CsvShape, quote: Formatter) -> list[str]:
    missing = csv.null if csv.no_supplement is None else csv.no_supplement
    show = formatter(column.type)
    texts = []
    for cell in column.cells:
        if cell is None:
            texts.append(csv.null)
        elif cell is NOT_SUPPLIED:
            texts.append(missing)
        else:
            texts.append(quote(show(cell)))
    return texts


def _quoter(csv: CsvShape) -> Formatter:
    if not csv.rfc4180:
        return str
    needs_quotes = re.compile(f'["\r\n]|{re.escape(csv.delimiter)}').search

    def quote(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if needs_quotes(text) else text

    return quote


def encode_json(layout: TableLayout, changes: Sequence[Change], shape: FileShape, *, load: bool = False) -> bytes:
    """Return one JSON object per line, with members in column order.

    Integers and booleans are JSON's own. Everything else is text as in CSV, because many readers would lose digits of a
    decimal or double that is a JSON number (``json_numbers`` writes decimals as numbers nevertheless). NULL and a column
    that was not supplied are ``null``.
    """
    columns = file_columns(layout, changes, shape, load=load)
    members = [_json_members(column, shape) for column in columns]
    return _joined(f"{{{','.join(filter(None, row))}}}" for row in zip(*members, strict=True))


_dump: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _json_members(column: FileColumn, shape: FileShape) -> list[str]:
    name = _dump(column.name)
    show: Formatter = formatter(column.type)
    if column.type.kind in _JSON_NATIVE:
        text: Formatter = _dump
    elif shape.json_numbers and column.type.kind is Kind.NUMERIC:
        text = show
    else:

        def text(cell: Any) -> str:
            return _dump(show(cell))

    absent = f"{name}:null" if shape.json_nulls else ""
    return [absent if cell is None or cell is NOT_SUPPLIED else f"{name}:{text(cell)}" for cell in column.cells]
