"""What trials cost, and how many seeds a budget allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from emulator.advice.proposing import changed
from emulator.loading import LoadedScenario
from emulator.report.proposals import Proposal
from emulator.scenario.estimates.cpu_time import estimate

CHEAP_S: Final = 1.0
"""CPU seconds that trials may take without being asked for."""

ASKED_S: Final = 5.0
"""CPU seconds for which more seeds are played if trials are asked for."""

MIN_SEEDS: Final = 3
"""Seeds of a trial that is asked for: of one alone, a difference may be chance."""

LONGEST_S: Final = 60.0
"""CPU seconds above which fewer are played all the same."""

MAX_SEEDS: Final = 5
"""Seeds of a trial whose number the user has not given."""

RARE_S: Final = 15.0
"""CPU seconds for further seeds where the first ones show no effect of a change that was asked for."""

MAX_RARE: Final = 20
"""Seeds of such a trial."""


class Cost(NamedTuple):
    """The CPU seconds of trials whose number of seeds the user has not given."""

    first_s: float
    """Of the seeds that are always played."""

    longest_s: float
    """Of all that may be played, if the first ones show no effect of a change."""


def cost_of(loaded: LoadedScenario, proposals: Iterable[Proposal]) -> Cost:
    """Return about what trials take; one run of the scenario as it is has been played."""
    proposals = tuple(proposals)
    each_s, own_s = round_s(loaded, proposals), round_s(loaded, ())
    seeds = seeds_within(each_s)
    first_s = each_s * seeds - own_s
    return Cost(first_s, first_s + each_s * rarer_within(each_s, seeds))


def round_s(loaded: LoadedScenario, proposals: Iterable[Proposal]) -> float:
    """Return about how many CPU seconds one seed takes: the scenario as it is, and with each change.

    A change may cost more than all the rest: one that commits after each batch is played batch by batch.
    """
    scenarios = (changed(loaded, proposal) for proposal in proposals)
    return sum(estimate(each).cpu_s for each in (loaded.scenario, *scenarios))


def seeds_within(each_s: float, budget_s: float = ASKED_S) -> int:
    """Return how many seeds of a trial a budget allows, of :func:`round_s` *each_s*.

    At least three, if they take a minute at most; otherwise as many as a minute allows, or one.
    """
    least = min(MIN_SEEDS, int(LONGEST_S / each_s))
    return max(1, least, min(int(budget_s / each_s), MAX_SEEDS))


def rarer_within(each_s: float, seeds: int, budget_s: float = RARE_S) -> int:
    """Return how many further seeds a budget allows where *seeds* show no effect of any change."""
    return max(0, min(int(budget_s / each_s), MAX_RARE - seeds))
