"""How often a member commits, for the estimate of a run's time."""

from __future__ import annotations

from emulator.scenario.model import CommitPolicy
from emulator.scenario.units import US_PER_MS


def commits_in_polls(
    interval_us: float, living_us: float, working_us: float, round_us: float, batches: float
) -> float:
    """Return how many automatic commits a member makes that commits in poll().

    It makes one at most for each of its *batches*, and while it waits for records
    (*living_us* less *working_us*) none before the response of the last one, after *round_us*.
    An interval of 0 lets it commit in each millisecond.

    >>> commits_in_polls(1_000, 60_000_000, 60_000_000, 2_000, 30)
    30.0
    """
    waiting_us = max(living_us - working_us, 0.0)
    spacing_us = max(interval_us, float(US_PER_MS))
    return min(living_us / spacing_us, batches + waiting_us / max(round_us, spacing_us))


def spaced_commits(policy: CommitPolicy, records: float, run_for: int) -> float:
    """Return how many commits of an application come every some records or every some time."""
    by_records = records / policy.records if policy.records else 0.0
    by_time = run_for / policy.every if policy.every else 0.0
    return min(by_records + by_time, records)
