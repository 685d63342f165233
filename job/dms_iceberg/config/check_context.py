"""The context of a table's checks: the table, its key path, and what is known of its source columns."""

import attrs

from dms_iceberg.config.expressions import ExpressionError, expression_problems, referenced_columns
from dms_iceberg.config.image_names import affixes, imaged, mentioned_sources
from dms_iceberg.config.model import BronzeFormat, Config, Table
from dms_iceberg.config.problems import Problems, below, suggestion

RESERVED_PREFIX = "_cdc_"
SALT_PREFIX = "_cdc_salt_"
"""Prefix of columns that have the salts of masks while a batch is cleaned."""
SPARK_COLUMN = "_metadata"
"""The column in which Spark shows the file of a row: a column of the table with that name hides it."""
ICEBERG_COLUMNS = frozenset({"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"})
"""Names of Iceberg's own columns: a table with such a column cannot be read, merged or both."""
MERGE_COLUMNS = frozenset({"__row_from_source", "__row_from_target"})
"""Names that Spark 3.5 gives to its own columns while it plans a MERGE: a table with such a column cannot be merged into."""
TAKEN_COLUMNS = ICEBERG_COLUMNS | MERGE_COLUMNS
SERVICE_FIELDS = ("op_column", "timestamp_column", "sequence_column", "stream_position_column")
"""The keys of ``bronze.change`` that name a service column."""


@attrs.frozen
class Place:
    """One table under check. ``inherited`` are the keys that it has from ``defaults``; problems of these are recorded there."""

    config: Config
    table: Table
    path: str
    inherited: frozenset[str]
    problems: Problems

    def at(self, key: str) -> str:
        """Return the path of one of the table's keys."""
        return below("defaults" if key in self.inherited else self.path, key)

    def add(self, key: str, message: str) -> None:
        """Record a problem of one of the table's keys."""
        self.problems.add(self.at(key), message)

    def known_sources(self) -> frozenset[str] | None:
        """The source columns in folded case, None if only the files have them."""
        bronze = self.config.bronze
        exact = bronze.format is BronzeFormat.CSV and not bronze.csv.header and self.table.source_columns
        return frozenset(name.casefold() for name in self.table.source_columns) if exact else None

    def check_source_exists(self, path: str, name: str) -> None:
        """Record a column that ``source_columns`` does not have."""
        known = self.known_sources()
        if known is not None and name and name.casefold() not in known:
            self.problems.add(path, f"'{name}' is not in source_columns; {suggestion(name, self.table.source_columns)}")

    def check_reserved(self, path: str, name: str) -> None:
        """Record a column name that is reserved for the job or DMS."""
        change = self.config.bronze.change
        if name.casefold().startswith(RESERVED_PREFIX):
            self.problems.add(path, f"'{name}': names that begin with {RESERVED_PREFIX} are the job's own; choose another name")
        if name.casefold() == SPARK_COLUMN:
            self.problems.add(
                path, f"'{name}' is a name Spark needs to read files; let a DMS mapping rule rename or remove the column, or drop it"
            )
        for field in SERVICE_FIELDS:
            service = getattr(change, field)
            if service is not None and name.casefold() == service.casefold():
                self.problems.add(path, f"'{name}' is a service column (bronze.change.{field}); rename one of them")
        # Before-images match in any case. A column that only looks like one passes if the document does not mention its base column.
        base = imaged(change, name)
        if base is not None and base in mentioned_sources(self.table):
            self.problems.add(path, f"'{name}' looks like the before-image of '{base}' ({affixes(change)}); change one of them")

    def references(self, expr: str | None) -> frozenset[str] | None:
        """Return the columns of an expression, None if it cannot be parsed, which another check records."""
        try:
            return referenced_columns(expr) if expr else None
        except ExpressionError:
            return None

    def check_expression(self, kind: str, path: str, expr: str, *, silver: bool) -> None:
        """Record what is wrong with an SQL expression.

        Args:
            kind: what the expression is, for messages.
            path: its key path.
            expr: its text; an empty one is recorded as a problem.
            silver: whether it may use silver columns besides source columns.
        """
        if not expr.strip():
            self.problems.add(path, f"must not be empty; a {kind} is a Spark SQL expression")
            return
        for problem in expression_problems(expr):
            self.problems.add(path, problem)
        known = self.known_sources()
        used = self.references(expr)
        for name in sorted(used or ()):
            if name.casefold().startswith(SALT_PREFIX):
                self.problems.add(path, f"'{name}': the job has the salts of masks under such names, and nothing may read them")
        if known is None or used is None:
            return
        names = [*self.table.source_columns, *([c.name for c in self.table.columns] if silver else [])]
        allowed = {name.casefold() for name in names}
        for name in sorted(used):
            if name.casefold() not in allowed:
                self.problems.add(path, f"there is no column '{name}'; {suggestion(name, names)}")
