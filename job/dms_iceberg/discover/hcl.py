"""Print proposals as the input ``tables`` of the Terraform module, formatted as `terraform fmt` does it. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.comments import comments, end, head, of_entry, one_line
from dms_iceberg.discover.document import column_values
from dms_iceberg.discover.names import terraform_changes
from dms_iceberg.discover.proposal import Declared, Entry, LeftOut, Proposal, grouped, shown_names
from dms_iceberg.discover.targets import keeps_its_name, targets

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def hcl_text(value: str) -> str:
    """Return a text as HCL writes it: without templates, whatever is in it."""
    escaped = "".join(_ESCAPES.get(one, one if one.isprintable() else f"\\U{ord(one):08x}") for one in value)
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'


def for_terraform(proposals: Iterable[Proposal]) -> tuple[Proposal, ...]:
    """Return the proposals without those whose names Terraform would change."""
    return tuple(_unchanged(one) if isinstance(one, Entry) else one for one in proposals)


def print_hcl(catalog: Catalog, proposals: Sequence[Proposal], namespace: str | None) -> str:
    """Return the text.

    Args:
        namespace: Glue database of the targets. None: the module's, and a target only where its table needs another name; that is in
            the database ``silver``.
    """
    return print_tables([head(catalog, proposals)], proposals, namespace)


def print_tables(about: Iterable[str], proposals: Sequence[Proposal], namespace: str | None) -> str:
    """Return the text, with comments about the whole in front; see `print_hcl`."""
    entries = [one for one in proposals if isinstance(one, Entry)]
    named = targets((entry.table for entry in entries), namespace or "silver")
    lines = [*comments(about), "tables = {"]
    for number, entry in enumerate(entries):
        target = named[entry.table]
        wanted = target if namespace is not None or not keeps_its_name(entry.table, target) else ""
        lines += [""] * (number > 0) + [f"  {line}" if line else line for line in _entry(entry, wanted)]
    lines.append("}")
    return "\n".join([*lines, *end(proposals), ""])


def _entry(entry: Entry, target: str) -> Iterator[str]:
    yield from comments(of_entry(entry))
    yield f"{hcl_text(entry.table)} = {{"
    attributes = {"target": hcl_text(target) if target else "", "key": _list(entry.key)}
    attributes["key_confirmed"] = "" if entry.key_confirmed else "false"
    attributes["source_columns"] = _list(entry.source_columns) if entry.source_columns else ""
    # As `terraform fmt` aligns attributes of single lines that follow each other.
    width = max(len(name) for name, value in attributes.items() if value)
    yield from (f"  {name:{width}} = {value}" for name, value in attributes.items() if value)
    if entry.declared:
        yield "  columns = ["
        for column in entry.declared:
            yield from (f"    {line}" for line in comments([column.why]))
            yield f"    {_column(column)}"
        yield "  ]"
    if entry.suggested:
        yield "  # columns = ["
        for reason, same in groupby(entry.suggested, key=lambda column: column.why):
            yield from (f"  #   {line}" for line in comments([reason]))
            yield from (f"  #   {one_line(_column(column))}" for column in same)
        yield "  # ]"
    if entry.dropped:
        yield from (f"  {line}" for line in comments(grouped(entry.dropped)))
        yield f"  drop = {_list(name for name, _ in entry.dropped)}"
    if entry.as_text:
        yield from (f"  {line}" for line in comments(grouped(entry.as_text)))
        yield f"  load = {{ columns_as_text = {_list(name for name, _ in entry.as_text)} }}"
    yield "}"


def _column(column: Declared) -> str:
    return f"{{ {', '.join(f'{key} = {hcl_text(value)}' for key, value in column_values(column).items())} }},"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(hcl_text, texts))}]"


def _unchanged(entry: Entry) -> Proposal:
    columns = (column.source or column.name for column in entry.declared)
    names = [entry.table, *entry.key, *columns, *(name for name, _ in (*entry.dropped, *entry.as_text))]
    if changed := list(dict.fromkeys(name for name in names if terraform_changes(name))):
        reason = f"Terraform writes names in Unicode's form NFC, which these are not in: {shown_names(changed)}. Rename them at the source"
        return LeftOut(table=entry.table, reasons=(reason,))
    return entry
