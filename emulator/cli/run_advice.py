"""``rebalance run --advise``: try the changes that the hints of a run recommend."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.cli.progress import Progress, announce
from emulator.loading import LoadedScenario
from emulator.report.subject import FinishedRun

if TYPE_CHECKING:
    from emulator.playing import Run
    from emulator.sweeps import SeedRun


def with_trials(
    loaded: LoadedScenario,
    report: FinishedRun,
    known: Sequence[Run | SeedRun],
    *,
    seeds: Sequence[int] | None,
    advise: bool | None,
    jobs: int | None,
    as_json: bool = False,
) -> FinishedRun:
    """Return the report with trials of its proposals, if they are wanted.

    *known*: runs of the scenario as it is. *seeds*: None takes as many as a few seconds allow, from the
    first of *known* on, and more if these show no effect. *advise*: None tries cheap changes on a terminal,
    with that seed alone if it shows an effect.
    """
    if not report.proposals or (advise is None and (as_json or not sys.stdout.isatty())):
        return report
    from emulator.advice.cost import rarer_within, round_s
    from emulator.sweeps import seeds_from

    each_s = round_s(loaded, report.proposals)
    seeds, rarer_s = _seeds_of_trials(loaded, known[0].seed, each_s, seeds=seeds, advise=advise)
    if not seeds:
        return report
    from emulator.advice.trials import try_out

    more = rarer_within(each_s, len(seeds), rarer_s)
    runs = round(each_s * len(seeds) / round_s(loaded, ()))
    expected_s = announce(loaded.scenario, max(1, runs - 1), jobs)
    with Progress("trials", expected_s=expected_s) as progress:
        trials = try_out(
            loaded,
            report.proposals,
            seeds,
            known={run.seed: run for run in known},
            more=seeds_from(loaded.scenario, seeds[-1] + 1, more),
            jobs=jobs,
            progress=progress.show,
        )
    return replace(report, trials=trials)


def _seeds_of_trials(
    loaded: LoadedScenario,
    first: int,
    each_s: float,
    *,
    seeds: Sequence[int] | None,
    advise: bool | None,
) -> tuple[Sequence[int], float]:
    """Return the seeds of trials that take *each_s* seconds for one seed, and the seconds for more seeds.

    No seeds: they are not wanted, as they would take too long.
    """
    from emulator.advice.cost import CHEAP_S, RARE_S, seeds_within
    from emulator.sweeps import seeds_from

    if advise is None:
        return ([first], CHEAP_S) if each_s <= CHEAP_S else ([], 0.0)
    if seeds is None:
        return seeds_from(loaded.scenario, first, seeds_within(each_s)), RARE_S
    return seeds, 0.0


def advice_lines(loaded: LoadedScenario, report: FinishedRun) -> Iterator[str]:
    """Yield the trials of a run, or the command that makes them, or that there is no change to try."""
    if report.trials:
        from emulator.report.screens.trials import trials_screen

        yield from trials_screen(report)
    elif report.proposals:
        from emulator.advice.cost import cost_of
        from emulator.report.proposal_wording import not_tried

        cost = cost_of(loaded, report.proposals)
        yield from not_tried(report, cost.first_s, cost.longest_s)
    else:
        from emulator.report.proposal_wording import nothing_to_try

        yield ""
        yield from nothing_to_try(report, has_variants=bool(loaded.scenario.variant))
