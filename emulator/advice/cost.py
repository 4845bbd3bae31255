"""What trials cost, and how many seeds a budget allows."""

from __future__ import annotations

from typing import Final

from emulator.loading import LoadedScenario
from emulator.scenario.estimate import estimate

CHEAP_S: Final = 1.0
"""CPU seconds that trials may take without being asked for."""

ASKED_S: Final = 5.0
"""CPU seconds for which more seeds are played if trials are asked for."""

MOST_SEEDS: Final = 5
"""Seeds of a trial whose number the user has not given."""


def cost_s(loaded: LoadedScenario, runs: int) -> float:
    """Return about how many CPU seconds some runs of a scenario take."""
    return estimate(loaded.scenario).cpu_s * runs


def seeds_within(loaded: LoadedScenario, changes: int, budget_s: float = ASKED_S) -> int:
    """Return how many seeds of a trial of some changes a budget allows: at least one."""
    each_s = cost_s(loaded, changes + 1)
    return max(1, min(int(budget_s / each_s), MOST_SEEDS))
