"""Finds the folders in a listing that has objects and folders, with a bounded number of pages. Pure."""

from collections.abc import Callable

import attrs

MOST_PAGES = 100
"""Requests for the folders of one place: a hundred thousand entries."""
_PATIENCE = 10
_LAST_ASCII = "~"
_AFTER_SLASH = chr(ord("/") + 1)


@attrs.frozen
class Folders:
    """The names of the folders directly in a place, sorted.

    Attributes:
        unseen: ranges of names, as texts for a person, that were not looked through: there are too many objects.
    """

    names: tuple[str, ...]
    unseen: tuple[str, ...] = ()


@attrs.frozen
class FolderPage:
    """Some entries of a listing, in their order.

    Attributes:
        names: the folders among them, without their slashes.
        last: the last entry; a folder with its slash.
        ends: there are no more.
    """

    names: tuple[str, ...]
    last: str
    ends: bool


def find_folders(page: Callable[[str], FolderPage]) -> Folders:
    """Return the folders of a place.

    A listing cannot leave objects out. Where page after page has objects only, what begins with the same character as the last of them is
    passed over: objects of one writer begin alike, as change files with the year, and a folder after a million of them is still found.

    Args:
        page: returns the entries that sort after a name.
    """
    found, unseen, start, last, bare = list[str](), list[str](), "", "", 0
    for _ in range(MOST_PAGES):
        one = page(start)
        found += one.names
        if one.ends:
            return Folders(tuple(sorted(found)), tuple(unseen))
        last = one.last
        # Keys in a folder sort after its name with the slash, and would show it again.
        start = last[:-1] + _AFTER_SLASH if last.endswith("/") else last
        bare = 0 if one.names else bare + 1
        if bare >= _PATIENCE and start < _LAST_ASCII:
            following = chr(ord(start[0]) + 1)
            unseen.append(f"between {last} and {following}")
            start = following
    return Folders(tuple(sorted(found)), (*unseen, f"after {last}"))
