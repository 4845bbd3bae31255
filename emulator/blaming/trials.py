"""Play explanations of an incident, and rank them by their fit to what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp
from statistics import median

from assignors.values import dataclass
from emulator.blaming.evidence import Evidence, evidence_of
from emulator.blaming.figures import (
    AFTER,
    BEFORE,
    CONTRADICTION,
    Figure,
    Figures,
    Range,
    after,
    before,
    contradicted,
    differences,
)
from emulator.blaming.hypotheses import (
    NOTHING,
    Happening,
    Policy,
    completed,
    happenings,
    interval_ms,
    policies,
)
from emulator.blaming.setup import Setup, Table, scenario_of, warm_up_us, work_us_of
from emulator.blaming.symptoms import Symptoms, symptoms_of
from emulator.playing import run
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.part import ScenarioSource

SECOND = 1_000_000
_FORMED_US = 7 * SECOND
"""By then a group has formed in the runs that are tried."""

_COMMITTING_US = 12 * SECOND
"""How much longer a policy is at least played without a happening, to see its usual commits."""

_INTERVALS = 2.5
"""The commit intervals for which it is played, so that each partition has two commits."""

POLICIES_KEPT = 4
"""The number of commit policies that are tried with each happening."""

SEEDS = 2

_WORST = 3.0
"""A figure that is further off counts no more."""

OnProgress = Callable[[int, int], None]
"""Called with the number of finished runs, and of all."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One policy with one happening, and how well it explains what was seen."""

    policy: Policy
    happening: Happening
    scenario: Table
    """As a scenario file has it."""

    figures: Mapping[str, Range]

    distance: float
    """The mean difference of all figures from what was seen, each divided by its tolerance, with
    ``CONTRADICTION`` for each figure that cannot be, and how unusual the explanation is."""

    contradicted: tuple[str, ...] = ()
    """The figures that cannot be as seen."""

    @property
    def middle(self) -> Figures:
        """The median of each figure."""
        return {name: each[1] for name, each in self.figures.items()}

    @property
    def fit(self) -> float:
        """The fit in percent: 100 if all figures are as seen."""
        return 100 * exp(-self.distance)


@dataclass(frozen=True, slots=True)
class Blame:
    """What was seen of an incident, and its explanations, the best first."""

    setup: Setup
    symptoms: Symptoms
    seen: Figures
    explanations: tuple[Explanation, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """What all trials of one incident share."""

    evidence: Evidence
    setup: Setup
    symptoms: Symptoms
    base: Table
    stopped: tuple[str, ...]
    seen: Figures
    warm_us: int
    """When the incident begins in the runs."""

    quiet_us: int
    """How long a policy is played without a happening."""

    seeds: int


def blame_for(
    evidence: Evidence, setup: Setup, *, seeds: int = SEEDS, progress: OnProgress | None = None
) -> Blame:
    """Search for the commit policy and the happening that explain an incident.

    Each policy is first played without a happening; those whose commits are most like the ones
    before the incident are then played with each happening, under *seeds* seeds. *evidence* has
    at least one piece of work.
    """
    case = _case_of(evidence, setup, seeds)
    tried, happened = policies(evidence), happenings(case.symptoms, setup.group)
    runs = _Counted(len(tried) + POLICIES_KEPT * len(happened) * seeds, progress)
    quiet = {policy.name: _quiet(case, policy, runs) for policy in tried}
    distances = {
        name: distance(before(each, _FORMED_US, case.warm_us), case.seen, BEFORE)
        for name, each in quiet.items()
    }
    likely = sorted(tried, key=lambda policy: distances[policy.name])[:POLICIES_KEPT]
    found = []
    for policy in likely:
        onset_us = max(_FORMED_US, case.warm_us + _later_us(case, quiet[policy.name]))
        found += [_explained(case, policy, each, onset_us, runs) for each in happened]
    found.sort(key=lambda each: each.distance)
    return Blame(setup, case.symptoms, case.seen, tuple(found))


def _case_of(evidence: Evidence, setup: Setup, seeds: int) -> _Case:
    symptoms = symptoms_of(evidence)
    stopped = tuple(stop.consumer for stop in symptoms.stops)
    warm_us = warm_up_us(evidence, symptoms)
    committing_us = int(_INTERVALS * interval_ms(evidence) * 1_000)
    return _Case(
        evidence=evidence,
        setup=setup,
        symptoms=symptoms,
        base=scenario_of(setup, evidence, symptoms),
        stopped=stopped,
        seen=before(evidence, symptoms.formed_us, symptoms.onset_us)
        | after(evidence, symptoms.onset_us, stopped),
        warm_us=warm_us,
        quiet_us=warm_us + max(_COMMITTING_US, committing_us),
        seeds=seeds,
    )


class _Counted:
    """Plays scenarios, and reports how many are done."""

    def __init__(self, total: int, progress: OnProgress | None) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def play(self, scenario: Table, group: str, seed: int) -> Evidence:
        """Return what the logs of a run show."""
        played = run(checked(tidy(scenario), ScenarioSource("blame")), seed=seed, polls=True)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
        return evidence_of(played.events, group, work_us_of(scenario))


def _quiet(case: _Case, policy: Policy, runs: _Counted) -> Evidence:
    """Return what the logs show of a policy up to the incident."""
    short = case.base | {"run_for": f"{case.quiet_us / SECOND:.3f}s"}
    return runs.play(completed(short, policy, NOTHING, 0), case.setup.group, 0)


def _explained(
    case: _Case, policy: Policy, happening: Happening, onset_us: int, runs: _Counted
) -> Explanation:
    """Play a policy with a happening; return how well it explains what was seen."""
    scenario = completed(case.base, policy, happening, onset_us)
    plays = []
    for seed in range(case.seeds):
        played = runs.play(scenario, case.setup.group, seed)
        plays.append(before(played, _FORMED_US, onset_us) | after(played, onset_us, case.stopped))
    figures = {
        name: (min(each), median(each), max(each))
        for name, each in ((name, [play[name] for play in plays]) for name in plays[0])
    }
    middle = {name: each[1] for name, each in figures.items()}
    off = (distance(middle, case.seen, AFTER) + distance(middle, case.seen, BEFORE)) / 2
    against = contradicted(figures, case.seen)
    off += policy.unusual + happening.unusual + CONTRADICTION * len(against)
    return Explanation(policy, happening, scenario, figures, off, against)


def distance(found: Figures, seen: Figures, figures: Mapping[str, Figure]) -> float:
    """Return the mean difference of figures in units of their tolerance, each at most ``_WORST``."""
    differences = (figure.difference(found[name], seen[name]) for name, figure in figures.items())
    return sum(min(each, _WORST) for each in differences) / len(figures)


def _later_us(case: _Case, quiet: Evidence) -> int:
    """Return how much later the happening begins, to be as far from a commit as was seen.

    A crash 0.2 s behind an automatic commit and one 4.8 s behind it leave other repeats.
    """
    stopped = case.stopped[:1]
    seen_us = _since_commit_us(case.evidence, stopped, case.symptoms.onset_us)
    there_us = _since_commit_us(quiet, stopped, case.warm_us)
    return 0 if seen_us is None or there_us is None else seen_us - there_us


def _since_commit_us(evidence: Evidence, stopped: Iterable[str], at_us: int) -> int | None:
    """Return the time since the last commit of the partitions of a stopped consumer."""
    owners = {done.partition: done.consumer for done in evidence.work if done.ended_us <= at_us}
    names = set(stopped)
    times = [
        commit.at_us
        for commit in evidence.commits
        if commit.at_us <= at_us and (not names or owners.get(commit.partition) in names)
    ]
    return at_us - max(times) if times else None


def told_apart_by(one: Explanation, other: Explanation) -> Sequence[str]:
    """Return the figures in which two explanations differ by more than their tolerance."""
    return [name for name, each in differences(one.middle, other.middle).items() if each > 1]
