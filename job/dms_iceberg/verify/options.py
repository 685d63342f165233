"""Options of a comparison and its repair."""

import time
from collections.abc import Callable

import attrs


@attrs.frozen(kw_only=True)
class Options:
    """Options of a comparison.

    Attributes:
        tries: how often differing keys are checked again.
        settle: seconds to wait before each of these checks.
        chunk_rows: maximum number of source rows in memory at once; ``chunk_characters`` is their maximum size.
        small_rows: a table of at most this many rows is compared by one task; ``small_characters`` is its maximum size.
        repair: whether to write change files for the differences that remain.
        insert_missing: whether a repair inserts rows that silver lacks; ``max_repair`` is the share of a table's rows that it may write.
        dry_run: say what a repair would write, and write nothing.
        without: columns, in lower case, that are left out of the comparison.
        accept_source: identity (`Facts.token`) of the source that is the right one, though an earlier comparison was with another.
        say: told what a repair writes before it is written.
    """

    tries: int = 5
    settle: float = 30.0
    chunk_rows: int = 100_000
    chunk_characters: int = 64 << 20
    small_rows: int = 5_000
    small_characters: int = 4 << 20
    repair: bool = False
    insert_missing: bool = False
    max_repair: float = 0.01
    dry_run: bool = False
    without: frozenset[str] = frozenset()
    accept_source: str = ""
    say: Callable[[str], None] = lambda _: None
    wait: Callable[[float], None] = time.sleep
