"""The emulator in a process of its own, to be killed: `python -m support.capture_process DSN BRONZE STATE TABLE...`."""

import sys
import threading
from collections.abc import Sequence

from dms_emulator import Emulator, EmulatorSettings
from dms_iceberg.storage.open_store import open_store


def capture(dsn: str, bronze: str, state_dir: str, tables: Sequence[str]) -> None:
    """Write ``begun``, load the tables if that is due, and capture until the process is killed."""
    settings = EmulatorSettings(state_dir=state_dir, interval=0.01, max_kb=1)
    with Emulator(dsn, tables, open_store(bronze), settings) as emulator:
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        if emulator.needs_full_load:
            emulator.full_load()
        emulator.capture(threading.Event())


if __name__ == "__main__":
    capture(*sys.argv[1:4], sys.argv[4:])
