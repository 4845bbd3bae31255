"""Faults and acts of a run, imported with the first scenario that has one.

Acts on committed offsets need an admin client and are imported with the first of them; so are
rolling restarts, seeks, and faults of offset stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.faults import acts, deploys, on_offsets, on_positions, on_stores

__all__ = ["acts", "deploys", "on_offsets", "on_positions", "on_stores"]

__getattr__ = lazy_modules(__name__, __all__)
