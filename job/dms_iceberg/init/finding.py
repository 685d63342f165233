"""What was found out of a table's files, as frozen values."""

from collections.abc import Sequence

import attrs

from dms_iceberg.config.model import Bronze
from dms_iceberg.discover.proposal import Entry, LeftOut
from dms_iceberg.init.folders import TableFiles
from dms_iceberg.init.images import FoundImages
from dms_iceberg.init.keys import ProposedKey
from dms_iceberg.init.role import Roles, Samples


@attrs.frozen(kw_only=True)
class TableFinding:
    """A table whose files were read.

    Attributes:
        columns: the source's columns, in their order.
        problems: why the table has no entry; with any, it is left out.
        notes: what changed in its history, and what is doubtful.
    """

    files: TableFiles
    samples: Samples
    roles: Roles
    images: FoundImages
    columns: tuple[str, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_order(self) -> bool:
        """Whether its changes have a sequence or a commit time."""
        return self.roles.sequence.name is not None or self.roles.timestamp.name is not None


@attrs.frozen(kw_only=True)
class Unread:
    """A table whose files could not be read, and why."""

    files: TableFiles
    reason: str


@attrs.frozen(kw_only=True)
class Found:
    """Everything that `init` says.

    Attributes:
        bronze: the section of the document.
        tables: the tables, in the order of their names.
        proposals: for each of them its entry, or why there is none.
        keys: the key of each table that has an entry, and how sure it is.
        about: how the whole was found: the folder, what was sampled, how the form of CSV was found.
    """

    bronze: Bronze
    tables: Sequence[TableFinding | Unread]
    proposals: Sequence[Entry | LeftOut]
    keys: dict[str, ProposedKey]
    about: tuple[str, ...]

    @property
    def has_changes(self) -> bool:
        """Whether a table has a change file with rows: without any the order of changes is not known."""
        return any(isinstance(one, TableFinding) and bool(one.samples.changes) for one in self.tables)
