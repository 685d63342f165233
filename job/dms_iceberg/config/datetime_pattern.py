"""Datetime patterns of Spark SQL, as far as they can be used for parsing text.

Letters and their limits are those of Spark's "Datetime Patterns for Formatting and Parsing".
"""

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
    if "y" not in unquoted:
        return f"'{pattern}' has no year; write a pattern such as yyyy-MM-dd"
    has_month = bool(set("MLD") & set(unquoted))
    if "m" in unquoted and not has_month:
        return f"'{pattern}' has minutes (m) and no month (M); write MM for the month"
    if "d" in unquoted and not has_month:
        return f"'{pattern}' has a day (d) and no month (M); write MM for the month"
    if set("hK") & set(unquoted) and "a" not in unquoted:
        # Spark reads 12:30 as half past midnight then.
        return f"'{pattern}' has an hour of half a day (h) and no half (a); write HH for hours from 00 to 23"
    return None


def _unquoted(pattern: str) -> str:
    """Return the pattern without its literal text."""
    return "".join(pattern.split("'")[::2])


def zone_letters(pattern: str) -> str:
    """Return the letters of the pattern that read an offset or a zone."""
    return "".join(letter for letter in _unquoted(pattern) if letter in _ZONE)
