"""How many runs a search takes: their time is bounded, whatever the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from emulator.blaming.case import Case
from emulator.blaming.policies import Policy
from emulator.errors import RefusedError
from emulator.scenario.estimates.cpu_time import estimate
from emulator.scenario.model import Scenario

BUDGET_S: Final = 36.0
"""About the time (CPU) of all runs of a search, by the estimate: the same on every machine."""

QUIET_S: Final = BUDGET_S / 3
"""The part for policies without a happening."""

AGAIN_S: Final = BUDGET_S / 9
"""The part for further seeds."""

HAPPENED_S: Final = BUDGET_S - QUIET_S - AGAIN_S
"""The part for policies with happenings."""

MIN_POLICIES, MIN_HAPPENINGS = 3, 4
"""The number of each that is tried at least, at whatever cost up to ``MAX_S``."""

MAX_S: Final = 120.0
"""A search whose least runs take longer is refused."""

MAX_EXACT: Final = 10_000
"""The number of records in a run up to which each poll is played."""

EXACT_S, COMMITTED_S = 1e-4, 2.5e-4
"""The time for a poll of a run that is played by polls, and with commits of the application."""

T = TypeVar("T")


def is_exact(case: Case) -> bool:
    """Return whether runs are short enough to be played poll by poll, which dates records exactly."""
    return case.records <= MAX_EXACT


class Costs:
    """What a run of each policy takes, in seconds of CPU time."""

    def __init__(self, case: Case, scenario_of: Callable[[Policy], Scenario]) -> None:
        self._case, self._scenario_of = case, scenario_of
        self._known: dict[str, float] = {}

    def run_s(self, policy: Policy) -> float:
        """Return the time of a run with a happening."""
        if policy.words not in self._known:
            self._known[policy.words] = self._estimated(policy)
        return self._known[policy.words]

    def quiet_s(self, policy: Policy) -> float:
        """Return the time of a run up to the happening."""
        return self.run_s(policy) * self._case.quiet_us / (self._case.warm_us + self._case.after_us)

    def _estimated(self, policy: Policy) -> float:
        found_s = estimate(self._scenario_of(policy)).cpu_s
        if not is_exact(self._case):
            return found_s
        polls = self._case.records / (policy.largest_batch if self._case.busy else 1)
        return found_s + polls * (COMMITTED_S if policy.is_by_call else EXACT_S)

    def refuse_endless(self, tried: Sequence[Policy]) -> None:
        """Raise RefusedError if not even the least search ends within ``MAX_S``."""
        least = tried[:MIN_POLICIES]
        longest_s = max(map(self.run_s, least))
        min_s = sum(map(self.quiet_s, least)) + MIN_HAPPENINGS * longest_s
        if min_s > MAX_S:
            raise RefusedError(
                f"the time to explain has about {self._case.records:,.0f} records: one run of an "
                f"explanation takes {longest_s:,.0f} s, and all of them {MAX_S:.0f} s at most; choose "
                f"less time with --from and --to, from some seconds before the incident to its end"
            )


def within(
    budget_s: float, wanted: Iterable[T], cost_s: Callable[[T], float], least: int = 0
) -> list[T]:
    """Return the first ones that a budget allows, at least *least* of them.

    >>> within(5, ["a", "b", "c"], lambda _: 2.0)
    ['a', 'b']
    """
    found, spent_s = list[T](), 0.0
    for each in wanted:
        spent_s += cost_s(each)
        if spent_s > budget_s and len(found) >= least:
            break
        found.append(each)
    return found
