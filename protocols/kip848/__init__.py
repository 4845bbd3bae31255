"""The consumer rebalance protocol (KIP-848): group side here, client side in ``client``.

Whoever serves groups of every type asks for this package and names the module it needs
(``kip848.door``), which is imported then: most runs have classic groups alone and do not wait.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocols.kip848 import describe, door, group, invariants, kind, on_shard, quiet, replay

__all__ = ["describe", "door", "group", "invariants", "kind", "on_shard", "quiet", "replay"]


def __getattr__(name: str) -> Any:
    """Import a module of this package when it is first asked for (PEP 562)."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
