"""Classifies a table's columns from samples of its files, and finds contradictions."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from dms_iceberg.discover.catalog import Catalog, Table
from dms_iceberg.discover.proposal import Entry, shown, shown_names
from dms_iceberg.discover.propose import propose
from dms_iceberg.dms.types import INTEGER_KINDS, LOB_KINDS
from dms_iceberg.init import headerless
from dms_iceberg.init.csv_form import CsvForm, Records, has_header, named, records
from dms_iceberg.init.finding import TableFinding
from dms_iceberg.init.folders import TableFiles
from dms_iceberg.init.history import history_notes, order_problem, several_formats
from dms_iceberg.init.images import find_images
from dms_iceberg.init.operation import no_operation
from dms_iceberg.init.role import Role, Samples, Sure
from dms_iceberg.init.roles import find_roles
from dms_iceberg.init.samples import Sample, all_names

_LONE = "stands where DMS writes the commit time, and most other tables have no such column: taken for one of the source"
_ADDED = "once more, as a mapping rule with {rule} adds it. It is a column of silver, unless drop leaves it out, and of no key"
_NO_NAMES = (
    "its files have no header, so they do not say what their columns are called. Give --source with the URL of the database (such as "
    "postgresql://user@host/db), write the entry by hand with the names in source_columns, or let DMS write headers (AddColumnName) or "
    "Parquet and load the table again"
)


def catalog_table(catalog: Catalog | None, name: str) -> Table | None:
    """Return the table of a catalog with the name of a folder; in another case only if one alone has it."""
    tables = () if catalog is None else catalog.tables
    exact = [table for table in tables if table.full_name == name]
    alike = [table for table in tables if table.full_name.casefold() == name.casefold()]
    return exact[0] if exact else alike[0] if len(alike) == 1 else None


def entry_of(catalog: Catalog, table: Table) -> Entry | tuple[str, ...]:
    """Return what `discover` proposes for a table, or its reasons for nothing."""
    (proposal,) = propose(catalog, [table])
    return proposal if isinstance(proposal, Entry) else proposal.reasons


def find_table(
    files: TableFiles, samples: Sequence[Sample], form: CsvForm, catalog: Catalog | None, not_added: Collection[str] = ()
) -> TableFinding:
    """Return what a table's files are.

    Args:
        samples: a sample of each file.
        form: the form of CSV files.
        catalog: the source's catalog, if there is a source.
        not_added: columns that look like the commit time, and are the source's own as other tables have none.
    """
    problems = [problem for problem in [several_formats(files)] if problem]
    notes = list(files.notes)
    if not problems and any(sample.text for sample in samples):
        found = _csv_columns(files, samples, form, catalog)
        if isinstance(found, str):
            problems.append(found)
        else:
            samples = found
    elif not problems:
        problems += [twins for one in samples if (twins := _twins(one, one.names))][:1]
    with_rows = [one for one in samples if one.names and (one.rows or not one.text)]
    load = tuple(one for one in with_rows if not one.file.is_cdc and one.rows)
    sorted_out = Samples(load=load, changes=tuple(one for one in with_rows if one.file.is_cdc and one.rows))
    table = catalog_table(catalog, files.full_name)
    own = {*not_added, *(column.name for column in (() if table is None else table.columns))}
    roles = find_roles(sorted_out, own)
    images = find_images(sorted_out, roles, own, complete=_are_all(files, samples))
    columns = tuple(name for name in all_names(sorted_out.both) if name not in roles.names | images.names)
    if not problems:
        problems += _problems(sorted_out, roles.op.name, own)
        problems += [problem for problem in [order_problem(sorted_out, roles)] if problem]
        notes += [*history_notes(sorted_out, roles, images), *roles.doubts]
        notes += _to_decide(roles.timestamp)
        notes += [f"{one.name} has {one.what} of every change {_ADDED.format(rule=one.rule)}" for one in roles.added]
        notes += [f"{name} {_LONE}" for name in not_added if name in columns]
        notes += [*([images.why] if images.contradicted else []), *images.doubts]
        notes += [] if sorted_out.changes else ["there are no change files with rows yet: what only changes show is not known"]
    return TableFinding(
        files=files, samples=sorted_out, roles=roles, images=images, columns=columns, problems=tuple(problems), notes=tuple(notes)
    )


def _to_decide(time: Role) -> Iterator[str]:
    if time.name is not None and time.sure is Sure.LIKELY:
        yield (
            f"to decide: {shown(time.name)} is taken for the commit time that DMS adds, so silver does not have it. If it is one "
            "of the source, set bronze.change.timestamp_column to null before the first run"
        )


def _are_all(files: TableFiles, samples: Sequence[Sample]) -> bool:
    """Whether every row of the table is in the samples, from its load on."""
    return bool(files.load) and files.complete and files.listed == len(samples) and all(sample.whole for sample in samples)


def _problems(samples: Samples, op: str | None, own: Collection[str]) -> Iterator[str]:
    if not samples.both:
        yield "none of the sampled files has a row. Run init again when there are rows"
    elif samples.changes and op is None:
        none = no_operation(samples, own)
        yield f"{none.found}, so a delete cannot be told from an insert. {none.advice}"


def _csv_columns(files: TableFiles, samples: Sequence[Sample], form: CsvForm, catalog: Catalog | None) -> list[Sample] | str:
    """Return the samples with names and rows, or why they have none."""
    parsed = [(sample, records(sample, form)) for sample in samples]
    every = [rows for _, rows in parsed]
    if unread := next((sample for sample, rows in parsed if not rows and sample.text.strip()), None):
        return f"{unread.file.key}: no record of it can be read with the delimiter {form.delimiter!r}. Restore the file"
    answers = [(sample, has_header(rows, every, sample)) for sample, rows in parsed if rows]
    yes = [sample for sample, answer in answers if answer]
    no = [sample for sample, answer in answers if answer is False]
    if yes and no:
        return (
            f"{yes[0].file.key} begins with a header and {no[0].file.key} does not, and bronze.csv.header is one setting for all files. "
            "Load the table again into a new load epoch (bucket folder epoch-N) with one setting of AddColumnName"
        )
    header = form.header if not (yes or no) else bool(yes)
    if header is None:
        return "nothing shows whether the first line of its files is a header. Run init again when there is a change file"
    if header is not form.header:
        shown = "a header" if header else "no header"
        return f"its files have {shown}, unlike those of most tables. Give it a document of its own: init --table with its name"
    if header:
        if odd := next((sample for sample, rows in parsed if rows and _is_not_text(rows[0])), None):
            return f"{odd.file.key}: a name in its header is not UTF-8. Whatever rewrote it has changed its encoding. Restore the file"
        for sample, rows in parsed:
            if twins := _twins(sample, rows[0] if rows else ()):
                return twins
        return [named(sample, rows[1:], rows[0] if rows else (), form.null) for sample, rows in parsed]
    return _headerless(files, parsed, form, catalog)


def _twins(sample: Sample, names: Sequence[str]) -> str:
    """Return that names of a file differ in case only, or not at all; "" if none do."""
    folded = Counter(map(str.lower, names))
    twins = [name for name in names if folded[name.lower()] > 1]
    if not twins:
        return ""
    return (
        f"{sample.file.key}: it has the columns {shown_names(twins)}, which Spark takes for one. Rename one of them by a mapping rule, and "
        "load the table again into a new load epoch"
    )


def _is_not_text(names: Sequence[str]) -> bool:
    # Bytes that are not UTF-8 are lone surrogates.
    return any("\ud800" <= character <= "\udfff" for name in names for character in name)


def _headerless(files: TableFiles, parsed: Sequence[tuple[Sample, Records]], form: CsvForm, catalog: Catalog | None) -> list[Sample] | str:
    table = catalog_table(catalog, files.full_name)
    if catalog is None or table is None:
        return _NO_NAMES if catalog is None else "its files have no header, and the source has no table of this name"
    entry = entry_of(catalog, table)
    if not isinstance(entry, Entry):
        return "; ".join(entry)
    columns = tuple(column.name for column in table.columns)
    no_lobs = tuple(
        column.name for column in table.columns if column.dms is None or column.dms.kind not in LOB_KINDS or column.name in entry.key
    )
    integers = frozenset(column.name for column in table.columns if column.dms is not None and column.dms.kind in INTEGER_KINDS)
    known = headerless.Table(columns=columns, key=entry.key, imaged=no_lobs, integers=integers)
    names = headerless.name_columns(parsed, known, form.null)
    return names if isinstance(names, str) else [named(sample, rows, names[sample.file.key], form.null) for sample, rows in parsed]
