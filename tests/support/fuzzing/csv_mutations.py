"""What other writers, and mistaken programs on the way, make of CSV."""

from collections.abc import Callable, Sequence
from random import Random

from support.fuzzing.forms import COLUMNS, SOURCE, Form

Rows = list[list[str]]
RowMutation = Callable[[Rows, Random, Form], Rows]
TextMutation = Callable[[bytes, Random, Form], bytes]

ODD_NAMES = ("extra", "Ärger", "with space", "a.b", "select", "BI_name", "NAME", "bi_free", "`q`", "x" * 40, "op", "amount ", "")
ODD_VALUES = (
    *(
        "",
        " ",
        "NULL",
        "null",
        "\\N",
        "~",
        "NaN",
        "Infinity",
        "-inf",
        "1e400",
        "1e5",
        "0x10",
        "1,5",
        "1.005",
        "1_000",
        "١٢",
        "+7",
        "007",
        "-0",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "99999999999.99",
        "1.10",
        "1.100",
        ".5",
        "5.",
        "1d",
        "1L",
        "true",
        "T",
        "yes",
        "2",
        "on",
    ),
    *("2026-02-30", "2026-3-1", "2026-03-01 garbage", "2026-03-01T10:00:00Z", "2026-03-01 10:00:00+02", "10:00", "2026", "01.03.2026"),
    *("infinity", "0001-01-01 BC", "12026-01-01", "2026-03-01 24:00:00", "2026-03-01 10:00:60", "now", "epoch", "today"),
    *(
        "I",
        "U",
        "D",
        "a\x00b",
        "\ufeffa",
        "\u2028",
        "x" * 70_000,
        "'",
        "a\rb",
        "a\tb",
        "#",
        "=1+1",
        "{}",
        "\ufffd",
        "e\u0301",
        " 5",
        "5 ",
        "5\n",
    ),
)


def drop_column(rows: Rows, random: Random, form: Form) -> Rows:
    at = random.randrange(len(COLUMNS))
    return [row[:at] + row[at + 1 :] for row in rows]


def add_column(rows: Rows, random: Random, form: Form) -> Rows:
    at, name, value = random.randint(0, len(COLUMNS)), random.choice(ODD_NAMES), random.choice(ODD_VALUES[:40])
    return [[*row[:at], name if form.header and not number else value, *row[at:]] for number, row in enumerate(rows)]


def swap_columns(rows: Rows, random: Random, form: Form) -> Rows:
    a, b = random.sample(range(len(COLUMNS)), 2)
    order = list(range(len(COLUMNS)))
    order[a], order[b] = b, a
    return [[row[at] for at in order] for row in rows]


def shuffle_columns(rows: Rows, random: Random, form: Form) -> Rows:
    order = random.sample(range(len(COLUMNS)), len(COLUMNS))
    return [[row[at] for at in order] for row in rows]


def swap_names(rows: Rows, random: Random, form: Form) -> Rows:
    a, b = random.sample(range(len(COLUMNS)), 2)
    first = list(rows[0])
    first[a], first[b] = first[b], first[a]
    return [first, *rows[1:]]


def rename_column(rows: Rows, random: Random, form: Form) -> Rows:
    at, first = random.randrange(len(COLUMNS)), list(rows[0])
    first[at] = random.choice([*ODD_NAMES, first[at].upper(), first[at].title(), first[at] + " ", random.choice(SOURCE)])
    return [first, *rows[1:]]


def without_first(rows: Rows, random: Random, form: Form) -> Rows:
    return rows[1:]


def name_in_the_middle(rows: Rows, random: Random, form: Form) -> Rows:
    return [*rows[:3], list(COLUMNS), *rows[3:]]


def odd_values(rows: Rows, random: Random, form: Form) -> Rows:
    """A few values of any column."""
    changed = [list(row) for row in rows]
    for _ in range(random.randint(1, 4)):
        row = changed[random.randrange(form.header, len(changed))]
        row[random.randrange(len(row))] = random.choice(ODD_VALUES)
    return changed


def odd_source_values(rows: Rows, random: Random, form: Form) -> Rows:
    """A value of each row."""
    changed = [list(row) for row in rows]
    for row in changed[form.header :]:
        row[COLUMNS.index(random.choice(SOURCE[1:]))] = random.choice(ODD_VALUES)
    return changed


def shorter_row(rows: Rows, random: Random, form: Form) -> Rows:
    at = random.randrange(form.header, len(rows))
    return [row[: random.randint(1, len(row))] if number == at else row for number, row in enumerate(rows)]


def longer_row(rows: Rows, random: Random, form: Form) -> Rows:
    at = random.randrange(form.header, len(rows))
    return [[*row, random.choice(ODD_VALUES[:30])] if number == at else row for number, row in enumerate(rows)]


def shifted_row(rows: Rows, random: Random, form: Form) -> Rows:
    at, place = random.randrange(form.header, len(rows)), random.randrange(len(COLUMNS))
    return [[*row[:place], "", *row[place:-1]] if number == at else row for number, row in enumerate(rows)]


def rows_twice(rows: Rows, random: Random, form: Form) -> Rows:
    return rows + rows[form.header :]


def no_rows(rows: Rows, random: Random, form: Form) -> Rows:
    return rows[: int(form.header)]


ROWS: tuple[RowMutation, ...] = (
    drop_column,
    add_column,
    swap_columns,
    shuffle_columns,
    odd_values,
    odd_values,
    odd_source_values,
    odd_source_values,
    shorter_row,
    longer_row,
    shifted_row,
    rows_twice,
    no_rows,
)
HEADERS: tuple[RowMutation, ...] = (swap_names, rename_column, rename_column, without_first, name_in_the_middle)


def _lines(data: bytes, random: Random) -> tuple[list[bytes], int]:
    lines = data.split(b"\n")
    return lines, random.randrange(len(lines))


def drop_line(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    return b"\n".join(lines[:at] + lines[at + 1 :])


def double_line(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    return b"\n".join([*lines[:at], lines[at], *lines[at:]])


def swap_lines(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    other = random.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def join_lines(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    return b"\n".join([*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]])


def split_line(data: bytes, random: Random, form: Form) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + b"\n" + data[at:]


def blank_lines(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    return b"\n".join([*lines[:at], random.choice([b"", b"\r", b" ", b"\t", b"\x00", b"#", b'""']), *lines[at:]])


def other_line_ends(data: bytes, random: Random, form: Form) -> bytes:
    return data.replace(b"\n", random.choice([b"\r\n", b"\r", b"\n\n", b"\n\r", b"\x85", b"\x0b"]))


def one_other_line_end(data: bytes, random: Random, form: Form) -> bytes:
    lines, at = _lines(data, random)
    # The first line's end is that of the file.
    at = max(at, 1)
    return b"\n".join(lines[: at + 1]) + random.choice([b"\r\n", b"\r", b" \n"]) + b"\n".join(lines[at + 1 :])


def no_last_line_end(data: bytes, random: Random, form: Form) -> bytes:
    return data.rstrip(b"\n")


def other_encoding(data: bytes, random: Random, form: Form) -> bytes:
    return data.decode().encode(random.choice(["utf-16", "utf-16-le", "latin-1", "utf-8-sig", "cp1252", "utf-7"]), "replace")


def invalid_utf8(data: bytes, random: Random, form: Form) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + random.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"]) + data[at:]


def other_delimiter(data: bytes, random: Random, form: Form) -> bytes:
    return data.replace(form.delimiter.encode(), random.choice([b"\t", b"|", b", ", b";" if form.delimiter != ";" else b","]))


def other_quotes(data: bytes, random: Random, form: Form) -> bytes:
    return data.replace(b'"', random.choice([b"'", b"", b'\\"', b'""', "“".encode()]))


def stray_quote(data: bytes, random: Random, form: Form) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + random.choice([b'"', b'""', b'"' + form.delimiter.encode(), form.delimiter.encode() + b'"']) + data[at:]


def quoted_everywhere(data: bytes, random: Random, form: Form) -> bytes:
    import csv
    import io

    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=form.delimiter))
    stream = io.StringIO()
    csv.writer(stream, delimiter=form.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return stream.getvalue().encode()


TEXT: tuple[TextMutation, ...] = (
    drop_line,
    double_line,
    swap_lines,
    join_lines,
    split_line,
    blank_lines,
    other_line_ends,
    one_other_line_end,
    no_last_line_end,
    other_encoding,
    invalid_utf8,
    other_delimiter,
    other_quotes,
    stray_quote,
    stray_quote,
    quoted_everywhere,
)
LINES: Sequence[TextMutation] = TEXT[:11]
"""Those that JSON lines have as well."""
