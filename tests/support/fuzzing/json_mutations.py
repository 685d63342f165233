"""What other writers make of JSON lines: members are JSON text, so that anything can be written."""

import json
from collections.abc import Callable
from random import Random

Object = list[tuple[str, str]]
"""Names of members and the JSON of their values, both as they are written."""
ObjectMutation = Callable[[Object, Random], Object]

_NAMES = ('"extra"', '"NAME"', '"Id"', '"BI_name"', '"a.b"', '""', '"\\u0069d"', '"Ärger"', '"op"', '"na\\nme"', "name", "'name'", '"__x"')
_VALUES = (
    *(
        "null",
        "true",
        "false",
        '"true"',
        '"T"',
        "1",
        "0",
        "-0",
        "1.0",
        "1.10",
        "1e2",
        "1E+2",
        "1e400",
        "-1e-400",
        "NaN",
        "Infinity",
        "-Infinity",
    ),
    *(
        "12345678901234567890",
        "0.1234567890123456789",
        "9007199254740993",
        "9223372036854775808",
        '"9223372036854775807"',
        "01",
        "+1",
        ".5",
        "1.",
    ),
    *("{}", "[]", "[1, 2.50]", '{"a": 1.10, "b": [null, "x"]}', '{"a":1,"a":2}', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"a\\nb"'),
    *('""', '" "', '"2026-03-01 garbage"', '"2026-02-30"', '"2026-03-01T10:00:00Z"', '"I"', '"D"', '"U"', "'x'", "undefined", '"\\x41"'),
    *(
        '"NULL"',
        "1772359200",
        "1772359200000",
        '"1,5"',
        '"\ufeff"',
        '"\u2028"',
        '"' + "x" * 70_000 + '"',
        "[" * 1_100 + "]" * 1_100,
        '"a\tb"',
    ),
)


def drop_member(members: Object, random: Random) -> Object:
    at = random.randrange(len(members))
    return members[:at] + members[at + 1 :]


def add_member(members: Object, random: Random) -> Object:
    at = random.randint(0, len(members))
    return [*members[:at], (random.choice(_NAMES), random.choice(_VALUES)), *members[at:]]


def double_member(members: Object, random: Random) -> Object:
    name, value = random.choice(members)
    return [*members, (name, random.choice([value, *_VALUES]))]


def rename_member(members: Object, random: Random) -> Object:
    at = random.randrange(len(members))
    name = random.choice([*_NAMES, members[at][0].upper(), random.choice(members)[0]])
    return [*members[:at], (name, members[at][1]), *members[at + 1 :]]


def other_value(members: Object, random: Random) -> Object:
    at = random.randrange(len(members))
    return [*members[:at], (members[at][0], random.choice(_VALUES)), *members[at + 1 :]]


def value_as_text(members: Object, random: Random) -> Object:
    return [(name, value if value.startswith('"') else f'"{value}"') for name, value in members]


def texts_as_values(members: Object, random: Random) -> Object:
    return [(name, value.strip('"') if value[1:-1].isdecimal() else value) for name, value in members]


def shuffle_members(members: Object, random: Random) -> Object:
    return random.sample(members, len(members))


def no_members(members: Object, random: Random) -> Object:
    return []


MEMBERS: tuple[ObjectMutation, ...] = (
    drop_member,
    add_member,
    double_member,
    rename_member,
    other_value,
    other_value,
    other_value,
    value_as_text,
    texts_as_values,
    shuffle_members,
    no_members,
)


def split_object(line: bytes) -> Object:
    """The members of a valid line."""
    return [(json.dumps(name, ensure_ascii=False), json.dumps(value, ensure_ascii=False)) for name, value in json.loads(line).items()]


def written(members: Object, random: Random) -> bytes:
    """A line of members, with blanks as some writers have them."""
    colon, comma = random.choice([(":", ","), (": ", ", "), (" :\t", " ,")])
    return ("{" + comma.join(f"{name}{colon}{value}" for name, value in members) + "}").encode("utf-8", "surrogatepass")


def around_line(line: bytes, random: Random) -> bytes:
    """A line that is not one object alone."""
    return random.choice(
        [
            b"[" + line + b"]",
            line + line,
            line + b",",
            b" " + line + b"\t",
            line + b" // x",
            b"/* x */" + line,
            b"null",
            b"1",
            line[:-1],
            line[1:],
            b'{"a":' + line + b"}",
            line + b" {}",
            b"\xef\xbb\xbf" + line,
            line.replace(b'"', b"'"),
            line.replace(b"{", b"{\x0b", 1),
            b'"x"',
            b"{}",
            line + b"}",
        ]
    )


def mutate_lines(data: bytes, random: Random, mutation: ObjectMutation | None) -> bytes:
    """Mutate one line, or now and then all."""
    lines = data.splitlines()
    every = random.random() < 0.3
    chosen = set(range(len(lines))) if every else {random.randrange(len(lines))}
    made = [
        line
        if number not in chosen
        else around_line(line, random)
        if mutation is None
        else written(mutation(split_object(line), random), random)
        for number, line in enumerate(lines)
    ]
    return b"\n".join(made) + b"\n"
