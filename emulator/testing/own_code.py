"""The modules that the configuration of pytest allows scenarios to name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assignors.own_code import allow_plugins
from emulator.errors import EmulatorError


def allow(modules: Sequence[str]) -> None:
    """Import and allow modules of the user; raise ``pytest.UsageError`` if one cannot be imported."""
    try:
        allow_plugins(*modules)
    except EmulatorError as error:
        raise pytest.UsageError(f"rebalance_plugins: {error}") from None
