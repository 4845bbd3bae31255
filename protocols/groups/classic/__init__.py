"""The classic group protocol in the coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

The invariants are imported when they are first checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from protocols.groups.classic import invariants

__all__ = ["invariants"]

__getattr__ = lazy_modules(__name__, __all__)
