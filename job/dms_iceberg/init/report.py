"""What `init` tells a person: what it found per table, how sure it is and why, what holds with this task, and the next command. Pure."""

import shlex
from collections.abc import Iterator, Sequence

import attrs

from dms_iceberg.config.model import Bronze
from dms_iceberg.config.orders import order_of, weaker_order
from dms_iceberg.discover.comments import one_line
from dms_iceberg.discover.proposal import Entry, LeftOut, shown, shown_names
from dms_iceberg.init.finding import Found, TableFinding, Unread
from dms_iceberg.init.role import Role

_NOT_KNOWN = (
    "order: not known yet, as there are no change files. {shown}. A load has one order of changes and keeps it: run init again when there "
    "are change files, before the first run; or set timestamp_column and sequence_column by hand, as the endpoint and its mapping rules do"
)
_NO_IMAGES = "no before-images: an update that changes a key leaves the old row. Add the mapping rule add-before-image-columns (pk-only)"


@attrs.frozen
class Written:
    """Where the document is.

    Attributes:
        name: its file, or how one would be called.
        again: the command that writes this file; "" if it is written.
        is_terraform: it is for Terraform, and no command reads it.
    """

    name: str
    again: str = ""
    is_terraform: bool = False


def report(found: Found, written: Written = Written("shop.yaml"), problems: Sequence[str] = ()) -> str:
    """Return the text.

    Args:
        written: where the document is.
        problems: what `validate` says of the document.
    """
    return "\n".join(map(one_line, [*_lines(found), *_next(found, written, problems)])) + "\n"


def _lines(found: Found) -> Iterator[str]:
    yield f"{found.bronze.uri}: format {found.bronze.format.value}"
    yield from found.about
    for table, proposal in zip(found.tables, found.proposals, strict=True):
        yield ""
        if isinstance(table, Unread):
            yield f"{table.files.full_name}: LEFT OUT"
        else:
            yield f"{table.files.full_name}: {'LEFT OUT' if isinstance(proposal, LeftOut) else f'key {shown_names(proposal.key)}'}"
            yield from (f"  {line}" for line in _table(table))
        if isinstance(proposal, LeftOut):
            yield from (f"  {reason}" for reason in proposal.reasons)
        else:
            key = found.keys[proposal.table]
            yield f"  key {shown_names(key.columns)} ({key.sure}): {key.why}"
            yield from (f"  {note}" if note.startswith("to decide: ") else f"  note: {note}" for note in proposal.notes)
            yield from (f"  {shown(one.source or one.name)}: {one.type}: {one.why}" for one in proposal.declared)
            yield from (f"  to decide: {shown(one.name)}: {one.type}? {one.why}" for one in proposal.suggested)
            yield from (f"  left out of silver: {shown(name)}: {why}" for name, why in proposal.dropped)
    if found.keys:
        yield ""
        yield from promises(found.bronze, changes=found.has_changes)


def _table(table: TableFinding) -> Iterator[str]:
    files = table.files
    part = "" if files.complete else f", of more than {files.listed:,} objects"
    yield f"files looked at: {len(files.load)} LOAD, {len(files.changes)} of changes{part}"
    if not table.samples.both:
        return
    roles = table.roles
    words = "/".join(roles.words)
    yield _role("operation", roles.op, f" ({words})" if words else "")
    yield _role("commit time", roles.timestamp)
    yield _role("sequence", roles.sequence)
    yield _role("stream position", roles.stream)
    images = table.images
    if images.affix is None:
        yield f"before-images: none ({images.sure}): {images.why}"
    else:
        name = f"{images.affix.prefix}...{images.affix.suffix}"
        yield f"before-images: {name} of {shown_names(images.columns)} ({images.sure}): {images.why}"


def _role(what: str, role: Role, more: str = "") -> str:
    return f"{what}: {'none' if role.name is None else shown(role.name)}{more} ({role.sure}): {role.why}"


def promises(bronze: Bronze, *, changes: bool = True) -> list[str]:
    """Return which promises hold with a task that writes such files; without ``changes`` only its load is known."""
    change = bronze.change
    if not changes:
        time = change.timestamp_column
        written = f"The LOAD files have a commit time, {shown(time)}" if time else "The LOAD files have no commit time"
        return [_NOT_KNOWN.format(shown=f"{written}; a sequence, before-images and stream position only changes show")]
    order = f"order: {weaker_order(change) or f'changes are ordered {order_of(change)}. All promises hold'}"
    no_images = change.before_image_prefix is None and change.before_image_suffix is None
    return [order, *([_NO_IMAGES] if no_images else [])]


def _next(found: Found, written: Written, problems: Sequence[str]) -> Iterator[str]:
    entries = [one for one in found.proposals if isinstance(one, Entry)]
    if not entries:
        yield "no table can be merged as it is: see the reasons above"
        return
    yield from (f"validate refuses the document: {problem}" for problem in problems)
    name = shlex.quote(written.name)
    if written.again:
        yield f"next: {written.again}"
    if proposed := [one.table for one in entries if not one.key_confirmed]:
        yield (
            f"next: compare the key of {shown_names(proposed)} with the primary key at the source, and take key_confirmed out of {name}. "
            "Nothing runs before that"
        )
    if written.is_terraform:
        yield "then: give them to the Terraform module, and see terraform plan"
        return
    yield f"then: dms-iceberg plan {name}"
    yield f"      dms-iceberg run {name}"
