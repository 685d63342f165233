"""What befalls files: late arrival, names in another zone or ahead, copies in a second date folder, uploads again, and moves once merged.

None of it changes what happened at the source, nor breaks the promise of `task_files`: whatever is written again is written to its end.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

import attrs

from support.task_files import BronzeFile, is_complete

COPIES = "copies/2026-03-01"
"""A date folder of another layout than the table's own."""
_HOUR_MS = 3_600_000


@attrs.frozen
class Delivery:
    """A file of a table and when it arrives.

    Attributes:
        run: the run (from 0) before which it arrives.
        again: the run before which it is uploaded once more, under another ETag; None for never.
    """

    file: BronzeFile
    run: int
    again: int | None = None


def first_merged(deliveries: Iterable[Delivery]) -> dict[str, BronzeFile]:
    """Return, by table, the file that is merged first."""

    def place(one: Delivery) -> tuple[int, bool, int]:
        return one.run, not one.file.is_load, one.file.order

    return {one.file.table: one.file for one in sorted(deliveries, key=place, reverse=True)}


def befallen(rng: Random, deliveries: Sequence[Delivery], runs: int, *, by_file: bool = False) -> list[Delivery]:
    """Return the deliveries of one table with what befalls them, in the order of names, full load first.

    Args:
        by_file: names are the order of changes, so none is wrong.
    """
    found = list(deliveries)
    for happening, likely in ((_zoned, 0.5), (_ahead, 0.5), (_copied, 0.5), (_uploaded_again, 0.6)):
        if rng.random() < likely and not (by_file and happening is _ahead):
            found = happening(rng, found, runs)
    return sorted(found, key=lambda one: (not one.file.is_load, one.file.order, one.file.folder))


def _zoned(rng: Random, deliveries: list[Delivery], runs: int) -> list[Delivery]:
    """Names of all files, or up to a change of the zone, are hours from UTC. Later names stay later."""
    changes = sorted(one.file.order for one in deliveries if not one.file.is_load)
    if not changes:
        return deliveries
    change = rng.choice(changes)
    before, after = rng.choice(((-8, -8), (9, 9), (-8, 0), (0, 9), (-3, 2)))
    return _renamed(deliveries, lambda file: file.order + _HOUR_MS * (before if file.order < change else after))


def _ahead(rng: Random, deliveries: list[Delivery], runs: int) -> list[Delivery]:
    """The last file before a run is named hours ahead, as by a clock that is wrong: later ones look late.

    Files that are merged with it must not be written after it: their older changes would look like those of a clock that went back.
    """
    choices = [
        one.file.order
        for one in deliveries
        if not one.file.is_load and all(other.run > one.run for other in deliveries if other.file.order > one.file.order)
    ]
    if not choices:
        return deliveries
    chosen, hours = rng.choice(choices), rng.randint(1, 14)
    return _renamed(deliveries, lambda file: file.order + (_HOUR_MS * hours if file.order == chosen else 0))


def _renamed(deliveries: list[Delivery], order: Callable[[BronzeFile], int]) -> list[Delivery]:
    """Return the deliveries with other names, or as they were if the promise would be broken or two files had one name."""
    made = [one if one.file.is_load else attrs.evolve(one, file=attrs.evolve(one.file, order=order(one.file))) for one in deliveries]
    changes = [one.file for one in made if not one.file.is_load]
    unique = len({file.order for file in changes}) == len(changes)
    return made if unique and is_complete(changes) else deliveries


def _copied(rng: Random, deliveries: list[Delivery], runs: int) -> list[Delivery]:
    """A file or two lie in a second date folder as well, under the same name, where they arrive on their own."""
    changes = [one for one in deliveries if not one.file.is_load]
    chosen = rng.sample(changes, min(len(changes), rng.randint(1, 2)))
    copies = [Delivery(attrs.evolve(one.file, folder=COPIES), rng.randrange(runs)) for one in chosen]
    return [*deliveries, *copies]


def _uploaded_again(rng: Random, deliveries: list[Delivery], runs: int) -> list[Delivery]:
    """A file or two are uploaded once more before a later run."""
    choices = [place for place, one in enumerate(deliveries) if not one.file.is_load and one.run < runs - 1]
    chosen = set(rng.sample(choices, min(len(choices), rng.randint(1, 2))))
    return [attrs.evolve(one, again=rng.randint(one.run + 1, runs - 1)) if place in chosen else one for place, one in enumerate(deliveries)]


def move_away(rng: Random, root: Path) -> list[Path]:
    """Move some files of each table, each to another folder of it, with their ETags; return where they are."""
    moved = []
    for path in sorted(root.glob("*/*/**/*")):
        if path.is_file() and "processed" not in path.parts and rng.random() < 0.4:
            table = root.joinpath(*path.relative_to(root).parts[:2])
            target = table / rng.choice(("processed", "processed/2026")) / path.relative_to(table)
            target.parent.mkdir(parents=True, exist_ok=True)
            moved.append(path.rename(target))
    return moved


def arrivals_of(rng: Random, files: Sequence[BronzeFile], runs: int, *, in_order: bool) -> list[int]:
    """Return before which run each file arrives: in order but for a few late ones; now and then in no order at all.

    Strictly in order where updates leave a column out: what such an update needs may be in a file that is still to come,
    and then it is quarantined, to be tried again by hand.
    """
    if not in_order and rng.random() < 0.15:
        return [rng.randrange(runs) for _ in files]
    cuts = sorted(rng.randint(0, len(files)) for _ in range(runs - 1))
    made = []
    for place in range(len(files)):
        run = sum(cut <= place for cut in cuts)
        late = not in_order and rng.random() < 0.15
        made.append(min(runs - 1, run + rng.randint(1, 2)) if late else run)
    return made
