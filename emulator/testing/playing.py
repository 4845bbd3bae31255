"""Play the seeds of a test, and count the rebalances that each fault or act caused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from assignors.values import dataclass
from emulator.events import Event, FaultBegan, GroupEpochRaised, RebalanceStarted
from emulator.ledger.entries import Ledger
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.metrics.readings import seconds
from emulator.playing import run
from emulator.scenario.model import Scenario
from emulator.verdicts.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedSeed:
    """What a test needs of one run; its events are not kept."""

    seed: int
    digest: str
    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    verbs: Mapping[str, str]
    """The verb of each fault or act that took effect, by its id, in order of time."""

    rebalances: Mapping[str, int]
    """The number of rebalances that each of them caused, directly or through others."""


def play_seeds(scenario: Scenario, seeds: Sequence[int]) -> tuple[PlayedSeed, ...]:
    """Play a scenario under some seeds, one after the other."""
    return tuple(play_seed(scenario, seed) for seed in seeds)


def play_seed(scenario: Scenario, seed: int) -> PlayedSeed:
    """Play a scenario under one seed."""
    roots = FaultRoots()
    finished = run(scenario, seed, keep_events=False, sink=roots.feed, each_commit=False)
    return PlayedSeed(
        seed=seed,
        digest=finished.digest,
        ledger=finished.ledger,
        metrics=finished.metrics,
        findings=finished.findings,
        verdicts=finished.verdicts,
        verbs=roots.verbs,
        rebalances=roots.rebalances(finished.metrics),
    )


class FaultRoots:
    """Follows the causes of events back to faults and acts; pass every event to ``feed``."""

    def __init__(self) -> None:
        self.verbs: dict[str, str] = {}
        self._faults: dict[int, tuple[str, ...]] = {}
        """The faults and acts that led to each control event, by the event's id."""

        self._began: dict[tuple[str, float], tuple[str, ...]] = {}
        """The same for the start of each rebalance, by group and time."""

    def feed(self, event: Event) -> None:
        """Follow one event."""
        if event.id is None:
            return
        what = event.what
        before = () if event.cause is None else self._faults.get(event.cause, ())
        if isinstance(what, FaultBegan):
            self.verbs[what.fault] = what.verb
            before = (*before, what.fault)
        if before:
            self._faults[event.id] = before
        if isinstance(what, RebalanceStarted | GroupEpochRaised):
            self._began[what.group, seconds(event.at_us)] = before

    def rebalances(self, metrics: Metrics) -> dict[str, int]:
        """Return the number of rebalances that the metrics count, by fault or act."""
        counts = Counter[str](dict.fromkeys(self.verbs, 0))
        for row in metrics.listings["rebalances"]:
            counts.update(self._began.get((str(row["group"]), float(row["started_s"] or 0)), ()))
        return dict(counts)
