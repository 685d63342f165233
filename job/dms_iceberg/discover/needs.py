"""What a column's type requires in the configuration, and why. Pure: `needs_postgres` and `needs_mysql` know the types."""

import attrs


@attrs.frozen(kw_only=True)
class Need:
    """What a column needs.

    Attributes:
        type: the type to declare; "" where the files show the right one.
        why: reason of the declaration, or of ``as_text``.
        as_text: DMS must write the column as text, or Spark cannot read its files.
        notes: what becomes of the values, where a reader may expect something else.
        is_lob: DMS cuts or refuses values over its limit.
        unfit_key: why two keys may become one, or none; "" where they cannot.
    """

    type: str = ""
    why: str = ""
    as_text: bool = False
    notes: tuple[str, ...] = ()
    is_lob: bool = False
    unfit_key: str = ""


AS_TEXT = "text in silver"
WALL_CLOCK = "a wall clock without a time zone, which DMS writes as if it were UTC"
