"""Files whose columns look like before-images in every way, and before-images that look like service columns, made by a seed.

A source has columns that are named like images of others (``bi_tool``, ``old_email``, ``big`` beside a dropped ``g``). The task writes
images of the key or of all columns, under the prefix that the document names, under another, or none; it begins with them at any file. A
file without a header has a stream position or not, whatever the document leaves to its default: it may have as many columns as one with
other service columns, and only small numbers in them. The oracle is the world itself: it knows which columns are the source's and which
are images.
"""

import csv
import io
import json
import random
from collections.abc import Mapping
from typing import Any

import attrs

from dms_iceberg.bronze.unnamed_images import Affix
from support.lake import COMMIT, sequence, timestamp

_BASES = ("g", "tool", "email", "name", "status", "note", "age")
_LIKE = ("bi_{}", "BI_{}", "old_{}", "{}_was", "previous_{}", "bi{}", "xx_{}", "{}Old", "etl_{}", "{}_id", "was{}")
_AFFIXES = (Affix("BI_"), Affix("OLD_"), Affix("", "_was"), Affix("xx_"))
FORMS = ("parquet", "csv", "headerless", "json")
STREAM = "dms_stream_position"
_CLOCKS = ("20260301100100", "20260301100300")


@attrs.frozen
class ImageWorld:
    """A table, its files and its entry.

    Attributes:
        form: one of `FORMS`.
        sequence: the task writes the sequence behind the source's columns.
        source: the source's columns, in order; the first is the key. All are texts.
        masked, dropped: what the entry hides; ``dropped`` may name a column that no file has.
        named: the prefix and suffix in the document.
        written: those of the images that the task writes; None for none.
        every: it writes images of all columns, not only of the key.
        since: the number of the file from which on it writes them.
        stream: the form of the stream position that the task writes: `scn`, a number; `lsn`, of PostgreSQL; empty for none.
        says_stream: the document says whether there is one. It is right then; else the default names one.
        optional: the document says that files may lack before-images.
        numbers: all values are small numbers.
        inserts: each change file inserts a row as well.
    """

    form: str
    sequence: bool
    source: tuple[str, ...]
    masked: tuple[str, ...]
    dropped: tuple[str, ...]
    named: Affix | None
    written: Affix | None
    every: bool
    since: int
    stream: str = ""
    says_stream: bool = True
    optional: bool = False
    numbers: bool = False
    inserts: bool = False

    @property
    def key(self) -> str:
        return self.source[0]

    @property
    def is_ordered(self) -> bool:
        """Whether the order of a file's columns shows where images begin."""
        return self.sequence and self.form != "json"

    @property
    def images(self) -> Mapping[str, str]:
        """The before-images that the task writes, with the column of each."""
        if self.written is None:
            return {}
        of = self.source if self.every else self.source[:1]
        return {f"{self.written.prefix}{name}{self.written.suffix}": name for name in of}

    @property
    def hidden(self) -> set[str]:
        """Columns, in lower case, whose values must not show."""
        return {name.lower() for name in (*self.masked, *self.dropped)}

    @property
    def shown(self) -> set[str]:
        """The columns that silver must have."""
        return set(self.source) - {name for name in self.source if name.lower() in {one.lower() for one in self.dropped}}

    @property
    def is_clear(self) -> bool:
        """Whether nothing is to be decided, so that a refusal would be a fault: each file has the images that the document names, where DMS
        writes them; or the task writes none, and nothing is hidden."""
        images = self.written is not None and self.written == self.named and self.since == 0
        source = {name.lower() for name in self.source}
        if self.form == "headerless":
            # An insert has a stream position and no before-image.
            told = self.sequence and (self.inserts or self.stream == "lsn") and (self.says_stream or bool(self.stream))
            named = {image.lower() for image in self.images}
            return told and (images or self.written is self.named is None) and self.hidden <= source and named.isdisjoint(source)
        none = self.written is None and not self.hidden
        former = {f"{self.named.prefix}{self.key}{self.named.suffix}".lower()} if self.named is not None else set[str]()
        return self.is_ordered and (images or none) and former.isdisjoint(source)

    def columns(self, number: int) -> list[str]:
        """The columns of a file."""
        images = self.images if number >= self.since else {}
        added = [*(["dms_change_seq"] if self.sequence else []), *([STREAM] if self.stream else [])]
        names = ["Op", "dms_commit_ts", *self.source, *added, *images]
        return sorted(names) if self.form == "json" else names

    def rows(self, number: int) -> list[dict[str, str | None]]:
        """The rows of a file: two are loaded; each change file changes one, and the last moves it to another key if an image tells."""
        if number == 0:
            return [self._row("I", COMMIT, "", self._values(one, "loaded")) for one in ("1", "2")]
        new = "3" if number == 2 and self.tells_moves else str(number)
        values = self._values(new, f"changed {number}")
        before = self._values(str(number), "loaded") if number >= self.since else {}
        row = self._row("U", timestamp(_CLOCKS[number - 1]), sequence(_CLOCKS[number - 1], 61), values)
        changed = [row | {image: before.get(base) for image, base in self.images.items()}]
        if self.inserts:
            inserted = self._values(str(3 + number), "inserted")
            changed.append(self._row("I", timestamp(_CLOCKS[number - 1]), sequence(_CLOCKS[number - 1], 65), inserted))
        streams = {"scn": "17{}", "lsn": "0/16B37{}8", "": ""}[self.stream]
        return [one | {STREAM: streams.format(number + place)} for place, one in enumerate(changed)]

    @property
    def tells_moves(self) -> bool:
        """Whether the last file has the images that the document names."""
        return self.written is not None and self.written == self.named and self.since <= 2

    def _values(self, key: str, version: str) -> dict[str, str | None]:
        if self.numbers:
            changes = version.startswith("changed")
            return {name: key if not place else str((int(key) * 3 + place + changes) % 4) for place, name in enumerate(self.source)}
        return {name: key if name == self.key else f"{name} of {key}, {version}" for name in self.source}

    def named_image(self, image: str) -> str:
        """A before-image that the task writes, by its name in the document."""
        named = self.named or Affix()
        return f"{named.prefix}{self.images[image]}{named.suffix}"

    @staticmethod
    def _row(op: str, time: str, seq: str, values: Mapping[str, str | None]) -> dict[str, str | None]:
        return {"Op": op, "dms_commit_ts": time, "dms_change_seq": seq, **values}

    def expected(self) -> list[dict[str, str | None]]:
        """The rows of silver, by its columns."""
        last = "3" if self.tells_moves else "2"
        rows = [self._values("1", "changed 1"), self._values(last, "changed 2")]
        rows += [self._values(str(3 + number), "inserted") for number in (1, 2) if self.inserts]
        masked = {name.lower() for name in self.masked}
        return [{name: "***" if name.lower() in masked else row[name] for name in sorted(self.shown)} for row in rows]

    def text(self, number: int) -> str:
        """A file of text."""
        names, rows = self.columns(number), self.rows(number)
        if self.form == "json":
            return "".join(json.dumps({name: row.get(name) for name in names}) + "\n" for row in rows)
        sink = io.StringIO()
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerows([*([names] if self.form == "csv" else []), *([row.get(name) or "" for name in names] for row in rows)])
        return sink.getvalue()

    def entry(self) -> dict[str, Any]:
        """The table's entry, without its target."""
        columns = {"source_columns": list(self.source)} if self.form == "headerless" else {}
        masks = [{"name": name, "mask": "redact"} for name in self.masked]
        return {"key": [self.key], "drop": list(self.dropped), "columns": masks, **columns}

    def bronze(self) -> dict[str, Any]:
        """What the document says of the files."""
        named = self.named or Affix()
        change: dict[str, Any] = {
            "before_image_prefix": named.prefix or None,
            "before_image_suffix": named.suffix or None,
            "sequence_column": "dms_change_seq" if self.sequence else None,
        }
        if self.says_stream:
            change["stream_position_column"] = STREAM if self.stream else None
        if self.optional:
            change["before_image"] = "optional"
        form = "csv" if self.form == "headerless" else self.form
        return {"format": form, "change": change, **({"csv": {"header": self.form == "csv"}} if form == "csv" else {})}


def image_world(seed: int, form: str = "") -> ImageWorld:
    """Return the world of a seed, in the form that is given or any."""
    rng = random.Random(seed)
    form = form or rng.choice(FORMS)
    sequence_there = rng.random() < 0.7
    key, *bases = "id", *rng.sample(_BASES, rng.randint(3, 5))
    named = rng.choice([None, Affix("BI_"), Affix("BI_"), *_AFFIXES])
    written = rng.choice([None, named, named, *_AFFIXES])
    like = [rng.choice(_LIKE).format(rng.choice([key, *bases, "absent"])) for _ in range(rng.randint(0, 4))]
    dropped = [rng.choice(bases)] if rng.random() < 0.5 else []
    masked = [rng.choice([one for one in bases if one not in dropped])] if rng.random() < 0.5 else []
    if dropped and rng.random() < 0.5:
        # As a generated column, which no file has.
        bases.remove(dropped[0])
    source = [key, *rng.sample([*bases, *like], len(bases) + len(like))]
    every, since = rng.random() < 0.5, rng.randint(0, 3)
    is_ordered = sequence_there and form != "json"
    if not is_ordered and written != named:
        # A limit that is documented: images of the key alone, under such a prefix, are taken for columns.
        every = True
    images = {f"{one.prefix}{name}{one.suffix}".lower() for one in (written, named) if one is not None for name in (*source, *dropped)}
    if not is_ordered:
        # Another: without an order of columns the names that the document describes are those of images.
        source = [name for name in source if name.lower() not in images]
    # A file cannot have two columns of one name.
    source = list({name.lower(): name for name in source if written is None or name.lower() not in images}.values())
    upper = str.upper if rng.random() < 0.2 else str
    names = tuple(upper(name) for name in source)
    world = ImageWorld(form, sequence_there, names, tuple(map(upper, masked)), tuple(map(upper, dropped)), named, written, every, since)
    return _without_header(world, rng) if form == "headerless" else world


def _without_header(world: ImageWorld, rng: random.Random) -> ImageWorld:
    """Return the world with service columns and values that take the places of each other."""
    named, hides = world.named is not None, bool(world.masked or world.dropped)
    # A document may leave the stream position to its default, but what it says is true: else nothing would be left to tell by.
    return attrs.evolve(
        world,
        # A table of two columns has images of all columns where another has those of the key and a stream position.
        source=world.source[:2] if rng.random() < 0.5 and not hides else world.source,
        stream=rng.choice(["", "scn", "lsn", "lsn"]),
        says_stream=rng.random() < 0.5 or (world.written is not None and world.written != world.named),
        optional=named and world.sequence and rng.random() < 0.8,
        numbers=not hides and rng.random() < 0.6,
        inserts=rng.random() < 0.6,
    )
