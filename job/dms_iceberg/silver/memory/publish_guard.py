"""Guards what a silver table withholds from its readers: nothing of it is published unless the configuration says so (``publish``)."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence

from dms_iceberg.changes.mapping import SilverColumn, silver_columns
from dms_iceberg.config.model import Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.config.publish import FILTER_WORD, column_word, published_columns, publishes_filter
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.memory.withheld import LEFT_OUT, Withheld, other_salts, weaker_columns, written_columns

_ALIKE = 0.6


def refuse_published(table: Table, withheld: Withheld, names: Sequence[str] | None, checks: Mapping[str, str] | None = None) -> None:
    """Refuse a configuration by which silver would show what it has withheld.

    Args:
        table: the table's configuration.
        withheld: what the table withholds.
        names: source columns of the files; None without files: then only declared columns are checked.
        checks: digests of the contents of salts (`salts.check_of`), by their references; None when salts were not read.

    Raises:
        SchemaChangeError: something would be published, or hashed with another salt, and ``publish`` does not name it.
    """
    has_former = any(column.mask and column.renamed_from for column in table.columns)
    if not (withheld.masks or withheld.sources or withheld.filter or has_former):
        return
    columns = silver_columns(table, names or ())
    given = written_columns(columns, names) if names is not None else list(columns)
    allowed = {name.lower() for name in published_columns(table)}
    problems, published = list[str](), list[str]()
    found = {column: _weaker(table, column, before, names or ()) for column, before in weaker_columns(withheld, table, given)}
    for column in other_salts(withheld, given, checks) if checks is not None else ():
        found.setdefault(column, _other_salt(table, column, withheld))
    for column, problem in found.items():
        if not {column.name.lower(), (column.source or column.name).lower()} & allowed:
            problems.append(problem)
            published.append(column.name)
    words = [column_word(name) for name in published]
    if withheld.filter and not table.filter and not publishes_filter(table):
        problems.append(f"{table.target} was filtered, and the configuration has no filter now: rows that it left out would be published.")
        words.append(FILTER_WORD)
    if problems:
        raise SchemaChangeError(
            f"{' '.join(problems)} No row was written. Correct {table_path(table)}; or, if this is meant, say so there with "
            f'"publish": {json.dumps(words, ensure_ascii=False)}.'
        )


def _weaker(table: Table, column: SilverColumn, before: str, names: Sequence[str]) -> str:
    place = f"{table.target}.{column.name}"
    guess = _guess(table, column.source or column.name, names) if not _is_declared(table, column) else ""
    if before == LEFT_OUT:
        return f"{place}: the source column {column.source!r} was left out and would now be published.{guess}"
    if column.declared.mask is None:
        return f"{place} was masked and would now receive clear text.{guess} The mask was {before!r}."
    return f"{place} was masked with {before!r} and would now be masked with {column.declared.mask.value!r}, which shows more."


def _is_declared(table: Table, column: SilverColumn) -> bool:
    return column.name.lower() in {one.name.lower() for one in table.columns}


def _other_salt(table: Table, column: SilverColumn, withheld: Withheld) -> str:
    made = withheld.masks[column.name.lower()]
    salt = column.declared.mask_salt
    where = f"the content of {salt} has changed" if made.salt == salt else f"it was {made.salt} and is {salt}"
    return f"{table.target}.{column.name} was masked with another salt ({where}), so equal values would no longer have equal hashes."


def _guess(table: Table, name: str, names: Iterable[str]) -> str:
    """Suggest which word of the configuration may be a misspelt ``name``: one that is no column of the files; "" without one."""
    there = {one.lower() for one in names}
    words = {word.casefold(): (path, word) for path, word in _words(table) if word.lower() not in there}
    near = difflib.get_close_matches(name.casefold(), words, n=1, cutoff=_ALIKE)
    if not near:
        return ""
    path, word = words[near[0]]
    return f" Did you mean {name!r}? {path} says {word!r}, which the files do not have."


def _words(table: Table) -> Sequence[tuple[str, str]]:
    path = table_path(table)
    columns = [
        (f"{item(below(path, 'columns'), index)}.{'from' if column.source else 'name'}", column.source or column.name)
        for index, column in enumerate(table.columns)
    ]
    return [*columns, *((item(below(path, "drop"), index), name) for index, name in enumerate(table.drop))]
