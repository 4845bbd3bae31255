"""Faults of the stores of offsets outside Kafka, each a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.scenario import model
from emulator.world.kernel import Script
from emulator.world.run import OffsetStore, Run


def store_scripts(run: Run) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each fault of an offset store, by its kind."""
    scripts = StoreScripts(run)
    return {model.SlowStore: scripts.slow, model.StopStore: scripts.stop}


class StoreScripts:
    """Plays the faults of offset stores."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stores = {store.service.name: store for store in run.stores.values()}

    def slow(self, fault: model.SlowStore, _began: int) -> Script:
        """Slow a store for the duration of the fault."""
        service = self._stores[fault.store].service
        service.slow(fault.by)
        yield self._run.kernel.env.timeout(fault.lasting)
        service.slow(-fault.by)

    def stop(self, fault: model.StopStore, began: int) -> Script:
        """Stop a store for the duration of the fault."""
        yield from self._down(self._stores[fault.store], fault.lasting, began)

    def _down(self, store: OffsetStore, lasting_us: int, began: int) -> Script:
        store.stop(began)
        yield self._run.kernel.env.timeout(lasting_us)
        store.service.start()
