"""What cannot be read or used of a real cluster's logs; each message says where and why."""

from __future__ import annotations

from emulator.errors import EmulatorError


class AuditError(EmulatorError):
    """A log, a file of offsets or an option that cannot be used; says where, why, and what to do."""


class BrokerError(EmulatorError):
    """A cluster cannot be read; the message names the address that was tried."""


class SettingError(EmulatorError):
    """A line or an option that is not a setting of a client; the message says where."""


class OtherFolderError(EmulatorError):
    """The folder for an import contains something else; the message says what."""


class NoScenarioError(EmulatorError):
    """A group cannot be written as a scenario; the message says why, and what can be done."""
