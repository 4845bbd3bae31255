"""Consumers: processes with a client, a poll loop and a handler.

The client of the consumer protocol is imported with the first group that uses it: most runs have
classic groups alone and do not wait.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.world.consumer import async_client

__all__ = ["async_client"]


def __getattr__(name: str) -> Any:
    """Import a module of this package when it is first asked for (PEP 562)."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
