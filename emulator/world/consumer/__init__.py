"""Consumers: processes with a client, a poll loop and a handler.

The clients of the consumer protocol, and those that work in the background, are imported with the
first group that uses them: most runs have classic Java consumers alone and do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer import async_client, background_client

__all__ = ["async_client", "background_client"]

__getattr__ = lazy_modules(__name__, __all__)
