"""What makes a load fail, whoever loads."""

from __future__ import annotations


class BrokenLogError(ValueError):
    """A record that no coordinator can have written where it stands: a load fails at it."""
