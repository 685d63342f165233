"""A local DMS: it reads a real PostgreSQL, MySQL or MariaDB, and writes the files that DMS would write, with its awkward behaviour.

``files`` is the pure part: it builds keys and bytes without a database.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dms_emulator.emulator import CaptureReport, Emulator
    from dms_emulator.errors import EmulatorError
    from dms_emulator.settings import EmulatorSettings, Profile, Ugly

__all__ = ["CaptureReport", "Emulator", "EmulatorError", "EmulatorSettings", "Profile", "Ugly"]
_PLACES = {"CaptureReport": "emulator", "Emulator": "emulator", "EmulatorError": "errors"}


def __getattr__(name: str) -> Any:
    # Databases and Arrow take seconds to import, and the command says something before that.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES.get(name, 'settings')}"), name)
