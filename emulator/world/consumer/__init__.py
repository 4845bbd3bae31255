"""Consumers: processes with a client, a poll loop and a handler.

The clients of the consumer protocol, those that work in the background, pools of workers, code of
the user, records that fail, deduplication, assignors that take time and work that depends on the
run are imported with the first group that has them: most runs have classic Java consumers with
serial handlers alone and do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer import (
        assignor_run,
        async_client,
        background_client,
        conditions,
        deduplication,
        failures,
        own_handler,
        poison,
        pool,
        seen_set,
        stretches,
    )

__all__ = [
    "assignor_run",
    "async_client",
    "background_client",
    "conditions",
    "deduplication",
    "failures",
    "own_handler",
    "poison",
    "pool",
    "seen_set",
    "stretches",
]

__getattr__ = lazy_modules(__name__, __all__)
