"""Every error this package raises on purpose.

The message of each says what failed, where, what was found, what is allowed and what to do. No message holds row data
or secrets: a message goes to logs, to state files and to a terminal.
"""


class DmsIcebergError(Exception):
    """Root of all errors raised on purpose."""


class ConfigError(DmsIcebergError):
    """The configuration document is wrong. Lists every problem found, each with its key path.

    Attributes:
        problems: one line per problem, such as ``tables."public.orders".kye: unknown key; did you mean 'key'?``.
        source: the name of the document, for the message.
    """

    def __init__(self, problems: list[str], source: str = "configuration") -> None:
        self.problems = problems
        self.source = source
        count = len(problems)
        head = f"{source}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(f"  - {problem}" for problem in problems)]))


class BronzeError(DmsIcebergError):
    """A bronze object is missing, damaged or not what the configuration says it is."""


class SchemaChangeError(DmsIcebergError):
    """A source schema change that the table's policy does not allow."""


class RuleFailedError(DmsIcebergError):
    """A rule with ``on_fail = fail`` was broken by at least one row."""


class TargetError(DmsIcebergError):
    """The Iceberg table is not in a state this package can write to."""
