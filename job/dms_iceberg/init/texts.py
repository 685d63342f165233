"""What the texts of a column show beside a type: that DMS has cut them, and amounts of money as PostgreSQL prints them. Pure."""

import re
import unicodedata
from collections.abc import Sequence

_KB = 1024
_MOST_BYTES = 4
"""Of a character in UTF-8."""
# The first group is not empty or there is a symbol: plain numbers have forms of their own.
_MONEY = re.compile(r"-?(?P<symbol>\D?)[ \xa0]?-?[0-9]{1,3}(?P<groups>(?:,[0-9]{3})*)(?:[.](?P<scale>[0-9]{1,4}))?")


def cut_at(values: Sequence[str], *, hexadecimal: bool = False) -> int:
    """Return at how many KB the longest values of a column have probably been cut, 0 if nothing shows it.

    The limit, ``LobMaxSize``, is in KB. The emulated DMS cuts UTF-8 between two characters, so that up to three bytes below it stay free;
    characters are counted as well, as AWS does not say in what it counts.

    Args:
        hexadecimal: the values are bytes, two digits each.
    """
    if hexadecimal:
        return _limit([(len(value) // 2, 0) for value in values])
    long = [value for value in values if len(value) * _MOST_BYTES > _KB - _MOST_BYTES]
    # What is no character is a byte, which stays one.
    encoded = [(len(value.encode(errors="replace")), 0 if value.isascii() else _MOST_BYTES - 1) for value in long]
    return _limit(encoded) or _limit([(len(value), 0) for value in long])


def _limit(sizes: Sequence[tuple[int, int]]) -> int:
    """Return the KB that two values or more fill, but for the bytes that may be free in each, and none exceeds."""
    kilobytes = -(-max((size for size, _ in sizes), default=0) // _KB)
    full = sum(kilobytes * _KB - free <= size for size, free in sizes)
    return kilobytes if full > 1 else 0


def money_scale(values: Sequence[str]) -> int | None:
    """Return the decimals of texts that are all amounts such as ``-$1,234.00``; None if they are not."""
    found = [_MONEY.fullmatch(value) for value in values]
    scales = [len(one["scale"] or "") for one in found if one is not None and _is_money(one["symbol"], one["groups"])]
    return max(scales) if found and len(scales) == len(found) else None


def _is_money(symbol: str, groups: str) -> bool:
    return unicodedata.category(symbol) == "Sc" if symbol else bool(groups)


def money_expression(name: str) -> str:
    """Return the SQL of such a column's number as a text. Parentheses, which may mean a minus, and letters stay, and fail the cast."""
    return f"regexp_replace(`{name.replace('`', '``')}`, '[^0-9.()A-Za-z-]', '')"
