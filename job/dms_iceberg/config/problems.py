"""Collect problems under key paths such as ``tables."public.orders".columns[2].type``."""

import difflib
import re
from collections.abc import Iterable, Sequence

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Problems:
    """An ordered list of ``path: message`` lines, without duplicates."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, path: str, message: str) -> None:
        """Record one problem. An empty path means the document as a whole."""
        line = f"{path}: {message}" if path else message
        if line not in self.lines:
            self.lines.append(line)

    def at(self, path: str) -> bool:
        """Whether there is a problem at exactly this path, so that its value is only a substitute."""
        return any(line.startswith(f"{path}: ") for line in self.lines)


def below(path: str, key: str) -> str:
    """Return the path of ``key`` in the mapping at ``path``; keys that are not plain words are quoted."""
    shown = key if _PLAIN_KEY.fullmatch(key) else '"' + key.replace('"', '\\"') + '"'
    return f"{path}.{shown}" if path else shown


def item(path: str, index: int) -> str:
    """Return the path of element ``index`` (from 0) of the list at ``path``."""
    return f"{path}[{index}]"


def listed(words: Iterable[str]) -> str:
    """Return words as ``a, b, c``."""
    return ", ".join(words)


def quoted(names: Iterable[str]) -> str:
    """Return names as ``'a', 'b', 'c'``."""
    return listed(map(repr, names))


def first_of(names: Sequence[str], most: int, count: int | None = None) -> str:
    """Return at most so many of some names, and how many more there are; ``count`` of all, if ``names`` are not all."""
    more = (len(names) if count is None else count) - min(len(names), most)
    return listed(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def suggestion(found: str, allowed: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for a similar word, otherwise the allowed words."""
    words = list(allowed)
    near = nearest(found, words)
    return f"did you mean '{near}'?" if near is not None else f"allowed: {listed(words)}"


def nearest(found: str, words: Iterable[str]) -> str | None:
    """Return the word that ``found`` is most similar to, None if no word is similar."""
    by_folded = {word.casefold(): word for word in words}
    near = difflib.get_close_matches(found.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def shown(value: object) -> str:
    """Describe a document value by its kind, with the value itself if it is a short scalar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text '{value}'" if len(value) <= 60 else f"a text of {len(value)} characters"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
