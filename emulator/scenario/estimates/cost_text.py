"""Describe in words how long a run takes, what it spends the time on, and which keys change that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.scenario.estimates.cpu_time import LONG_S, MAX_S, Estimate, Source, estimate
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError

CHEAPER: Final[Mapping[Source, str]] = {
    Source.STARTS: "fewer members or restarts",
    Source.REBALANCES: "fewer members, partitions or faults",
    Source.HEARTBEATS: "fewer members or a longer heartbeat.interval.ms",
    Source.COMMITS: "fewer members or a longer auto.commit.interval.ms",
    Source.OWN_COMMITS: 'commit = "auto", or commits at an interval (when = "every")',
    Source.LIVE_BATCHES: 'commit = "auto", no poison, or fewer records (rate, backlog)',
    Source.LIVE_POLLS: 'commit = "auto", no poison, or a longer poll_timeout',
    Source.REGULAR_POLLS: "fewer records (rate)",
    Source.FOLDED_POLLS: "constant rate, work, latency and lateness, or fewer records (rate)",
    Source.RECORDS: 'commits per batch instead of per record (when = "batch")',
    Source.FETCHES: "fewer members or brokers, a larger latency, or fewer records (rate)",
    Source.WORKERS: 'fewer records (rate), or handler = "serial"',
    Source.SAMPLES: "a longer lag_every",
    Source.SAMPLED: "a longer lag_every or fewer partitions",
    Source.RETENTION: "topics without retention",
    Source.EXPIRY: "a longer offsets.retention.check.interval.ms",
    Source.REFUSED: "a larger max.message.bytes",
    Source.BROKERS: "fewer faults on brokers",
    Source.TOPICS: "fewer created, deleted and grown topics, or fewer members",
    Source.SKIPPED: "a longer lag_every",
}
"""What reduces the time of each source; ``run_for`` reduces all."""

_UNITS: Final = ((86_400, "days"), (3_600, "h"), (60, "min"), (1, "s"))


def approximately(seconds: float) -> str:
    """Return a time with one unit and two digits.

    >>> approximately(90), approximately(0.3), approximately(7200), approximately(1e9)
    ('1.5 min', '0.3 s', '2 h', '1.2e+04 days')
    """
    scale, unit = next((each for each in _UNITS if seconds >= each[0]), _UNITS[-1])
    return f"{seconds / scale:.2g} {unit}"


def cheaper(expected: Estimate) -> str:
    """Return what takes most of the time and which keys change it, as sentences."""
    parts = [
        f"{share:.0%} for {source} (less with {CHEAPER[source]})"
        for source, share in expected.largest()
        if source in CHEAPER
    ]
    return f"{', '.join(parts)}. A shorter run_for reduces all of it;"


def notice(expected: Estimate, runs: int = 1, processes: int = 1) -> str | None:
    """Return the announcement of work of more than ten minutes; None for less.

    *processes*: share the *runs* equally.
    """
    seconds = expected.cpu_s * runs / min(processes, runs)
    if seconds <= LONG_S:
        return None
    many = "" if runs == 1 else f" for {runs:,} runs"
    text = cheaper(expected).removesuffix(";")
    return f"This takes about {approximately(seconds)}{many}: {text}"


def refuse_large(scenario: Scenario, name: str) -> None:
    """Raise ScenarioError with the estimate if a run would take longer than ``MAX_S``."""
    expected = estimate(scenario)
    if expected.cpu_s > MAX_S:
        reason = (
            f"about {approximately(expected.cpu_s)} of CPU time; {approximately(MAX_S)} are "
            f"allowed. {cheaper(expected)} `allow_large` runs it anyway"
        )
        raise ScenarioError(name, [Problem("", reason)])
