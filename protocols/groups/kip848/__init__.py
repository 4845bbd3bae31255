"""The consumer rebalance protocol (KIP-848) in the coordinator.

A module is imported when it is first used as an attribute of this package, as in
``kip848.validation``: most runs have classic groups only and start faster without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from protocols.groups.kip848 import (
        describe,
        group,
        heartbeat,
        invariants,
        replay,
        shard,
        validation,
    )

__all__ = ["describe", "group", "heartbeat", "invariants", "replay", "shard", "validation"]

__getattr__ = lazy_modules(__name__, __all__)
