"""Play explanations of an incident, and rank them by their fit to what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import mean, median

from assignors.values import dataclass
from emulator.blaming.budget import (
    AGAIN_S,
    HAPPENED_S,
    MIN_HAPPENINGS,
    MIN_POLICIES,
    QUIET_S,
    Costs,
    is_exact,
    within,
)
from emulator.blaming.case import Case, case_of, later_us
from emulator.blaming.completing import completed
from emulator.blaming.evidence import Evidence, evidence_of, grouped, in_order
from emulator.blaming.explanations import Explanation, merged
from emulator.blaming.figures import (
    AFTER,
    BEFORE,
    CONTRADICTION,
    Figure,
    Figures,
    after,
    before,
    contradicted,
    differences,
)
from emulator.blaming.happening import MID_BATCH, NOTHING, Happening
from emulator.blaming.hypotheses import happenings
from emulator.blaming.policies import Policy, policies
from emulator.blaming.ranges import taken_apart
from emulator.blaming.setup import Setup, Table, formed_us, work_us_of
from emulator.blaming.symptoms import Symptoms
from emulator.playing import run
from emulator.scenario.load import scenario_of as checked
from emulator.scenario.load import tidy
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource

SECOND = 1_000_000
POLICIES_KEPT = 7
"""The number of commit policies that are tried with a happening."""

HAPPENINGS_KEPT = 4
"""The best policy is tried with all happenings, the others with those that fit best with it."""

REPEATED = 8
"""The number of explanations that are played under all seeds."""

SEEDS = 2

_WORST = 3.0
"""A figure that is further off counts no more, but for what it contradicts."""

OnProgress = Callable[[int, int], None]
"""Called with the number of finished runs, and of all."""

OnBegin = Callable[[Scenario, int], None]
"""Called with a scenario like those that are played, and the number of runs."""


@dataclass(frozen=True, slots=True)
class Blame:
    """What was seen of an incident, and its explanations, the best first."""

    setup: Setup
    symptoms: Symptoms
    seen: Figures
    figures: Mapping[str, Figure]
    """Their words, units and tolerances."""

    explanations: tuple[Explanation, ...]


def blame_for(
    evidence: Evidence,
    setup: Setup,
    *,
    seeds: int = SEEDS,
    begin: OnBegin | None = None,
    progress: OnProgress | None = None,
) -> Blame:
    """Search for the commit policy and the happening that explain an incident.

    Each policy is first played without a happening; those whose commits are most like the ones
    before the incident are then played with the happenings, and the best explanations again under
    *seeds* seeds, as many of each as ``BUDGET_S`` allows. *evidence* has at least one piece of work.

    Raise RefusedError if not even the least search ends in time.
    """
    case = case_of(evidence, setup)
    costs = Costs(case, lambda policy: _checked(completed(case.base, policy, NOTHING, 0)))
    tried = policies(case.evidence, setup, busy=case.busy, batches=case.batches)
    costs.refuse_endless(tried)
    tried = within(QUIET_S, tried, costs.quiet_s, MIN_POLICIES)
    happened = _seen_first(happenings(case.symptoms, setup))
    runs = _Runs(case, _number(tried, len(happened), seeds, costs), progress)
    if begin is not None:
        begin(_checked(completed(case.base, tried[0], NOTHING, 0)), runs.total)
    ranked = _searched(case, _likely(case, tried, runs), happened, runs, costs)
    if seeds > 1:
        ranked = _repeated(case, ranked, seeds, runs, costs)
    return Blame(setup, case.symptoms, case.seen, case.figures, tuple(merged(ranked)))


def _seen_first(happened: Sequence[Happening]) -> list[Happening]:
    """Return what happened to members that were seen to stop or join before what any group may have."""
    return sorted(happened, key=lambda each: each.is_general)


def _searched(
    case: Case,
    likely: Sequence[_Likely],
    happened: Sequence[Happening],
    runs: _Runs,
    costs: Costs,
) -> list[Explanation]:
    """Play the first policy with all happenings, the others with as many as the budget allows."""
    first, *others = likely
    first_s = costs.run_s(first.policy)
    possible = within(HAPPENED_S, happened, lambda _: first_s, MIN_HAPPENINGS)
    found = [runs.explained(case, first, each) for each in possible]
    kept = _kept_happenings(case, [each.happening for each in _ranked(found)])
    pairs = [(each, one) for one in kept for each in others]
    left_s = HAPPENED_S - len(possible) * first_s
    more = within(left_s, pairs, lambda pair: costs.run_s(pair[0].policy))
    for likely_one, happening in more:
        if _least_distance(likely_one, happening) < _last_repeated(found):
            found.append(runs.explained(case, likely_one, happening))
        else:
            runs.skip()
    return _ranked(found)


def _kept_happenings(case: Case, ranked: Sequence[Happening]) -> list[Happening]:
    """Return the happenings that are played with the other policies.

    Whether a close in mid-batch loses records depends on the policy: where records were lost, it is kept
    with the close that it is a kind of, however badly it goes with the first policy.
    """
    best, others = ranked[:HAPPENINGS_KEPT], ranked[HAPPENINGS_KEPT:]
    families = {each.family for each in best} if case.seen["skipped"] > 0 else ()
    kinds = (each for each in others if each.name.endswith(MID_BATCH) and each.family in families)
    return [*best, *kinds]


def _least_distance(likely: _Likely, happening: Happening) -> float:
    """Return the distance that an explanation has at least: that of the commits before the incident."""
    unusual = likely.policy.unusual
    return (likely.distance - unusual) / 2 + unusual + happening.unusual


def _last_repeated(found: Sequence[Explanation]) -> float:
    """Return the distance of the last explanation that is played under all seeds; infinite: there are fewer."""
    return _ranked(found)[REPEATED - 1].distance if len(found) >= REPEATED else inf


def _repeated(
    case: Case, ranked: Sequence[Explanation], seeds: int, runs: _Runs, costs: Costs
) -> list[Explanation]:
    """Play the best explanations under further seeds, as many as the budget allows."""
    best = within(AGAIN_S, ranked[:REPEATED], lambda each: (seeds - 1) * costs.run_s(each.policy))
    again = [runs.explained_again(case, each, seeds) for each in best]
    return _ranked([*again, *ranked[len(best) :]])


def _number(tried: Sequence[Policy], happened: int, seeds: int, costs: Costs) -> int:
    """Return about the number of runs of a search."""
    others = min(POLICIES_KEPT, len(tried)) - 1
    explained = happened + others * min(HAPPENINGS_KEPT, happened)
    each_s = mean(costs.run_s(policy) for policy in tried)
    explained = min(explained, max(MIN_HAPPENINGS, int(HAPPENED_S / each_s)))
    again = min((seeds - 1) * min(REPEATED, explained), int(AGAIN_S / each_s))
    return len({policy.quiet_commits for policy in tried}) + explained + again


def _ranked(found: Sequence[Explanation]) -> list[Explanation]:
    return sorted(found, key=lambda each: each.distance)


@dataclass(frozen=True, slots=True)
class _Likely:
    """A policy, the figures of its commits without an incident, and when that begins in runs with it."""

    policy: Policy
    before: Figures
    distance: float
    onset_us: int


def _likely(case: Case, tried: Sequence[Policy], runs: _Runs) -> list[_Likely]:
    """Return the policies whose commits are most like those before the incident, each with its best batch."""
    found, formed = [], formed_us(case.base)
    played: dict[object, Evidence] = {}
    for policy in tried:
        quiet = played.get(policy.quiet_commits) or runs.quiet(case, policy)
        played[policy.quiet_commits] = quiet
        usual = before(quiet, formed, case.usual_us)
        off = _distance(case, usual, BEFORE) + policy.unusual
        onset_us = max(formed, case.warm_us + later_us(case, quiet))
        found.append(_Likely(policy, usual, off, onset_us))
    found.sort(key=lambda each: each.distance)
    of_each = grouped(found, lambda each: (each.policy.reader, each.policy.name))
    return _kept([best for best, *_ in of_each.values()])


def _kept(likely: Sequence[_Likely]) -> list[_Likely]:
    """Return the first ones, and the automatic commits of other clients or calls."""
    first, others = likely[:POLICIES_KEPT], likely[POLICIES_KEPT:]
    return [*first, *(each for each in others if each.policy.commit == "auto")]


class _Runs:
    """Plays scenarios, and reports how many are done."""

    def __init__(self, case: Case, total: int, progress: OnProgress | None) -> None:
        self.total = total
        self._done, self._group, self._progress = 0, case.setup.group, progress
        self._polls = is_exact(case)
        self._tried: dict[tuple[str, str], _Likely] = {}

    def quiet(self, case: Case, policy: Policy) -> Evidence:
        """Return what the logs show of a policy up to the incident."""
        short = case.base_before | {"run_for": f"{case.quiet_us / SECOND:.3f}s"}
        return self._play(completed(short, policy, NOTHING, 0), 0)

    def skip(self) -> None:
        """Count a run that need not be played."""
        self._report()

    def explained(self, case: Case, likely: _Likely, happening: Happening) -> Explanation:
        """Play a policy with a happening once; return how well it explains what was seen."""
        scenario = completed(case.base, likely.policy, happening, likely.onset_us, case.after_us)
        played = self._figures(case, scenario, likely, 0)
        self._tried[likely.policy.words, happening.name] = likely
        return _explanation(case, likely.policy, happening, scenario, [played])

    def explained_again(self, case: Case, one: Explanation, seeds: int) -> Explanation:
        """Play an explanation under more seeds."""
        likely = self._tried[one.policy.words, one.happening.name]
        more = [self._figures(case, one.scenario, likely, seed) for seed in range(1, seeds)]
        return _explanation(case, one.policy, one.happening, one.scenario, [one.middle, *more])

    def _figures(self, case: Case, scenario: Table, likely: _Likely, seed: int) -> Figures:
        """Return the figures of a run; those of the time before the incident have a longer run of their own."""
        played = self._play(scenario, seed)
        return likely.before | after(played, likely.onset_us, case.stopped)

    def _play(self, scenario: Table, seed: int) -> Evidence:
        """Return what the logs of a run show."""
        played = run(_checked(scenario), seed=seed, polls=self._polls)
        self._report()
        seen = evidence_of(played.events, self._group, work_us_of(scenario))
        if self._polls:
            return seen
        pieces = sorted(taken_apart(seen.work), key=in_order)
        return replace(seen, work=tuple(pieces))

    def _report(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self.total)


def _checked(scenario: Table) -> Scenario:
    return checked(tidy(scenario), ScenarioSource("blame"))


def _explanation(
    case: Case, policy: Policy, happening: Happening, scenario: Table, plays: Sequence[Figures]
) -> Explanation:
    """Return an explanation with its figures in some runs."""
    figures = {
        name: (min(each), median(each), max(each))
        for name, each in ((name, [play[name] for play in plays]) for name in plays[0])
    }
    middle = {name: each[1] for name, each in figures.items()}
    off = (_distance(case, middle, AFTER) + _distance(case, middle, BEFORE)) / 2
    against = contradicted(figures, case.seen, case.figures)
    if _loses_by_chance(case, policy, happening):
        against = tuple(name for name in against if name != "skipped")
    off += policy.unusual + happening.unusual + CONTRADICTION * len(against)
    return Explanation(policy, happening, scenario, figures, off, against)


def _loses_by_chance(case: Case, policy: Policy, happening: Happening) -> bool:
    """Return whether it is chance how many records an explanation loses: those in hand when a process ended.

    A consumer that waits for records most of the time may have none in hand; one with a backlog has some.
    """
    closes_early = happening.name.endswith(MID_BATCH) and policy.commit == "auto"
    has_some = bool(case.seen["skipped"]) or not case.busy
    return has_some and (policy.can_lose or closes_early)


def _distance(case: Case, found: Figures, names: Iterable[str]) -> float:
    """Return the mean difference of figures in units of their tolerance, each at most ``_WORST``."""
    compared = [name for name in names if name in case.figures]
    off = [case.figures[name].difference(found[name], case.seen[name]) for name in compared]
    return sum(min(each, _WORST) for each in off) / len(off)


def told_apart_by(one: Explanation, other: Explanation) -> Sequence[str]:
    """Return the figures in which two explanations differ by more than their tolerance."""
    return [name for name, each in differences(one.middle, other.middle).items() if each > 1]
