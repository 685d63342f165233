"""Choose tables by patterns of their names."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from dms_iceberg.config.problems import nearest
from dms_iceberg.discover.catalog import Kind, Table
from dms_iceberg.errors import ConfigError


def chosen(tables: Sequence[Table], schemas: Sequence[str], names: Sequence[str]) -> tuple[Table, ...]:
    """Return the tables whose schema fits one of ``schemas`` and whose ``schema.table`` fits one of ``names``; none given: any fits.

    In a pattern, ``*`` is any text, ``?`` any character and ``[ab]`` one of these; case counts. A name fits itself. Partitions are chosen
    only if ``names`` does it, because the table that they belong to speaks for them otherwise.

    Raises:
        ConfigError: a pattern fits no table, or no table fits both.
    """
    in_schemas = {pattern: [table for table in tables if _fits(table.schema, pattern)] for pattern in schemas}
    in_names = {pattern: [table for table in tables if _fits(table.full_name, pattern)] for pattern in names}
    problems = [
        f"--{option} {pattern!r}: the source has no such {option}, or the user may not see it{_hint(pattern, words)}"
        for option, found, words in (
            ("schema", in_schemas, {table.schema for table in tables}),
            ("table", in_names, {table.full_name for table in tables}),
        )
        for pattern in found
        if not found[pattern]
    ]
    if problems:
        raise ConfigError(problems, "usage")
    kept = [
        table
        for table in tables
        if (not schemas or any(_fits(table.schema, pattern) for pattern in schemas))
        and (any(_fits(table.full_name, pattern) for pattern in names) if names else table.kind is not Kind.PARTITION)
    ]
    if tables and not kept:
        raise ConfigError(["--schema, --table: no table fits both; partitions are chosen by --table only"], "usage")
    return tuple(kept)


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _hint(pattern: str, words: set[str]) -> str:
    near = nearest(pattern, words)
    return f"; did you mean {near!r}?" if near is not None else ""
