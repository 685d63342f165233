"""One mutated file from its seed: the same name and number always give the same bytes."""

import gzip
from collections.abc import Callable, Sequence
from random import Random

import attrs

from support.fuzzing import byte_mutations, csv_mutations, json_mutations, parquet_mutations
from support.fuzzing.forms import COLUMNS, Form, Record, parquet_bytes, parquet_table

Make = Callable[[Sequence[Record], Random, Form], bytes]
_BYTES_SHARE = 0.35


@attrs.frozen
class Mutation:
    """A way to make a mutated file of some rows."""

    name: str
    make: Make


def _of_bytes(one: byte_mutations.ByteMutation) -> Mutation:
    def make(records: Sequence[Record], random: Random, form: Form) -> bytes:
        data = form.encode(records, random)
        # Damage before it was packed, or on the way.
        if form.extension.endswith(".gz") and random.random() < 0.5:
            return form.packed(one(gzip.decompress(data), random))
        return one(data, random)

    return Mutation(f"bytes.{one.__name__}", make)


def _of_rows(one: csv_mutations.RowMutation) -> Mutation:
    def make(records: Sequence[Record], random: Random, form: Form) -> bytes:
        rows = [list(COLUMNS)] * form.header + [form.fields(record) for record in records]
        return form.packed(form.csv_bytes(one(rows, random, form)))

    return Mutation(f"rows.{one.__name__}", make)


def _of_text(one: csv_mutations.TextMutation) -> Mutation:
    def make(records: Sequence[Record], random: Random, form: Form) -> bytes:
        data = form.encode(records, random)
        return form.packed(one(gzip.decompress(data) if form.extension.endswith(".gz") else data, random, form))

    return Mutation(f"text.{one.__name__}", make)


def _of_members(one: json_mutations.ObjectMutation | None) -> Mutation:
    def make(records: Sequence[Record], random: Random, form: Form) -> bytes:
        data = form.encode(records, random)
        plain = gzip.decompress(data) if form.extension.endswith(".gz") else data
        return form.packed(json_mutations.mutate_lines(plain, random, one))

    return Mutation(f"members.{one.__name__ if one else 'around_line'}", make)


def _of_table(one: parquet_mutations.TableMutation) -> Mutation:
    def make(records: Sequence[Record], random: Random, form: Form) -> bytes:
        return parquet_mutations.encoded(one(parquet_table(records), random), random)

    return Mutation(f"table.{one.__name__}", make)


def _other_footer(records: Sequence[Record], random: Random, form: Form) -> bytes:
    whole, half = parquet_table(records), parquet_table(records[:2])
    first, second = random.sample([whole, half, parquet_mutations.shuffle_columns(whole, random)], 2)
    return parquet_mutations.other_footer(parquet_bytes(first, random), parquet_bytes(second, random))


def mutations(form: Form) -> tuple[list[Mutation], list[Mutation]]:
    """Those of bytes, and those that know the format."""
    plain = [_of_bytes(one) for one in byte_mutations.BYTES]
    if form.format == "parquet":
        return plain, [*map(_of_table, parquet_mutations.TABLES), Mutation("footer", _other_footer)]
    if form.format == "json":
        known = [*json_mutations.MEMBERS, None]
        return plain, [*map(_of_members, known), *map(_of_text, csv_mutations.LINES)]
    rows = [*csv_mutations.ROWS, *(csv_mutations.HEADERS if form.header else ())]
    return plain, [*map(_of_rows, rows), *map(_of_text, csv_mutations.TEXT)]


def mutated(form: Form, seed: str, records: Callable[[Random], Sequence[Record]]) -> tuple[str, bytes]:
    """The name of the mutation and the file that a seed stands for."""
    random = Random(seed)
    plain, known = mutations(form)
    chosen = random.choice(plain if random.random() < _BYTES_SHARE else known)
    return chosen.name, chosen.make(records(random), random, form)
