"""Which keys a change file of a repair may have, so that it never removes a row that the source holds. Pure.

A row at the source whose key was changed is two keys here: one that silver has and the source has not (*surplus*), and one that silver
lacks (*missing*). Nothing tells which belong together. These hold:

- A surplus key is deleted only if silver then has every key that the source had and silver lacked: a key change is repaired whole, or not
  at all. Inserts come before deletes, in one file or in an earlier one.
- A key is not deleted while the source finds a row by it, under a key that the source calls equal (padding, case, accents: what its type
  and collation say), unless silver has the row under that key, or gets it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from dms_iceberg.verify.fingerprint import SourceState

Key = tuple[str, ...]


@attrs.frozen
class Wanted:
    """A key that a repair is about: its kind, and what was seen of it at the source."""

    kind: str
    seen: SourceState

    @property
    def is_delete(self) -> bool:
        """Whether the repair deletes it."""
        return self.seen is None


@attrs.frozen
class Found:
    """What one snapshot of the source shows of some keys.

    Attributes:
        now: the keys that the source has of those that were asked for, and of those that it calls equal to one of them.
        equal: by key, the other keys of rows that the source finds by it; without keys that have none.
        in_silver: those of the other keys that silver has.
    """

    now: Mapping[Key, SourceState]
    equal: Mapping[Key, Collection[Key]] = attrs.field(factory=dict)
    in_silver: Collection[Key] = frozenset()


@attrs.frozen
class FilePlan:
    """What becomes of the keys of one change file.

    Attributes:
        written: keys that it has.
        changed: keys that the source has changed since they were compared; their change files are to come.
        halves: keys that may be one half of a key change, whose other half is not written.
        held: keys under which the source holds a row, with the other forms of the key; silver would lose the row.
        respelled: keys that are deleted, as silver has, or gets, the row under another form of the key.
    """

    written: tuple[Key, ...]
    changed: tuple[Key, ...]
    halves: tuple[Key, ...]
    held: Mapping[Key, Collection[Key]]
    respelled: Mapping[Key, Collection[Key]]


def in_order(wanted: Mapping[Key, Wanted]) -> list[Key]:
    """Return the keys in the order in which they are written: deletes after everything else."""
    return sorted(wanted, key=lambda key: wanted[key].is_delete)


def plan_file(part: Sequence[Key], wanted: Mapping[Key, Wanted], found: Found, before: Sequence[FilePlan]) -> FilePlan:
    """Return what becomes of the keys ``part``.

    Args:
        part: some of the ``wanted`` keys, as `in_order` has them.
        wanted: all keys of the repair.
        found: what the source has of them.
        before: the plans of the files that are written already.
    """
    changed = [key for key in part if found.now.get(key) != wanted[key].seen]
    left = {key for plan in before for key in plan.changed} | set(changed)
    is_half = any(wanted[key].kind == "missing" for key in left)
    unchanged = [key for key in part if key not in left]
    inserted = {key for plan in before for key in plan.written} | set(unchanged)
    has = {key for key in inserted if not wanted[key].is_delete} | set(found.in_silver)
    written, halves, held, respelled = [], [], {}, {}
    for key in unchanged:
        others = found.equal.get(key, ()) if wanted[key].is_delete else ()
        if is_half and wanted[key].is_delete and wanted[key].kind == "surplus":
            halves.append(key)
        elif any(other not in has for other in others):
            held[key] = others
        else:
            written.append(key)
            if others:
                respelled[key] = others
    return FilePlan(tuple(written), tuple(changed), tuple(halves), held, respelled)


def half_doubt(surplus: int, lacking: int) -> list[str]:
    """Return whether a repair would write one half of key changes.

    Args:
        surplus: keys that it would delete.
        lacking: keys that the source has, silver lacks, and the repair would not insert.
    """
    if not surplus or not lacking:
        return []
    return [
        f"it would delete {surplus:,} rows and leave out {lacking:,} that silver lacks. A row whose key was changed at the source, or is "
        "spelled otherwise there, is one of each: silver would lose it, and its change, once it comes, would be older than the repair. "
        "If the task has no selection filter, or the document's filter repeats it, add --insert-missing, which writes both. Where keys are "
        "still changing, or collide, compare again later, or load the table again"
    ]


def warnings(plans: Sequence[FilePlan], shown: int) -> Iterator[str]:
    """Yield what was left out, and what an operator must know of keys in two forms; at most ``shown`` of these are named."""
    if changed := sum(len(plan.changed) for plan in plans):
        yield (
            f"{changed:,} keys were left out of the repair, because the source has changed them since they were compared: their change "
            "files are to come. Compare again once they are merged"
        )
    if halves := sum(len(plan.halves) for plan in plans):
        yield (
            f"{halves:,} surplus rows were not deleted, because rows that silver lacks were left out, and a key change is one of each. "
            "Compare again once the change files are merged"
        )
    held = {key: others for plan in plans for key, others in plan.held.items()}
    if held:
        yield (
            f"{len(held):,} surplus rows were not deleted, because the source finds a row by their key, which it has in another form that "
            f"silver lacks ({_forms(held, shown)}). Make DMS and the source agree on the form, or load the table again"
        )
    respelled = {key: others for plan in plans for key, others in plan.respelled.items()}
    if respelled:
        yield (
            f"{len(respelled):,} deleted keys are another form of a key that the source has, and silver has it in the source's form from "
            f"now on ({_forms(respelled, shown)}). If DMS writes the other form, its next change of the row brings that back beside it"
        )


def _forms(keys: Mapping[Key, Collection[Key]], shown: int) -> str:
    some = list(keys.items())[:shown]
    texts = [f"{_shown(key)} in silver, {' and '.join(map(_shown, sorted(others)))} at the source" for key, others in some]
    return "; ".join([*texts, *(["..."] if len(keys) > shown else [])])


def _shown(key: Key) -> str:
    return "(" + ", ".join(map(repr, key)) + ")" if len(key) > 1 else repr(key[0])
