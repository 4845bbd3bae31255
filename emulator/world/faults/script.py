"""What a fault or an act does over time: a process of SimPy's."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

Script = Generator[simpy.Event, Any, None]


def wait(env: simpy.Environment, length_us: int | None) -> Script:
    """Let *length_us* pass; none, and nothing happens."""
    if length_us:
        yield env.timeout(length_us)
