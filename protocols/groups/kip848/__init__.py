"""The consumer rebalance protocol (KIP-848): group side here, client side in ``client``.

Whoever serves groups of every type asks for this package and names the module it needs
(``kip848.validation``), which is imported then: most runs have classic groups alone and do not wait.
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
