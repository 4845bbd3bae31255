"""Handlers that are code of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer.own_code import handler

__all__ = ["handler"]

__getattr__ = lazy_modules(__name__, __all__)
