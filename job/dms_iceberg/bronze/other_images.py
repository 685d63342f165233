"""Before-images of other columns than the document's key, in CSV files without a header. Pure.

With the column-filter ``pk-only`` DMS writes the images of the source's primary key. Where the document has another key of as many columns,
each update would seem to have moved its row away from a key that it never had, and a row that has this key would be deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import attrs

from dms_iceberg.bronze.csv_shapes import Record, Role
from dms_iceberg.bronze.rival_readings import Reading
from dms_iceberg.bronze.rival_rows import Rows


@attrs.frozen
class Alike:
    """How many images equal another column of their row and not the key column, the key column and not the other, or neither."""

    other: int = 0
    key: int = 0
    neither: int = 0

    def __add__(self, more: "Alike") -> "Alike":
        return Alike(self.other + more.other, self.key + more.key, self.neither + more.neither)

    @property
    def shows_other(self) -> bool:
        """Whether the images are those of the other column, as far as the rows tell: most updates leave their key as it was."""
        return self.other > self.key + self.neither


Likeness = Mapping[tuple[int, int], Alike]
"""By the places, in ``source_columns``, of a key column and of another column."""


def likeness(named: Reading, records: Sequence[Record], rows: Rows) -> Likeness:
    """Return which columns the images in a file are like, where the document takes them for images of its key alone.

    Args:
        named: the columns of the document.
        records: the first rows of the file.
        rows: the same, with what the document says of its source columns.
    """
    images = {slot.of[0]: place for place, slot in enumerate(named) if slot.role is Role.IMAGE}
    sources = {slot.of[0]: place for place, slot in enumerate(named) if slot.role is Role.SOURCE}
    if not rows.is_cdc or set(images) != set(rows.keys):
        return {}
    found: dict[tuple[int, int], Alike] = {}
    for record in records:
        operation = rows.operation(named, record)
        for (key, image), other in product(images.items(), sources.keys() - images.keys()):
            if not rows.is_blank(record[image]) and operation in ("U", "D"):
                one = _compared(rows, record[image], (key, record[sources[key]]), (other, record[sources[other]]))
            elif operation == "U":
                # Images of another column than the key would be there in every update.
                one = Alike(neither=1)
            else:
                continue
            found[key, other] = found.get((key, other), Alike()) + one
    return found


def _compared(rows: Rows, image: str, key: tuple[int, str], other: tuple[int, str]) -> Alike:
    is_key, is_other = rows.are_same(*key, image), rows.are_same(*other, image)
    return Alike(is_other and not is_key, is_key and not is_other, not is_key and not is_other)


def of_other_columns(found: Iterable[Likeness]) -> Iterator[tuple[int, int, int]]:
    """Yield the places of a key column and of the column whose images stand in its place, and how many rows show it.

    Args:
        found: of all files of a batch: an update may give another column the earlier value of the key, and other rows show it.
    """
    together: dict[tuple[int, int], Alike] = {}
    for one in found:
        for pair, alike in one.items():
            together[pair] = together.get(pair, Alike()) + alike
    for (key, other), alike in sorted(together.items()):
        if alike.shows_other:
            yield key, other, alike.other
