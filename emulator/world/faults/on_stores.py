"""Faults of the stores of offsets outside Kafka, each a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.events import StoreRestored
from emulator.scenario import model
from emulator.world.kernel import Script, wait
from emulator.world.run import OffsetStore, Run
from protocols.consumer.store_history import NOTHING_STORED, StoreHistory


def store_scripts(run: Run) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each fault of an offset store, by its kind."""
    scripts = StoreScripts(run)
    return {
        model.SlowStore: scripts.slow,
        model.StopStore: scripts.stop,
        model.RestoreStore: scripts.restore,
    }


class StoreScripts:
    """Plays the faults of offset stores."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stores = {store.service.name: store for store in run.stores.values()}
        for fault in run.scenario.fault:
            if isinstance(fault, model.RestoreStore):
                self._stores[fault.store].service.history = StoreHistory()

    def slow(self, fault: model.SlowStore, _began: int) -> Script:
        """Slow a store for the duration of the fault."""
        service = self._stores[fault.store].service
        service.slow(fault.by)
        yield self._run.kernel.env.timeout(fault.lasting)
        service.slow(-fault.by)

    def stop(self, fault: model.StopStore, began: int) -> Script:
        """Stop a store for the duration of the fault."""
        store = self._stores[fault.store]
        store.stop(began)
        yield self._run.kernel.env.timeout(fault.lasting)
        store.service.start()

    def restore(self, act: model.RestoreStore, began: int) -> Script:
        """Make a store unavailable, set it back to an earlier instant, and start it again."""
        store = self._stores[act.store]
        backup_us = self._run.kernel.now - act.age
        store.stop(began)
        yield from wait(self._run.kernel.env, act.lasting)
        self._set_back(store, act, backup_us, began)
        store.service.start()

    def _set_back(
        self, store: OffsetStore, act: model.RestoreStore, backup_us: int, began: int
    ) -> None:
        history = store.service.history
        assert history is not None, "a store that is restored keeps its history"
        with_results = act.what == "everything"
        undone = history.results_since(backup_us) if with_results else {}
        before = history.offsets_at(self._run.kernel.now)
        history.restore(backup_us, results=with_results)
        after = history.offsets_at(backup_us)
        store.restore(after)
        for key in sorted(before):
            restored = StoreRestored(
                store=act.store,
                group=key[0],
                partition=key[1],
                before=before[key],
                offset=after.get(key, NOTHING_STORED),
                undone=undone.get(key, ()),
            )
            if restored.undone or restored.offset != restored.before:
                self._run.recorder.write(restored, began)
