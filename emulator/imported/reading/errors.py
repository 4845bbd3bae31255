"""What can be wrong with a cluster that is read, said to people."""

from __future__ import annotations


class SettingError(Exception):
    """What should be a setting is none; the message says where."""


class BrokerError(Exception):
    """A cluster cannot be read; the message names the address that was tried."""
