"""Try the changes that the hints of a run recommend: ``emulator.advise``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.advice.cost import rarer_within, round_s, seeds_within
from emulator.advice.proposing import MAX_CHANGES, propose
from emulator.advice.trials import Played, try_out
from emulator.events import Event
from emulator.loading import LoadedScenario, load_text, text_of_scenario
from emulator.playing import Run, run
from emulator.processes import OnProgress
from emulator.report.group_state import Describer
from emulator.report.hints.cases import GivenHint
from emulator.report.hints.given import hints_of
from emulator.report.proposal_wording import advice_document
from emulator.report.proposals import Proposal, Trial
from emulator.report.subject import FinishedRun
from emulator.report.timeline import Timeline
from emulator.scenario.model import Scenario
from emulator.scenario.resolution import contested_groups
from emulator.subjects import finished_run
from emulator.sweeps import seeds_from
from emulator.tables import html_table


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advice:
    """The hints of a run, the changes that they recommend, and trials of these."""

    run: Run
    """The run of the first seed."""

    report: FinishedRun
    """The report of that run, with the trials."""

    @property
    def hints(self) -> tuple[GivenHint, ...]:
        """The hints of the run; each has an id with a section in ``docs/reference/advice.md``."""
        return tuple(hints_of(self.report))

    @property
    def changes(self) -> tuple[Proposal, ...]:
        """The changes, each with its reason and its overrides."""
        return self.report.proposals

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials of the changes, the most useful first."""
        return self.report.trials

    def __repr__(self) -> str:
        """Return one line with the effect of each change."""
        effects = ", ".join(f"{trial.proposal.title}: {trial.effect}" for trial in self.trials)
        return f"<Advice for {self.run.scenario.title!r}: {effects or 'no change to try'}>"

    def __str__(self) -> str:
        """Return the hints and trials as ``rebalance run --advise`` prints them."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (f"- {hint}" for hint in self.hints)
        if self.trials:
            from emulator.report.screens.trials import trials_screen  # noqa: PLC0415  for people

            yield from trials_screen(self.report)

    def _repr_html_(self) -> str:
        """Return the trials as an HTML table."""
        from emulator.report.proposal_wording import cell, columns_of, verdict_of  # noqa: PLC0415

        shown = columns_of(self.trials)
        rows = [
            (trial.proposal.title, *(cell(trial, name) for name in shown), verdict_of(trial))
            for trial in self.trials
        ]
        title = f"Changes of {self.run.scenario.title}"
        return html_table(title, ("change", *shown.values(), "effect"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Return ``advice`` of ``rebalance run --advise --json``."""
        return advice_document(self.report)


def advise(
    scenario: Scenario | str | Path,
    seeds: int | Sequence[int] | None = None,
    *,
    first: int | None = None,
    overrides: Sequence[str] = (),
    most: int = MAX_CHANGES,
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Advice:
    """Play a scenario, and try the first changes that its hints recommend, under the same seeds.

    *scenario*: a scenario, or the path or catalogue name of one, changed by *overrides*. *seeds*:
    their number, from *first* (by default the scenario's own) on, or the seeds themselves; by default
    as many as take about 5 s of CPU time, from 3 to 5 (fewer if 3 take more than a minute), and up to 20
    if these show no effect of any change. The hints are those of the first seed. *most*:
    the number of changes to try. *jobs*, *progress*: as for :func:`emulator.sweep`.

    Raises ``EmulatorError``. With several *jobs* call it below ``if __name__ == "__main__"`` in a
    script: worker processes import the script.

    >>> advise("quiet", 1, overrides=["run_for=5s"])
    <Advice for 'nothing happens': no change to try>
    """
    loaded = load_text(text_of_scenario(scenario), overrides, allow_large=True)
    begin = first if seeds is None or isinstance(seeds, int) else seeds[0]
    played, report = reported(loaded, begin, most)
    more = 0
    if seeds is None:
        each_s = round_s(loaded, report.proposals)
        seeds = seeds_within(each_s) if report.proposals else 1
        more = rarer_within(each_s, seeds) if report.proposals else 0
    if isinstance(seeds, int):
        seeds = seeds_from(loaded.scenario, played.seed, seeds)
    known: dict[int, Played] = {played.seed: played}
    trials = try_out(
        loaded,
        report.proposals,
        seeds,
        known=known,
        more=seeds_from(loaded.scenario, seeds[-1] + 1, more),
        jobs=jobs,
        progress=progress,
    )
    return Advice(run=played, report=replace(report, trials=trials))


def reported(
    loaded: LoadedScenario, seed: int | None, most: int = MAX_CHANGES
) -> tuple[Run, FinishedRun]:
    """Play one seed; return the run and its report with proposals."""
    timeline, describer = Timeline(contested_groups(loaded.scenario)), Describer()

    def feed(event: Event) -> None:
        timeline.feed(event)
        describer.feed(event)

    played = run(loaded.scenario, seed, keep_events=False, sink=feed, each_commit=False)
    report = finished_run(loaded, played, timeline, describer.groups, propose_changes=False)
    proposals = propose(loaded, report, hints_of(report), most)
    return played, replace(report, proposals=proposals)
