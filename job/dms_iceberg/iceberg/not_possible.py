"""Why a table is not written without Spark."""


class NotPossibleError(Exception):
    """The rows cannot be looked up, or written, as Iceberg's own writer would; the message says why, in a few words."""
