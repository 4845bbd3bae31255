"""What makes a load fail."""

from __future__ import annotations

from protocols.broken_log import BrokenLogError

__all__ = ["BrokenLogError"]
