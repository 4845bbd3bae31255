"""Try changes: play the scenario with and without each, under the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.advice.proposing import changed
from emulator.loading import LoadedScenario
from emulator.metrics.laws import Law
from emulator.playing import Run
from emulator.processes import OnProgress, cores
from emulator.report.proposals import Effect, Proposal, Trial
from emulator.scenario.estimates.cpu_time import estimate
from emulator.sweeps import SeedRun, Task, play_all
from emulator.verdicts.disqualifying import disqualified
from emulator.verdicts.verdict import VerdictId

Played = Run | SeedRun

OF_LAG: Final = (VerdictId.OVERLOAD, VerdictId.LAG_GROWS, VerdictId.PARTITION_STALLED)
"""Verdicts of which lag is the problem."""

WORTH_A_PROCESS_S: Final = 5.0
"""Work of fewer CPU seconds is done sooner in one process than in several."""


def try_out(
    loaded: LoadedScenario,
    proposals: Sequence[Proposal],
    seeds: Sequence[int],
    *,
    known: Mapping[int, Played],
    more: Sequence[int] = (),
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> tuple[Trial, ...]:
    """Play each change under each seed, and the scenario as it is; the most useful change first.

    *known*: runs of the scenario as it is that need not be played again, by seed. *more*: seeds that
    are played, too, if a change has no effect under *seeds* since what it prevents may be rare.

    Raises ``assignors.errors.AssignorError`` if the user's own assignor fails.
    """
    scenarios = [changed(loaded, proposal) for proposal in proposals]

    def play(wanted: Sequence[int]) -> list[list[Played]]:
        """Return the runs without a change, then those with each."""
        missing = [seed for seed in wanted if seed not in known]
        tasks = [Task(loaded.scenario, seed) for seed in missing]
        tasks += [Task(scenario, seed) for scenario in scenarios for seed in wanted]
        work_s = sum(estimate(task.scenario).cpu_s for task in tasks)
        workers = jobs or (cores() if work_s > WORTH_A_PROCESS_S else 1)
        runs = play_all(tasks, workers, loaded.folder, progress)
        before: dict[int, Played] = {**known, **{seed: next(runs) for seed in missing}}
        after: list[list[Played]] = [[next(runs) for _ in wanted] for _ in scenarios]
        return [[before[seed] for seed in wanted], *after]

    played = play(seeds)
    trials = _trials(proposals, played)
    if more and _may_be_rare(trials):
        trials = _trials(
            proposals, [first + rest for first, rest in zip(played, play(more), strict=True)]
        )
    return tuple(sorted(trials, key=lambda trial: trial.rank))


def _may_be_rare(trials: Sequence[Trial]) -> bool:
    """Return whether further seeds may show an effect that those played do not show.

    That is: no change has one, or that of a risk has none; and the seeds do not all give the same figures.
    """
    first, *others = [runs.plain_values() for runs in trials[0].before]
    vary = not others or any(values != first for values in others)
    without = [trial for trial in trials if trial.effect is Effect.NONE]
    return vary and (
        len(without) == len(trials) or any(trial.proposal.of_risk for trial in without)
    )


def _trials(proposals: Sequence[Proposal], played: Sequence[Sequence[Played]]) -> list[Trial]:
    before, *after = played
    return [_trial(proposal, before, runs) for proposal, runs in zip(proposals, after, strict=True)]


def _trial(proposal: Proposal, before: Sequence[Played], after: Sequence[Played]) -> Trial:
    return Trial(
        proposal=proposal,
        seeds=tuple(run.seed for run in before),
        before=tuple(run.metrics for run in before),
        after=tuple(run.metrics for run in after),
        problems=_new_problems(before, after),
        solved=_new_problems(after, before),
        disqualified=disqualified(run.verdicts for run in after),
        without_it=disqualified(run.verdicts for run in before),
        of_lag=any(each.id in OF_LAG for run in (*before, *after) for each in run.verdicts),
        missed=_missed(after),
    )


def _new_problems(before: Sequence[Played], after: Sequence[Played]) -> tuple[str, ...]:
    """Return a sentence for each kind of problem that only runs with the change have."""
    old = {verdict.id for run in before for verdict in run.verdicts if verdict.problem}
    found = dict[str, str]()
    for run in after:
        for verdict in run.verdicts:
            if verdict.problem and verdict.id not in old:
                found.setdefault(verdict.id, verdict.sentence)
    return tuple(found.values())


def _missed(runs: Sequence[Played]) -> int:
    """Return in how many runs a fault did not fire."""
    return sum(any(each.law is Law.FAULT_MISSED for each in run.findings) for run in runs)
