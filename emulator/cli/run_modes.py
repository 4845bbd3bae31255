"""``rebalance run --mode check``: play a scenario in both modes, and print whether they are equal."""

from __future__ import annotations

from collections.abc import Callable

from emulator.cli.output import say_json, say_report
from emulator.cli.progress import Length, Progress, length_of
from emulator.events import Event
from emulator.loading import LoadedScenario
from emulator.modes import check_all, check_modes
from emulator.report.screens.modes import CheckedRun, modes_document, modes_screen
from emulator.scenario.writing import manifest
from emulator.subjects import subject_of
from emulator.sweeps import Task, seeds_from


def check(
    loaded: LoadedScenario, first: int | None, seeds: int | None, jobs: int | None, *, as_json: bool
) -> bool:
    """Play the seeds in both modes and print the comparison; return whether all are equal."""
    scenario = loaded.scenario
    tasks = [Task(scenario, seed) for seed in seeds_from(scenario, first, seeds or 1)]
    with Progress("runs") as progress:
        if len(tasks) == 1:
            checks = [check_modes(*tasks[0][:2], sink=_watcher(progress, length_of(scenario)))]
        else:
            checks = list(check_all(tasks, jobs, loaded.folder, progress.show))
    checked = [
        CheckedRun(
            seed=each.run.seed,
            digest=each.run.digest,
            events=each.events,
            difference=each.difference,
            folded=each.run.folded.share,
            live=each.run.folded.live_shares(),
        )
        for each in checks
    ]
    if as_json:
        say_json({**manifest(scenario), **modes_document(checked)})
    else:
        say_report(modes_screen(subject_of(loaded), checked))
    return all(each.equal for each in checks)


def _watcher(progress: Progress, length: Length) -> Callable[[str, Event], None]:
    """Return a sink that shows the simulated time of first one mode, then the other."""
    shown = ""

    def watch(mode: str, event: Event) -> None:
        nonlocal shown
        if mode != shown:
            progress.begin(f"simulated seconds, {mode}")
            shown = mode
        progress.watch(event, length)

    return watch
