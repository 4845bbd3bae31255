"""What ``rebalance run`` prints: of an overload the opening before the run, the rest after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from emulator.cli.output import say_report
from emulator.cli.progress import announce_overloads, overloads_of
from emulator.subjects import subject_of

if TYPE_CHECKING:
    from emulator.loading import LoadedScenario
    from emulator.report.screens.seeds import Tally
    from emulator.report.subject import FinishedRun


def say_overload(loaded: LoadedScenario, seed: int | None, *, as_json: bool) -> list[str]:
    """Print the opening before the run, if the scenario is overloaded; return what was printed.

    Beside JSON print the overload alone, on stderr.
    """
    if not _has_overload(loaded, as_json=as_json):
        return []
    from emulator.report.screens.run import opening

    return _said(opening(subject_of(loaded), loaded.scenario.seed if seed is None else seed))


def say_run(report: FinishedRun, said: list[str]) -> list[str]:
    """Print what is not *said* yet of the screen of a run, and return the screen."""
    from emulator.report.screens.run import opening, results

    begin = said or _said(opening(report.subject, report.seed))
    return [*begin, *_said(results(report))]


def say_overload_of_seeds(
    loaded: LoadedScenario, first: int | None, count: int, *, as_json: bool
) -> list[str]:
    """Do the same as :func:`say_overload` before the runs of many seeds."""
    if not _has_overload(loaded, as_json=as_json):
        return []
    from emulator.report.screens.seeds import opening
    from emulator.sweeps import seeds_from

    return _said(opening(subject_of(loaded), seeds_from(loaded.scenario, first, count)))


def say_seeds(loaded: LoadedScenario, tally: Tally, said: list[str]) -> list[str]:
    """Print what is not *said* yet of the summary of many seeds, and return the summary."""
    from emulator.report.screens.seeds import opening, results

    subject = subject_of(loaded)
    begin = said or _said(opening(subject, tally.seeds))
    return [*begin, *_said(results(subject, tally))]


def _has_overload(loaded: LoadedScenario, *, as_json: bool) -> bool:
    """Return whether the opening has to be printed before the run."""
    if as_json:
        announce_overloads(loaded.scenario)
    return not as_json and bool(overloads_of(loaded.scenario))


def _said(lines: Iterable[str]) -> list[str]:
    screen = list(lines)
    say_report(screen)
    return screen
