"""Spark SQL types as the document may write them, and the values that fit them."""

import re
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from dms_iceberg.config.problems import listed, suggestion
from dms_iceberg.sql.types import decimal_of

_ALIASES = {"integer": "int", "long": "bigint", "real": "float"}
SIMPLE_TYPES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_NESTED = ("array", "map", "struct")
_ALLOWED = (*SIMPLE_TYPES, "decimal(p,s)", "array<..>", "map<..,..>", "struct<name:type,..>")
_INSTEAD = {
    **dict.fromkeys(("varchar", "char", "text", "character", "nvarchar", "clob", "uuid", "json"), "string"),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_ltz"), "timestamp"),
    **dict.fromkeys(("bytea", "blob", "varbinary", "bytes"), "binary"),
    **dict.fromkeys(("numeric", "dec", "number", "money"), "decimal(p,s)"),
    **dict.fromkeys(("int8", "int64", "serial", "bigserial"), "bigint"),
    **dict.fromkeys(("int4", "int32"), "int"),
    **dict.fromkeys(("int2", "int16", "short"), "smallint"),
    **dict.fromkeys(("float8", "float64"), "double"),
    **dict.fromkeys(("float4", "float32"), "float"),
    **dict.fromkeys(("bool", "bit"), "boolean"),
    **dict.fromkeys(("time", "interval", "timetz"), "string"),
    "byte": "tinyint",
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|[A-Za-z_0-9]+|[<>(),:])")
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_MAX_PRECISION = 38


class TypeTextError(ValueError):
    """The text is not a type that may be declared."""


def canonical_type(text: str) -> str:
    """Return a type in Spark's own short form, such as ``decimal(10,2)`` or ``array<int>``.

    Raises:
        TypeTextError: the type is not allowed; the message names the allowed ones.
    """
    reader = _Reader(text)
    result = reader.type()
    reader.end()
    return result


class _Reader:
    """Recursive descent over a type text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0

    def _split(self, text: str) -> list[str]:
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise TypeTextError(f"'{text}' is not a type: unexpected '{text[at:].strip()[:1]}'")
            tokens.append(match[1])
            at = match.end()
        return tokens

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else ""

    def _expect(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            what = f"'{found}'" if found else "the end"
            raise TypeTextError(f"'{self._text}' is not a type: expected '{wanted}', found {what}")

    def end(self) -> None:
        """Refuse any further text."""
        if self._at < len(self._tokens):
            rest = " ".join(self._tokens[self._at :])
            raise TypeTextError(f"'{self._text}' is not a type: '{rest}' is too much")

    def type(self) -> str:
        """Read one type."""
        word = self._next()
        name = _ALIASES.get(word.lower(), word.lower())
        if name in SIMPLE_TYPES:
            return name
        if name in ("decimal", "dec", "numeric"):
            return self._decimal(word)
        if name in _NESTED:
            return f"{name}<{self._arguments(name)}>"
        if name in _INSTEAD:
            raise TypeTextError(f"'{word}' is not a Spark SQL type for columns; write {_INSTEAD[name]}")
        hint = suggestion(name, [*SIMPLE_TYPES, "decimal", *_NESTED])
        hint = hint if hint.startswith("did") else f"allowed: {listed(_ALLOWED)}"
        raise TypeTextError(f"'{word}' is not a Spark SQL type for columns; {hint}")

    def _decimal(self, word: str) -> str:
        if self._tokens[self._at : self._at + 1] != ["("]:
            raise TypeTextError(f"'{word}' needs precision and scale, such as decimal(18,2)")
        self._expect("(")
        precision, scale = self._next(), "0"
        separator = self._next()
        if separator == ",":
            scale = self._next()
            separator = self._next()
        if separator != ")" or not (precision.isdecimal() and scale.isdecimal()):
            raise TypeTextError(f"'{self._text}' is not a type: write decimal(precision,scale)")
        if not (1 <= int(precision) <= _MAX_PRECISION and int(scale) <= int(precision)):
            raise TypeTextError(f"'{self._text}': precision must be from 1 to {_MAX_PRECISION} and scale at most the precision")
        return f"decimal({int(precision)},{int(scale)})"

    def _arguments(self, name: str) -> str:
        self._expect("<")
        if name == "array":
            inner = self.type()
        elif name == "map":
            key = self.type()
            self._expect(",")
            inner = f"{key},{self.type()}"
        else:
            inner = self._fields()
        self._expect(">")
        return inner

    def _fields(self) -> str:
        fields = []
        while True:
            name = self._next()
            self._expect(":")
            fields.append(f"{name}:{self.type()}")
            if self._tokens[self._at : self._at + 1] != [","]:
                return ",".join(fields)
            self._expect(",")


def value_problem(value: str | int | float | bool, canonical: str) -> str | None:
    """Return why a value of the document is not a value of the type, None if it is."""
    kind = canonical.split("(")[0].split("<")[0]
    if kind in _INTEGER_BITS:
        return _integer_problem(value, canonical)
    if kind == "boolean":
        return None if isinstance(value, bool) else f"is not true or false, as {canonical} needs"
    if kind == "string":
        return None if isinstance(value, str) else "is not text, as string needs; put it in quotes"
    if kind in ("float", "double"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if number else f"is not a number, as {canonical} needs"
    if kind == "decimal":
        return _decimal_problem(value, canonical)
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return _time_problem(value, kind)
    return f"cannot be given for {kind}; leave it out, or use an expression"


def _integer_problem(value: object, canonical: str) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"is not a whole number, as {canonical} needs"
    limit = 1 << (_INTEGER_BITS[canonical] - 1)
    return None if -limit <= value < limit else f"is outside {canonical} ({-limit} to {limit - 1})"


def _decimal_problem(value: object, canonical: str) -> str | None:
    precision, scale = decimal_of(canonical) or (0, 0)
    try:
        number = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        return f"is not a number, as {canonical} needs"
    if number == 0:
        return None
    # Not `Decimal.normalize`, which rounds to 28 digits and has no such exponents as a text can have.
    shown = number.as_tuple()
    digits = "".join(map(str, shown.digits)).lstrip("0")
    significant = digits.rstrip("0")
    exponent = int(shown.exponent) + len(digits) - len(significant)
    fits = -exponent <= scale and len(significant) + exponent <= precision - scale
    return None if fits else f"does not fit {canonical}"


def _time_problem(value: object, kind: str) -> str | None:
    example = {"date": "2024-01-31", "timestamp": "2024-01-31T10:00:00Z"}.get(kind, "2024-01-31T10:00:00")
    wrong = f"is not a {kind}; write text such as '{example}'"
    # Python reads more than Spark, to which 20240131 and 2024-W05-3 are no dates.
    pattern = _DATE if kind == "date" else _MOMENT
    if not isinstance(value, str) or not pattern.fullmatch(value):
        return wrong
    try:
        if kind == "date":
            date.fromisoformat(value)
            return None
        moment = datetime.fromisoformat(value)
    except ValueError:
        return wrong
    if kind == "timestamp" and moment.tzinfo is None:
        return f"has no offset, so it is no instant; write text such as '{example}'"
    return wrong if kind == "timestamp_ntz" and moment.tzinfo is not None else None
