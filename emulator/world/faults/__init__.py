"""Faults and acts of a run, imported with the first scenario that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.faults import acts

__all__ = ["acts"]

__getattr__ = lazy_modules(__name__, __all__)
