"""Replay failures of Kafka consumer groups and count what they repeat and lose.

>>> import emulator
>>> scenario = emulator.loads('''
... title = "nothing happens"
... run_for = "20s"
... [[topic]]
... name = "orders"
... rate = "10/s"
... [[group]]
... id = "billing"
... topics = ["orders"]
... members = 1
... ''')
>>> emulator.run(scenario, seed=7).ledger.reprocessed
0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.playing import Run, run
    from emulator.scenario.load import load, loads
    from emulator.scenario.model import Scenario

__all__ = ["Run", "Scenario", "load", "loads", "run"]

__version__ = "0.1.0"

_HOMES = {
    "Run": "emulator.playing",
    "Scenario": "emulator.scenario.model",
    "load": "emulator.scenario.load",
    "loads": "emulator.scenario.load",
    "run": "emulator.playing",
}


def __dir__() -> list[str]:
    """List what is there to be asked for."""
    return sorted([*globals(), *__all__])


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: ``rebalance --help`` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'emulator' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 (only where something is asked for)

    return getattr(import_module(_HOMES[name]), name)
