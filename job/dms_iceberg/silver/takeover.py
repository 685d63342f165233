"""Tables that change hands: the operator's word is needed, and weighed where the table's own record allows it."""

from collections.abc import Mapping

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import TargetError
from dms_iceberg.silver.owner import BRONZE_PROPERTY, PIPELINE_PROPERTY, Kind, bronze_of, owner_of_quarantine
from dms_iceberg.silver.quarantine_tables import quarantine_name, replays_name
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext


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
    for one in (*quarantine_parts(here), here.target):
        if one.conflict() is not None:
            one.take_over()


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
    """Refuse to go on with files of another folder of which the table has merged none: two databases would be merged into one table.

    Raises:
        TargetError: they are such ones.
    """
    context, table, target = here.context, here.table, here.target
    bronze = bronze_of(context.config)
    progress = target.progress()
    # A new load epoch replaces the content; whose files it has, nothing tells.
    is_moved = target.raw_properties().get(BRONZE_PROPERTY, bronze) != bronze and progress.epoch == context.config.bronze.epoch
    if not is_moved or progress.is_empty:
        return
    # By name: a copy of an object may have another ETag.
    times = {progress.frontier, *(time for time, _ in progress.recent)}
    listing = (one for one in context.listing(table, progress) if isinstance(one, BronzeFile))
    if not any(one.order in times if one.is_cdc else progress.loads.has(one) for one in listing):
        raise TargetError(
            f"{table.source}: --take-over, but below {bronze} is none of the files that {target.name} was last merged from, so they are "
            "another database's, or were moved without the newest ones. Copy these as well; or let DMS write a load to a folder of its own "
            "(load_epoch), which replaces the content. For another database choose another target. Nothing was written."
        )
