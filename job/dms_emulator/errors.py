"""The emulator's error."""

from dms_iceberg.errors import DmsIcebergError


class EmulatorError(DmsIcebergError):
    """The emulator cannot continue: the source, its log or the task's own state is not as it must be."""
