"""The poll loop of a consumer and its fetches, as arithmetic while nothing disturbs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer.polling import stretches

__all__ = ["stretches"]

__getattr__ = lazy_modules(__name__, __all__)
