"""Datetime patterns of Spark SQL, as far as they can be used for parsing text.

Letters and their limits are those of Spark's "Datetime Patterns for Formatting and Parsing".
"""

import re

_READABLE = frozenset("GyMLdDahKkHmsSVzOxXZ")
_ZONE = frozenset("VzOxXZ")
_INSTEAD = {
    "Y": "yyyy for the year",
    "w": "dd and MM",
    "W": "dd and MM",
    "u": "yyyy for the year",
    "E": "nothing: names of days cannot be read",
    "F": "nothing: it can be written only",
    "q": "nothing: it can be written only",
    "Q": "nothing: it can be written only",
}


def pattern_problem(pattern: str) -> str | None:
    """Return why Spark cannot parse text with this pattern, None if it can."""
    if not pattern.strip():
        return "must not be empty; write a pattern such as yyyy-MM-dd"
    if pattern.count("'") % 2:
        return "has a quote without its partner"
    unquoted = _unquoted(pattern)
    for letter in unquoted:
        if letter.isascii() and letter.isalpha() and letter not in _READABLE:
            hint = f"; write {_INSTEAD[letter]}" if letter in _INSTEAD else "; put literal text between single quotes"
            return f"'{letter}' in '{pattern}' is no pattern letter Spark can read{hint}"
        if letter in "#{}":
            return f"'{letter}' in '{pattern}' is reserved; put literal text between single quotes"
    return _missing_part(pattern, set(unquoted))


def _missing_part(pattern: str, letters: set[str]) -> str | None:
    """Return which part of a time a pattern lacks: Spark would take the first, or another half of the day."""
    if "y" not in letters:
        return f"'{pattern}' has no year; write a pattern such as yyyy-MM-dd"
    has_month = bool(set("MLD") & letters)
    if "m" in letters and not has_month:
        return f"'{pattern}' has minutes (m) and no month (M); write MM for the month"
    if "d" in letters and not has_month:
        return f"'{pattern}' has a day (d) and no month (M); write MM for the month"
    if set("HkhK") & letters and not set("dD") & letters:
        return f"'{pattern}' has an hour and no day (d); write dd for the day of the month"
    if set("hK") & letters and "a" not in letters:
        # Spark reads 12:30 as half past midnight then.
        return f"'{pattern}' has an hour of half a day (h) and no half (a); write HH for hours from 00 to 23"
    return None


def _unquoted(pattern: str) -> str:
    """Return the pattern without its literal text."""
    return "".join(pattern.split("'")[::2])


def exact_pattern(pattern: str) -> str:
    """Return a pattern that reads the same texts, but none with a digit other than 0 after the microseconds, which Spark would drop.

    Spark reads from one digit to as many as there are letters ``S``. An optional literal reads each further digit.
    """
    parts = pattern.split("'")
    parts[::2] = [re.sub("S{7,}", lambda run: "S" * 6 + "[0" * (len(run[0]) - 6) + "]" * (len(run[0]) - 6), part) for part in parts[::2]]
    return "'".join(parts)


def zone_names(pattern: str) -> str | None:
    """Return a regular expression that texts of the pattern must contain a match of; None where it reads no names of zones (``z``).

    Only names of UTC mean one zone: Java takes CST for that of Chicago, not of Shanghai. A text without letters has no name: the pattern's
    zone may be optional.
    """
    return r"(?i)(?<![a-z])(?:UTC|GMT|UT|Z)(?![a-z])|^[^a-z]*$" if "z" in _unquoted(pattern) else None


def zone_letters(pattern: str) -> str:
    """Return the letters of the pattern that read an offset or a zone."""
    return "".join(letter for letter in _unquoted(pattern) if letter in _ZONE)
