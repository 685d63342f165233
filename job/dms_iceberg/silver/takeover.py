"""Tables that change hands: the operator's word is needed, and weighed where the table's own record allows it."""

from collections.abc import Mapping

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.owner import BRONZE_PROPERTY, PIPELINE_PROPERTY, Kind, bronze_of, owner_of_quarantine
from dms_iceberg.silver.quarantine_tables import quarantine_name, replays_name
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext

FORMER_LOAD_PROPERTY = "dms-iceberg.load-of-former-name"
"""Table property with the number of the load whose LOAD files have another name of the source table."""


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
    if conflict is None:
        return ()
    if not conflict.former or here.table.source not in here.context.request.take_over:
        raise TargetError(conflict.text)
    others = [(one, of) for one in quarantine_parts(here) if (of := one.conflict()) is not None]
    for one, of in others:
        # Rows that somebody else's table rejected would be merged into this one.
        if not of.former or _owner(one.raw_properties()) != _owner(target.raw_properties()):
            raise TargetError(of.text)
    _refuse_other_files(here)
    return (*(of.former for _, of in others), conflict.former)


def take_over(here: TableContext) -> None:
    """Record the document as owner of these tables, of the silver table last: whatever ends the process, a repetition goes on."""
    for one in quarantine_parts(here):
        if one.conflict() is not None:
            one.take_over()
    if here.target.conflict() is not None:
        is_renamed = here.target.raw_properties().get(Kind.TABLE.value, here.table.source) != here.table.source
        here.target.take_over({FORMER_LOAD_PROPERTY: str(here.target.progress().load)} if is_renamed else {})


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
    names = (replays_name(config, here.table), quarantine_name(config, here.table))
    found = [one for name in names if (one := TargetTable(here.context.spark, config.catalog.name, name, owner)).exists()]
    for one in found:
        one.refresh()
    return found


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
    if progress.epoch != here.context.config.bronze.epoch or progress.is_empty:
        return
    properties, bronze = here.target.raw_properties(), bronze_of(here.context.config)
    former = properties.get(Kind.TABLE.value, here.table.source)
    if properties.get(BRONZE_PROPERTY, bronze) != bronze:
        _refuse_unknown(here, progress, former)
    # Later changes alone show no rename: in another bronze they are those of another database as well.
    if former != here.table.source:
        _refuse_earlier(here, progress)


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
