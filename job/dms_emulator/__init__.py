"""A local DMS: a real PostgreSQL in, the files DMS would write out, with its habits and its ugly sides.

``files`` is the pure part: it makes keys and bytes without a database.
"""

from dms_emulator.emulator import CaptureReport, Emulator
from dms_emulator.replication import EmulatorError
from dms_emulator.settings import EmulatorSettings, Profile, Ugly

__all__ = ["CaptureReport", "Emulator", "EmulatorError", "EmulatorSettings", "Profile", "Ugly"]
