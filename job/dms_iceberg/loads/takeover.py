"""Tables that change hands: the operator's word is needed, and weighed where the table's own record allows it."""

from collections.abc import Mapping
from datetime import UTC, datetime

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.context import BranchState
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.progress.pending import Pending, next_truncate, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.rejected_rows import open_rows_of
from dms_iceberg.quarantine.tables import quarantine_name, replays_name
from dms_iceberg.silver.load_branches import later_branches, rebuild_branches, reloads_in_place
from dms_iceberg.silver.owner import BRONZE_PROPERTY, PIPELINE_PROPERTY, Kind, bronze_of, owner_of_quarantine
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.quoting import string_literal

FORMER_LOAD_PROPERTY = "dms-iceberg.load-of-former-name"
"""Table property with the number of the load whose LOAD files have another name of the source table."""
_ALONG_PROPERTY = "dms-iceberg.taken-along-with"
"""Property of a table of the quarantine that was taken over: the UUID of its silver table, in Iceberg's metadata."""


def to_take_over(here: TableContext) -> tuple[str, ...]:
    """Refuse a silver table of another owner, unless the operator has declared a takeover.

    Args:
        here: the table; refreshed, if it exists.

    Returns:
        The tables that are to be taken over, those of the quarantine included, each with its former owner.

    Raises:
        TargetError: the table is another's and no takeover is declared, or the takeover contradicts what the tables record.
    """
    target = here.target
    conflict = target.conflict() if target.exists() else None
    is_told = here.table.source in here.context.request.take_over
    if conflict is not None and not (conflict.former and is_told):
        raise TargetError(conflict.text)
    if not (is_told and target.exists()):
        return ()
    others = [(one, of) for one in quarantine_parts(here) if (of := one.conflict()) is not None]
    for one, of in others:
        # Rows that somebody else's table rejected would be merged into this one.
        if not (of.former and _is_along(one, target)):
            raise TargetError(of.text)
    if conflict is None:
        # A takeover by another document that was not finished has taken them: they are this document's again.
        return tuple(of.former for _, of in others)
    _refuse_other_files(here)
    useless = useless_branches(here)
    again = f" (what was built of another load there, {', '.join(useless)}, is removed, and built again of this document's files)"
    return (*(of.former for _, of in others), conflict.former + (again if useless else ""))


def take_over(here: TableContext) -> None:
    """Record the document as owner of these tables, of the silver table last: whatever ends the process, a repetition goes on."""
    for one in quarantine_parts(here):
        if one.conflict() is not None:
            one.take_over({_ALONG_PROPERTY: here.target.uuid()})
        failpoint("within-take-over", one.name)
    if here.target.conflict() is not None:
        more = {FORMER_LOAD_PROPERTY: str(here.target.progress().load)} if _former(here) != here.table.source else {}
        here.target.take_over(more, useless_branches(here))


def useless_branches(here: TableContext) -> list[str]:
    """Return the branches that a takeover removes: nothing shows that the files they were built of are this document's.

    A load epoch is a folder of the same number in every bronze, and a load that is under way under one name does not go on under another.

    Args:
        here: the table, which exists and is to be taken over.
    """
    target = here.target
    is_renamed = _former(here) != here.table.source
    is_moved = target.raw_properties().get(BRONZE_PROPERTY, bronze := bronze_of(here.context.config)) != bronze
    if not (is_renamed or is_moved):
        return []
    return later_branches(target) + (rebuild_branches(target) if is_renamed else [])


def begun_again(here: TableContext, main: Progress, found: BranchState) -> BranchState:
    """Return the state of a load's branch as a takeover that comes first leaves it: before its first file, if the branch is useless."""
    if found.branch not in useless_branches(here):
        return found
    return BranchState(attrs.evolve(main, epoch=found.progress.epoch, reload=0, reloaded_at="").start, None, found.branch)


def refuse_second_load(here: TableContext, progress: Progress, pending: Pending) -> None:
    """Refuse a full load under a new name of the source table, of a load that began under the former one: it would lie below its changes.

    Args:
        here: the table; refreshed, if it exists.
        progress: of the branch that the files would be merged into.
        pending: what is listed for it.

    Raises:
        BronzeError: there is such a file, and it is not merged.
    """
    first = next((file for file in pending.files if not file.is_cdc), None)
    if first is None or not here.target.exists() or here.target.raw_properties().get(FORMER_LOAD_PROPERTY) != str(progress.load):
        return
    source = here.table.source
    raise BronzeError(
        f"{source}: {first.key} is a full load, and {here.target.name} has another one, from before the source table got its present "
        "name: the rows of both would be merged into one table, and those of the new load would lose against older changes. Say when DMS "
        f"began to load the table again: run with --table {source} --reload-started-at <time>, and with --load-complete {source} once DMS "
        "has loaded the table. Better, let DMS write a load to a folder of its own (load_epoch). Nothing was written."
    )


def quarantine_parts(here: TableContext) -> list[TargetTable]:
    """Return the tables of the quarantine that exist, as of now, whosever they are."""
    config, owner = here.context.config, owner_of_quarantine(here.context.config, here.table)
    names = (quarantine_name(config, here.table), replays_name(config, here.table))
    found = [one for name in names if (one := TargetTable(here.context.spark, config.catalog.name, name, owner)).exists()]
    for one in found:
        one.refresh()
    return found


def _former(here: TableContext) -> str:
    """Return the source table that the silver table was made from, as its properties tell."""
    return here.target.raw_properties().get(Kind.TABLE.value, here.table.source)


def _is_along(part: TargetTable, target: TargetTable) -> bool:
    """Whether a table of the quarantine is that of this silver table: by its owner, or by a takeover that has not come to the silver table.

    Args:
        part: the table of the quarantine.
        target: the silver table.
    """
    properties = part.raw_properties()
    return properties.get(_ALONG_PROPERTY) == target.uuid() or _owner(properties) == _owner(target.raw_properties())


def _owner(properties: Mapping[str, str]) -> tuple[str | None, ...]:
    name = next((properties[kind.value] for kind in (Kind.TABLE, Kind.QUARANTINE) if kind.value in properties), None)
    return name, properties.get(PIPELINE_PROPERTY), properties.get(BRONZE_PROPERTY)


def _refuse_other_files(here: TableContext) -> None:
    """Refuse to go on with files that are not those that the table was merged from: two tables would be merged into one.

    A new load epoch replaces the content; whose files it has, nothing tells.

    Raises:
        TargetError: they are such ones.
    """
    progress = here.target.progress()
    if progress.epoch != here.context.config.bronze.epoch:
        return
    bronze, former = bronze_of(here.context.config), _former(here)
    if here.target.raw_properties().get(BRONZE_PROPERTY, bronze) != bronze and not progress.is_empty:
        _refuse_unknown(here, progress, former)
    # Later changes alone show no rename: in another bronze they are those of another database as well.
    if former != here.table.source:
        if not progress.is_empty:
            _refuse_earlier(here, progress)
        _refuse_unmerged(here, progress, former)
        _refuse_rejected(here, progress, former)


def _refuse_earlier(here: TableContext, progress: Progress) -> None:
    """Refuse a source table that was there before: one that was only renamed has no load, and no change before the newest merged one.

    Raises:
        TargetError: it was there before.
    """
    listing = here.context.listing(here.table, Progress(epoch=progress.epoch))
    earlier = next((one for one in listing if isinstance(one, BronzeFile) and not (one.is_cdc and one.order > progress.frontier)), None)
    if earlier is not None:
        what = "from before the newest file that is merged" if earlier.is_cdc else "a full load"
        raise TargetError(
            f"{here.table.source}: --take-over, but {earlier.key} is {what}, so the source table is another one, or was loaded after it "
            f"was renamed: its rows would be merged into those of {here.target.name}. Let DMS write a load to a folder of its own "
            "(load_epoch), which replaces the content. For another source table choose another target. Nothing was written."
        )


def _refuse_unmerged(here: TableContext, progress: Progress, former: str) -> None:
    """Refuse to leave files under the former name behind, or a reload under it that is not done: nobody would merge them any more.

    Raises:
        TargetError: there are some.
    """
    what = "a reload in place is not done" if reloads_in_place(here.target) else _unmerged(here, progress, former)
    if not what:
        return
    raise TargetError(
        f"{here.table.source}: --take-over, but under the source table's former name {former} {what}: what {here.target.name} lacks of it "
        f"would be lost. Run the document with the former name first, until nothing is left, and take the table over then. If {former} is "
        "a new source table by now, its files cannot be told from those of the renamed one: let DMS write a load to a folder of its own "
        "(load_epoch), which replaces the content. Nothing was written."
    )


def _unmerged(here: TableContext, progress: Progress, former: str) -> str:
    """Say what is listed under a name and not merged; "" for nothing."""
    listing = here.context.listing(attrs.evolve(here.table, source=former), progress)
    pending = pending_files(listing, progress, former, datetime.now(UTC))
    files = [file.key for file in (*pending.files, *pending.incredible)]
    if files:
        return f"{len(files)} file{'s are' if len(files) > 1 else ' is'} not merged ({files[0]})"
    return "a truncate is not applied" if next_truncate(pending.truncates, progress) is not None else ""


def _refuse_rejected(here: TableContext, progress: Progress, former: str) -> None:
    """Refuse to leave open rejected rows under the former name behind: their files are not found under the new one.

    Raises:
        TargetError: there are some.
    """
    parts = {one.name: one for one in quarantine_parts(here)}
    rejected, replays = (parts.get(name(here.context.config, here.table)) for name in (quarantine_name, replays_name))
    rows = open_rows_of(rejected, replays, attrs.evolve(here.table, source=former), progress)
    count = rows.count() if rows is not None else 0
    if count and rejected is not None:
        raise TargetError(
            f"{here.table.source}: --take-over, but {count:,} rejected row{'s' if count > 1 else ''} of {here.target.name} "
            f"{'are' if count > 1 else 'is'} open under the source table's former name {former}, and would be seen no more under the new "
            "one. Merge them with the former name in the document (quarantine replay, or verify --repair). What cannot be merged either "
            "goes with a load in a folder of its own (load_epoch), which replaces the content; or, if nobody needs it, delete it: "
            f"DELETE FROM {rejected.sql_name} WHERE source_table = {string_literal(former)}. Nothing was written."
        )


def _refuse_unknown(here: TableContext, progress: Progress, former: str) -> None:
    """Refuse a bronze that has none of the files that were merged last, by their names: a copy of an object may have another ETag.

    Args:
        here: the table.
        progress: what is merged into it.
        former: the source table of the files that were merged, in whose folder they are looked for.

    Raises:
        TargetError: it has none.
    """
    times = {progress.frontier, *(time for time, _ in progress.recent)}
    found = here.context.listing(attrs.evolve(here.table, source=former), progress)
    listing = (one for one in found if isinstance(one, BronzeFile))
    if not any(one.order in times if one.is_cdc else progress.loads.has(one) for one in listing):
        raise TargetError(
            f"{here.table.source}: --take-over, but below {bronze_of(here.context.config)} is none of the files of {former} that "
            f"{here.target.name} was last merged from, so they are another database's, or were moved without the newest ones. Copy these "
            "as well; or let DMS write a load to a folder of its own (load_epoch), which replaces the content. For another database choose "
            "another target. Nothing was written."
        )
