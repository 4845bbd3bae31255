"""What processes records: one after the other or in a pool, with failures and deduplication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer.handling import (
        conditions,
        deduplication,
        failures,
        poison,
        pool,
        seen_set,
    )

__all__ = ["conditions", "deduplication", "failures", "poison", "pool", "seen_set"]

__getattr__ = lazy_modules(__name__, __all__)
