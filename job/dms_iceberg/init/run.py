"""Looks at the files below a folder and returns what `init` says of them: a section ``bronze``, and an entry or reasons for each table."""

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

import attrs

from dms_iceberg.bronze.nearest_folders import may_be_source, neighbour, some
from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry, LeftOut, Proposal, grouped
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.agree import bronze_of, disagreements, lone_times, main_format
from dms_iceberg.init.beside import only_in_older, passed_over, refuse_other_tasks, refuse_transactions
from dms_iceberg.init.columns import by_catalog, by_values
from dms_iceberg.init.csv_form import CsvForm, find_form, has_header, records
from dms_iceberg.init.csv_null import find_null
from dms_iceberg.init.finding import Found, TableFinding, Unread
from dms_iceberg.init.folders import MOST_TOP_FOLDERS, Root, TableFiles, find_root
from dms_iceberg.init.keys import ProposedKey, against_key, is_there, propose_key
from dms_iceberg.init.listed import ListedStore
from dms_iceberg.init.progress import Progress, Silent
from dms_iceberg.init.role import Sure
from dms_iceberg.init.samples import Sample, read_sample
from dms_iceberg.init.table_folders import Place, find_tables, places_of_tables
from dms_iceberg.init.tables import catalog_table, entry_of, find_table
from dms_iceberg.storage.open_store import explained_errors, open_store
from dms_iceberg.storage.store import ObjectStore, join

_THREADS = 16
_NO_CHANGES = (
    "WARNING: there are no change files yet, so timestamp_column and sequence_column in bronze.change are not certain. They must be "
    "checked once there are changes, and before the first run: a load has one order of changes, and keeps it"
)


def examine(uri: str, catalog: Catalog | None, wanted: Callable[[Sequence[str]], Sequence[str]], progress: Progress | None = None) -> Found:
    """Return what is known of the files below ``uri``.

    Args:
        uri: ``s3://bucket/prefix``, ``file:///path`` or a path: the folder above the schemas, or one near it.
        catalog: the source's catalog, None without a source.
        wanted: chooses tables by the names of their folders; no file of others is looked at.

    Raises:
        BronzeError: there are no files that DMS names, or no object can be listed.
        ConfigError: what ``wanted`` raises.
    """
    with explained_errors(uri):
        return _examine(uri, catalog, wanted, progress or Silent())


def _examine(uri: str, catalog: Catalog | None, wanted: Callable[[Sequence[str]], Sequence[str]], progress: Progress) -> Found:
    progress.say(f"looking for the folders of tables in {uri}")
    store, root = _rooted(uri)
    places = places_of_tables(store)
    names = set(wanted([".".join(place) for place in places])) if places else set()
    others = [place for place in places if ".".join(place) not in names]
    chosen = find_tables(store, [place for place in places if ".".join(place) in names], others, progress)
    if not chosen:
        raise BronzeError(_no_tables(store, places, names))
    if not any(one.changes for one in chosen):
        refuse_transactions(open_store(uri))
    progress.say(f"reading the beginning of {sum(len(one.load) + len(one.changes) for one in chosen):,} files")
    read = dict[str, list[Sample] | str]()
    with ThreadPoolExecutor(_THREADS) as pool:
        for number, (files, found) in enumerate(zip(chosen, pool.map(lambda files: _read(store, files), chosen), strict=True), 1):
            progress.now(f"{number:,} of {len(chosen):,} tables: {files.full_name}")
            read[files.full_name] = found
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
    about = [*root.notes, *only_in_older(store), _what_was_sampled(chosen), *_empty(places, names, chosen), *passed_over(store)]
    about += store.warnings(but=["/".join(place) + "/" for place in places])
    if format_ == "csv":
        about.append(f"CSV: delimiter {form.delimiter!r}; the text for NULL is {form.null!r}: {why_null}" if form.null else _empty_null())
        about += about_null
    understood = [one for one in findings if not one.problems] or chosen
    if not any(one.samples.changes if isinstance(one, TableFinding) else one.changes for one in understood):
        about.append(_NO_CHANGES)
    with_files = {one.full_name for one in chosen} | {".".join(place) for place in others}
    return Found(bronze=bronze, tables=tables, proposals=proposals, keys=keys, about=(*about, *_without_files(catalog, with_files)))


def _no_tables(store: ObjectStore, places: Sequence[Place], chosen: Collection[str]) -> str:
    if len(chosen) < len(places):
        return f"{store.root}: the folders that --table chooses have no files of DMS: {some(sorted(chosen))}. Choose others"
    return (
        f"{store.root}: there are files of DMS, and no folder <schema>/<table>/ has them. Folders that begin with _, . or awsdms_ are "
        "no tables. Name the folder that those of the schemas are in"
    )


def _empty(places: Sequence[Place], chosen: AbstractSet[str], found: Sequence[TableFiles]) -> Iterator[str]:
    """Yield which folders have no files of DMS, if they were chosen."""
    empty = sorted(chosen - {one.full_name for one in found})
    if empty and len(chosen) < len(places):
        yield f"chosen, and without files of DMS in their folders: {some(empty)}"


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


def _rooted(uri: str) -> tuple[ListedStore, Root]:
    store = ListedStore(open_store(uri))
    root = find_root(store)
    if root is None:
        refuse_transactions(store)
        raise BronzeError(
            f"{store.root}: no file with a name that DMS gives (LOAD00000001.csv, 20260301-100130000.parquet) was found "
            f"there{neighbour(store) or '.'}{_first_object(store)} Name the bucket folder of the DMS endpoint: the folder with those of "
            f"the schemas. If the task has just begun, wait for its first file{_not_looked_into(store)}"
        )
    refuse_other_tasks(store, root.path)
    if not root.path and not root.above:
        return store, root
    place = store.root
    for _ in range(root.above):
        place = posixpath.dirname(place)
    if root.above and place.count("/") < 2:
        raise BronzeError(f"{store.root}: the files need two folders, <schema>/<table>/, below the one that is named. Name the one above")
    place = place if root.above else join(store.root, root.path).rstrip("/")
    # A local path is opened as it is: in a URI its percent signs would mean something.
    below = ListedStore(open_store(place.removeprefix("file://")))
    return below, attrs.evolve(root, notes=(*root.notes, *store.warnings()))


def _first_object(store: ObjectStore) -> str:
    """Return what is there instead of files of DMS, as a sentence with a leading blank; "" without any object."""
    first = next((one.key for one in store.list("")), None)
    return "" if first is None else f" The first object there is {first}: if another program wrote it, such files cannot be merged."


def _not_looked_into(store: ListedStore) -> str:
    """Return how much of a folder without files of DMS is not known, as a clause to append; "" if all is."""
    more = sum(map(may_be_source, store.folders("").names)) - MOST_TOP_FOLDERS
    unknown = [*([f"{more:,} more folders in it were not looked into"] if more > 0 else []), *store.warnings()]
    return "".join(f". {one}" for one in unknown)


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
    undecided = [column for column in finding.columns if column not in finding.roles.added_names]
    needs = by_values(undecided, finding.samples, finding.images.contradicted)
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
        reason = (
            f"its key in the catalog is {', '.join(entry.key)} ({entry.key_from}), but {against}: these are not files of that table, or a "
            "mapping rule renames or removes the column (then run init without --source)"
        )
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


def _without_files(catalog: Catalog | None, found: Collection[str]) -> Iterator[str]:
    names = {name.casefold() for name in found}
    missing = [table.full_name for table in (() if catalog is None else catalog.tables) if table.full_name.casefold() not in names]
    if missing:
        yield f"tables of the source without files, as of empty or excluded ones: {some(missing)}"
