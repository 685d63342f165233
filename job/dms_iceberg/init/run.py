"""Looks at the files below a folder and returns what `init` says of them: a section ``bronze``, and an entry or reasons for each table."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import attrs

from dms_iceberg.bronze.nearest_folders import neighbour, some
from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry, LeftOut, Proposal, grouped
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.agree import bronze_of, disagreements, lone_times, main_format
from dms_iceberg.init.beside import only_in_older, passed_over, refuse_other_tasks
from dms_iceberg.init.columns import by_catalog, by_values
from dms_iceberg.init.csv_form import CsvForm, find_form, has_header, records
from dms_iceberg.init.csv_null import find_null
from dms_iceberg.init.finding import Found, TableFinding, Unread
from dms_iceberg.init.folders import PAGE, Root, TableFiles, find_root, find_tables
from dms_iceberg.init.keys import ProposedKey, against_key, is_there, propose_key
from dms_iceberg.init.role import Sure
from dms_iceberg.init.samples import Sample, read_sample
from dms_iceberg.init.tables import catalog_table, entry_of, find_table
from dms_iceberg.storage.open_store import explained_errors, open_store
from dms_iceberg.storage.store import ObjectStore, join

_THREADS = 16
_NO_CHANGES = (
    "WARNING: there are no change files yet, so timestamp_column and sequence_column in bronze.change are not certain. They must be "
    "checked once there are changes, and before the first run: a load has one order of changes, and keeps it"
)


def examine(uri: str, catalog: Catalog | None, wanted: Callable[[Sequence[str]], Sequence[str]]) -> Found:
    """Return what is known of the files below ``uri``.

    Args:
        uri: ``s3://bucket/prefix``, ``file:///path`` or a path: the folder above the schemas, or one near it.
        catalog: the source's catalog, None without a source.
        wanted: chooses tables by their names.

    Raises:
        BronzeError: there are no files that DMS names, or no object can be listed.
        ConfigError: what ``wanted`` raises.
    """
    with explained_errors(uri):
        return _examine(uri, catalog, wanted)


def _examine(uri: str, catalog: Catalog | None, wanted: Callable[[Sequence[str]], Sequence[str]]) -> Found:
    store, root = _rooted(uri)
    every = find_tables(store)
    if not every:
        raise BronzeError(
            f"{store.root}: there are files of DMS, and no folder <schema>/<table>/ has them. Folders that begin with _, . or awsdms_ are "
            "no tables. Name the folder that those of the schemas are in"
        )
    names = set(wanted([files.full_name for files in every]))
    chosen = [files for files in every if files.full_name in names]
    with ThreadPoolExecutor(_THREADS) as pool:
        read = dict(pool.map(lambda files: (files.full_name, _read(store, files)), chosen))
    sampled = [found for found in read.values() if not isinstance(found, str)]
    form, why_null, about_null = _form(sampled)
    tables = [_table(files, read[files.full_name], form, catalog) for files in chosen]
    if times := lone_times([one for one in tables if isinstance(one, TableFinding)]):
        tables = [_table(files, read[files.full_name], form, catalog, times) for files in chosen]
    findings = [one for one in tables if isinstance(one, TableFinding)]
    _refuse_segments(store, root, findings)
    format_ = main_format(file.extension for files in chosen for file in (*files.load, *files.changes))
    bronze = bronze_of(store.root.removeprefix("file://"), findings, form, format_)
    keys = dict[str, ProposedKey]()
    proposals = [_proposed(one, bronze, catalog, keys) for one in tables]
    about = [*root.notes, *only_in_older(store), _what_was_sampled(chosen), *passed_over(store)]
    if format_ == "csv":
        about.append(f"CSV: delimiter {form.delimiter!r}; the text for NULL is {form.null!r}: {why_null}" if form.null else _empty_null())
        about += about_null
    understood = [one for one in findings if not one.problems] or chosen
    if not any(one.samples.changes if isinstance(one, TableFinding) else one.changes for one in understood):
        about.append(_NO_CHANGES)
    return Found(bronze=bronze, tables=tables, proposals=proposals, keys=keys, about=(*about, *_without_files(catalog, every)))


def _refuse_segments(store: ObjectStore, root: Root, tables: Sequence[TableFinding]) -> None:
    """Refuse LOAD files of one table, in folders of its segments, that look like tables: without a change file nothing shows the depth.

    Whoever names the folder above the schemas says it.
    """
    if not root.path or any(one.files.changes for one in tables):
        return
    for schema in dict.fromkeys(one.files.schema for one in tables):
        of = [one for one in tables if one.files.schema == schema]
        columns = {sample.names for one in of for sample in one.samples.load}
        if len(of) > 1 and len(columns) == 1:
            shown = ", ".join(one.files.name for one in of[:3])
            raise BronzeError(
                f"{store.root}/{schema}/: the folders in it ({shown}) have the same columns, and LOAD files only: they may be segments of "
                f"one table, {schema}, or tables. If they are tables, name the folder {store.root}/; if it is one table, run init again "
                "when it has a change file"
            )


def _empty_null() -> str:
    return (
        "CSV: NULL is an empty field, so empty texts are NULL as well. If the endpoint has a CsvNullValue that no sampled row shows, write "
        "it into bronze.csv.null"
    )


def _rooted(uri: str) -> tuple[ObjectStore, Root]:
    store = open_store(uri)
    root = find_root(store)
    if root is None:
        if any("CDC_TXN-" in one.key for one in islice(store.list(""), PAGE)):
            raise BronzeError(
                f"{store.root}: files CDC_TXN-* have the changes of all tables in one folder (PreserveTransactions), which cannot be read. "
                "Let the endpoint write without it (CdcPath and PreserveTransactions unset), and load again into another folder"
            )
        raise BronzeError(
            f"{store.root}: no file with a name that DMS gives (LOAD00000001.csv, 20260301-100130000.parquet) was found "
            f"there{neighbour(store) or '.'} Name the bucket folder of the DMS endpoint: the folder with those of the schemas. If the task "
            "has just begun, wait for its first file"
        )
    refuse_other_tasks(store, root.path)
    place = store.root
    for _ in range(root.above):
        place = posixpath.dirname(place)
    if root.above and place.count("/") < 2:
        raise BronzeError(f"{store.root}: the files need two folders, <schema>/<table>/, below the one that is named. Name the one above")
    place = place if root.above else join(store.root, root.path).rstrip("/")
    # A local path is opened as it is: in a URI its percent signs would mean something.
    return open_store(place.removeprefix("file://")), root


def _read(store: ObjectStore, files: TableFiles) -> list[Sample] | str:
    """Return a sample of each file, or why one of them cannot be read."""
    if "." in files.schema:
        return (
            f"its folder {files.schema}/{files.name}/ has a dot in the name of the schema, and a document's schema.table ends the schema "
            "at the first dot. Rename the schema by a mapping rule, and load the table again"
        )
    try:
        return [read_sample(store, file) for file in (*files.load, *files.changes)]
    except BronzeError as error:
        return str(error)


def _form(tables: Sequence[Sequence[Sample]]) -> tuple[CsvForm, str, tuple[str, ...]]:
    form = find_form(tables)
    data = []
    for table in tables:
        found = []
        every = [records(sample, form) for sample in table]
        for sample, rows in zip(table, every, strict=True):
            begins = has_header(rows, every, sample)
            found.append((sample, rows[1:] if (form.header if begins is None else begins) else rows))
        data.append([(sample, rows) for sample, rows in found if rows])
    null, why, doubts = find_null(data)
    return attrs.evolve(form, null=null), why, doubts


def _table(
    files: TableFiles, found: list[Sample] | str, form: CsvForm, catalog: Catalog | None, not_added: Collection[str] = ()
) -> TableFinding | Unread:
    return Unread(files=files, reason=found) if isinstance(found, str) else find_table(files, found, form, catalog, not_added)


def _proposed(table: TableFinding | Unread, bronze: Bronze, catalog: Catalog | None, keys: dict[str, ProposedKey]) -> Proposal:
    """Return the entry of a table, or why it has none; its key goes to ``keys``."""
    if isinstance(table, Unread):
        return LeftOut(table=table.files.full_name, reasons=(table.reason,))
    problems = table.problems or tuple(disagreements(table, bronze))
    if problems:
        return LeftOut(table=table.files.full_name, reasons=problems)
    proposal = _proposal(table, keys) if catalog is None else _by_catalog(table, catalog, keys)
    if isinstance(proposal, Entry) and bronze.format is BronzeFormat.CSV and not bronze.csv.header:
        return attrs.evolve(proposal, source_columns=table.columns)
    return proposal


def _proposal(finding: TableFinding, keys: dict[str, ProposedKey]) -> Proposal:
    name = finding.files.full_name
    key = propose_key(finding.files.name, finding.samples, finding.roles, finding.images, finding.columns)
    if not key.columns:
        reason = f"no key can be proposed: {key.why}. Give --source with the URL of the database, or write the entry with the key by hand"
        return LeftOut(table=name, reasons=(reason,))
    needs = by_values(finding.columns, finding.samples, finding.images.contradicted)
    if unreadable := [column for column, _ in needs.dropped if column in key.columns]:
        return LeftOut(table=name, reasons=(f"its key column {unreadable[0]} is a TIME of Parquet, which Spark cannot read",))
    keys[name] = key
    return Entry(
        table=name,
        key=key.columns,
        key_from=f"PROPOSED from samples ({key.sure}): {key.why}. Compare it with the table's primary key, then take key_confirmed out",
        key_confirmed=False,
        declared=needs.declared,
        suggested=needs.suggested,
        dropped=needs.dropped,
        notes=(*finding.notes, *grouped(needs.notes)),
    )


def _by_catalog(finding: TableFinding, catalog: Catalog, keys: dict[str, ProposedKey]) -> Proposal:
    name = finding.files.full_name
    table = catalog_table(catalog, name)
    if table is None:
        reason = "the source has no table of this name, or the user may not see it. If a mapping rule renames it, run init without --source"
        return LeftOut(table=name, reasons=(reason,))
    entry = entry_of(catalog, table)
    if not isinstance(entry, Entry):
        return LeftOut(table=name, reasons=entry)
    against = against_key(entry.key, finding.samples, finding.roles)
    notes = list(finding.notes)
    if against and not is_there(entry.key, finding.samples):
        reason = f"its key in the catalog is {', '.join(entry.key)} ({entry.key_from}), but {against}: these are not files of that table"
        return LeftOut(table=name, reasons=(reason,))
    if against:
        notes.append(f"the key is that of the catalog, but {against}: compare whether these are files of that table")
    needs = by_catalog(entry, table, finding.columns, finding.samples)
    keys[name] = ProposedKey(columns=entry.key, sure=Sure.CERTAIN, why=f"{entry.key_from}, from the source's catalog")
    return attrs.evolve(
        entry,
        table=name,
        declared=needs.declared,
        dropped=needs.dropped,
        as_text=(),
        notes=(*notes, *entry.notes, *grouped(needs.notes)),
    )


def _what_was_sampled(tables: Sequence[TableFiles]) -> str:
    files = sum(len(one.load) + len(one.changes) for one in tables)
    listed = sum(one.listed for one in tables)
    partly = [one for one in tables if not one.complete]
    text = f"{len(tables)} table{'s' * (len(tables) != 1)}; looked at the beginning of {files:,} files"
    if not partly:
        return f"{text}, of {listed:,} objects"
    return (
        f"{text}. Of {len(partly)} tables with very many objects only {listed:,} were listed: the first, the newest, and some between them"
    )


def _without_files(catalog: Catalog | None, found: Sequence[TableFiles]) -> Iterator[str]:
    names = {one.full_name.casefold() for one in found}
    missing = [table.full_name for table in (() if catalog is None else catalog.tables) if table.full_name.casefold() not in names]
    if missing:
        yield f"tables of the source without files, as of empty or excluded ones: {some(missing)}"
