"""What trials cost, and how many seeds a budget allows."""

from __future__ import annotations

from typing import Final

from emulator.loading import LoadedScenario
from emulator.scenario.estimate import estimate

CHEAP_S: Final = 1.0
"""CPU seconds that trials may take without being asked for."""

ASKED_S: Final = 5.0
"""CPU seconds for which more seeds are played if trials are asked for."""

LEAST_SEEDS: Final = 3
"""Seeds of a trial that is asked for: of one alone, a difference may be chance."""

LONGEST_S: Final = 60.0
"""CPU seconds above which fewer are played all the same."""

MOST_SEEDS: Final = 5
"""Seeds of a trial whose number the user has not given."""

RARE_S: Final = 15.0
"""CPU seconds for further seeds where the first ones show no effect of a change that was asked for."""

MOST_RARE: Final = 20
"""Seeds of such a trial."""


def cost_s(loaded: LoadedScenario, runs: int) -> float:
    """Return about how many CPU seconds some runs of a scenario take."""
    return estimate(loaded.scenario).cpu_s * runs


def seeds_within(loaded: LoadedScenario, changes: int, budget_s: float = ASKED_S) -> int:
    """Return how many seeds of a trial of some changes a budget allows.

    At least three, if they take a minute at most; otherwise as many as a minute allows, or one.
    """
    each_s = cost_s(loaded, changes + 1)
    least = min(LEAST_SEEDS, int(LONGEST_S / each_s))
    return max(1, least, min(int(budget_s / each_s), MOST_SEEDS))


def rarer_within(loaded: LoadedScenario, changes: int, seeds: int, budget_s: float = RARE_S) -> int:
    """Return how many further seeds a budget allows where *seeds* show no effect of any change."""
    each_s = cost_s(loaded, changes + 1)
    return max(0, min(int(budget_s / each_s), MOST_RARE - seeds))
