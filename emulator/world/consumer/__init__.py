"""Consumers: processes with a client, a poll loop and a handler.

The client of the consumer protocol is imported with the first group that uses it: most runs have
classic groups alone and do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer import async_client

__all__ = ["async_client"]

__getattr__ = lazy_modules(__name__, __all__)
