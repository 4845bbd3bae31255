"""Errors in the logs of a real cluster; each message names the place and the reason."""

from __future__ import annotations

from emulator.errors import EmulatorError


class AuditError(EmulatorError):
    """A log, an offsets file or an option cannot be used; the message says why and what to do."""


class UnknownFormatError(AuditError):
    """The name of a log file does not show its format; a format that the user gives is the remedy."""


class BrokerError(EmulatorError):
    """A cluster cannot be read; the message names the address that was tried."""


class SettingError(EmulatorError):
    """A line or an option is not a client setting; the message says where."""


class OtherFolderError(EmulatorError):
    """The folder for an import contains something else; the message says what."""


class NoScenarioError(EmulatorError):
    """A group cannot be written as a scenario; the message says why and what to do."""
