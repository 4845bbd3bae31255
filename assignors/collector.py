"""Making a million tuples without the garbage collector looking at each of them again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic collector while a large assignment is made.

    An assignment makes one tuple a partition and no cycle. Measured on 1,000,000 partitions, the
    collector takes a third of the time of a fresh assignment and finds nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
