"""What can be wrong with a cluster or a file that is read, said to people."""

from __future__ import annotations

from emulator.errors import EmulatorError
from emulator.logs.offsets_log.finding import WANTED, LogFileError

__all__ = ["WANTED", "BrokerError", "LogFileError", "SettingError"]


class SettingError(EmulatorError):
    """What should be a setting is none; the message says where."""


class BrokerError(EmulatorError):
    """A cluster cannot be read; the message names the address that was tried."""
