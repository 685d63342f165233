"""A local DMS: it reads a real PostgreSQL, MySQL or MariaDB, and writes the files that DMS would write, with its awkward behaviour.

``files`` is the pure part: it builds keys and bytes without a database.
"""

from dms_emulator.emulator import CaptureReport, Emulator
from dms_emulator.errors import EmulatorError
from dms_emulator.settings import EmulatorSettings, Profile, Ugly

__all__ = ["CaptureReport", "Emulator", "EmulatorError", "EmulatorSettings", "Profile", "Ugly"]
