"""``dms-iceberg emulate``: the command that runs an `Emulator`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import attrs
import typer

from dms_emulator.keys import DateDelimiter, DatePartition, DateSequence
from dms_emulator.layout import BeforeImages
from dms_emulator.settings import EmulatorSettings, Profile, Ugly
from dms_emulator.stop_request import StopRequest
from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.options import AsJson, ConfigPath, seconds
from dms_iceberg.cli.words import Words
from dms_iceberg.errors import ConfigError

if TYPE_CHECKING:
    from dms_emulator.emulator import CaptureReport
    from dms_iceberg.config.model import Config

_SOURCE: Final = "--source"
_TASK: Final = "Task"
_FILES: Final = "Files"
_UGLY: Final = "Awkward behaviour of DMS"


def checked_source(text: str) -> str:
    """Return the connection string if it has no password.

    Raises:
        typer.BadParameter: it has a password, or it is no address.
    """
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    from dms_emulator.open_source import is_mysql
    from dms_iceberg.source.address import parse_source

    if is_mysql(text):
        try:
            parse_source(text)
        except ConfigError as error:
            raise typer.BadParameter(error.problems[0].removeprefix("--source: "), param_hint=_SOURCE) from None
        return text
    try:
        parts = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        # Not libpq's own message: it can quote a part of the text.
        raise typer.BadParameter(
            "not a connection string; write postgresql://user@host:5432/database, or host=... dbname=...", param_hint=_SOURCE
        ) from None
    if parts.get("password"):
        raise typer.BadParameter(
            "holds a password, which every user of this machine can read in the process list."
            " Leave it out and set PGPASSWORD, or use ~/.pgpass or a service file (service=name)",
            param_hint=_SOURCE,
        )
    return text


def emulate(
    config: ConfigPath,
    source: Annotated[str, typer.Option(help="URL of PostgreSQL, MySQL or MariaDB, without password.", show_default=False)],
    full_load_only: Annotated[bool, typer.Option("--full-load-only", help="End after the full load.", rich_help_panel=_TASK)] = False,
    cdc_only: Annotated[bool, typer.Option("--cdc-only", help="Begin without a full load.", rich_help_panel=_TASK)] = False,
    reload: Annotated[bool, typer.Option("--reload", help="Begin again: new slot, new full load.", rich_help_panel=_TASK)] = False,
    until_lsn: Annotated[
        str | None, typer.Option(help="End once this log position (an LSN, or FILE:OFFSET) is in files.", rich_help_panel=_TASK)
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the task's state.", rich_help_panel=_TASK, show_default="emulator/PIPELINE beside the document"),
    ] = None,
    slot: Annotated[
        str | None,
        typer.Option(help="Name of slot and publication.", rich_help_panel=_TASK, show_default="dms_PIPELINE"),
    ] = None,
    profile: Annotated[
        Profile | None, typer.Option(help="Source engine that the files imitate.", rich_help_panel=_TASK, show_default="the source's own")
    ] = None,
    interval: Annotated[str, typer.Option(metavar="DURATION", help="CdcMaxBatchInterval.", rich_help_panel=_FILES)] = "60s",
    max_kb: Annotated[int, typer.Option(min=1, help="CdcMinFileSize.", rich_help_panel=_FILES)] = 32_000,
    rows_per_load_file: Annotated[int, typer.Option(min=1, help="Rows of a LOAD file.", rich_help_panel=_FILES)] = 500_000,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the files.", rich_help_panel=_FILES)] = False,
    partition: Annotated[bool, typer.Option(help="Date folders (DatePartitionEnabled).", rich_help_panel=_FILES)] = True,
    partition_sequence: Annotated[DateSequence, typer.Option(case_sensitive=False, rich_help_panel=_FILES)] = DateSequence.YYYYMMDDHH,
    partition_delimiter: Annotated[DateDelimiter, typer.Option(case_sensitive=False, rich_help_panel=_FILES)] = DateDelimiter.SLASH,
    partition_timezone: Annotated[
        str | None, typer.Option(help="DatePartitionTimezone: folders and names.", rich_help_panel=_FILES, show_default="UTC")
    ] = None,
    boolean_as_boolean: Annotated[bool, typer.Option(help="MapBooleanAsBoolean.", rich_help_panel=_FILES)] = True,
    time_as_string: Annotated[bool, typer.Option("--time-as-string", help="Map time to string.", rich_help_panel=_FILES)] = False,
    before_images: Annotated[
        BeforeImages, typer.Option(help="column-filter of add-before-image-columns.", rich_help_panel=_FILES)
    ] = BeforeImages.PK_ONLY,
    lob_max_kb: Annotated[int, typer.Option(min=1, help="LobMaxSize: longer values are cut.", rich_help_panel=_FILES)] = 1024,
    no_op_on_load: Annotated[bool, typer.Option("--no-op-on-load", help="LOAD files without Op.", rich_help_panel=_UGLY)] = False,
    reset_counter: Annotated[bool, typer.Option("--reset-counter", help="A resumed run counts from 61.", rich_help_panel=_UGLY)] = False,
    reemit_changes: Annotated[int, typer.Option(min=0, help="A resumed run repeats this many changes or more.", rich_help_panel=_UGLY)] = 0,
    late_every: Annotated[int, typer.Option(min=0, help="Every n-th file comes late (2 or more).", rich_help_panel=_UGLY)] = 0,
    late_by: Annotated[int, typer.Option(min=1, help="A late file comes after this many newer ones.", rich_help_panel=_UGLY)] = 1,
    overlap: Annotated[bool, typer.Option("--overlap", help="Changes during the load come twice.", rich_help_panel=_UGLY)] = False,
    empty_files: Annotated[bool, typer.Option("--empty-files", help="Files without rows.", rich_help_panel=_UGLY)] = False,
    control_tables: Annotated[bool, typer.Option("--control-tables", help="awsdms_* folders.", rich_help_panel=_UGLY)] = False,
    json_: AsJson = False,
) -> None:
    """Capture a real PostgreSQL, MySQL or MariaDB into the files that AWS DMS would write, to try things out without AWS.

    A new start continues where the last one ended. SIGTERM or Ctrl-C ends it once everything is written.
    """
    if full_load_only and cdc_only:
        raise typer.BadParameter("--full-load-only and --cdc-only exclude each other")
    # A task goes on for days, so it has its log on a terminal, too.
    with Words(quiet=True) as words:
        words.say(f"reading the document {config}")
        from dms_emulator.from_config import default_slot, default_state_dir, file_shape
        from dms_iceberg.config.load import load_config

        source = checked_source(source)
        loaded = load_config(config)
        folder = state_dir or default_state_dir(loaded)
        if folder is None:
            raise typer.BadParameter("the document is not on this machine: say with --state-dir where to keep the state")
        try:
            settings = EmulatorSettings(
                state_dir=folder,
                files=file_shape(loaded.bronze, gzip=gzip, op_on_full_load=not no_op_on_load, before_images=before_images),
                partition=DatePartition(partition_sequence, partition_delimiter, partition_timezone) if partition else None,
                interval=seconds(interval),
                max_kb=max_kb,
                rows_per_load_file=rows_per_load_file,
                profile=profile,
                lob_max_kb=lob_max_kb,
                boolean_as_boolean=boolean_as_boolean,
                time_as_string=time_as_string,
                slot=slot or default_slot(loaded),
                ugly=Ugly(
                    reset_counter=reset_counter,
                    reemit_changes=reemit_changes,
                    late_every=late_every,
                    late_by=late_by,
                    overlap=overlap,
                    empty_files=empty_files,
                    control_tables=control_tables,
                ),
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        task = _Task(source, loaded, settings, words)
        rows, report = task.run(full_load_only=full_load_only, cdc_only=cdc_only, reload=reload, until_lsn=until_lsn)
    _show(rows, report, as_json=json_)


@attrs.frozen
class _Task:
    """A task that the command runs, and says what it does."""

    source: str
    config: "Config"
    settings: EmulatorSettings
    words: Words

    def run(
        self, *, full_load_only: bool, cdc_only: bool, reload: bool, until_lsn: str | None
    ) -> "tuple[dict[str, int], CaptureReport | None]":
        """Load and capture; return the loaded rows by table, and what was captured."""
        self.words.say("connecting to the source")
        from dms_emulator.emulator import Emulator
        from dms_iceberg.storage.open_store import open_store

        tables, rows = list(self.config.tables), dict[str, int]()
        with StopRequest() as stop, Emulator(self.source, tables, open_store(self.config.bronze.uri), self.settings) as emulator:
            if cdc_only and emulator.needs_full_load:
                emulator.skip_full_load()
            elif not cdc_only and (reload or emulator.needs_full_load):
                self.words.say(f"loading {counted(len(tables), 'table')}")
                rows = emulator.full_load(reload=reload)
            if full_load_only:
                return rows, None
            self.words.say(f"capturing the changes of {counted(len(tables), 'table')}; Ctrl-C ends it")
            return rows, emulator.capture(stop, until_lsn)


def _show(rows: dict[str, int], report: "CaptureReport | None", *, as_json: bool) -> None:
    if as_json:
        capture = None if report is None else {"changes": report.changes, "files": report.files, "lsn": report.lsn}
        typer.echo(json.dumps({"loaded": rows, "captured": capture}))
        return
    for table, count in rows.items():
        typer.echo(f"{table}: {count} rows loaded")
    if report is not None:
        typer.echo(f"{report.changes} changes in {report.files} files, up to {report.lsn}")
