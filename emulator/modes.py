"""Play a scenario in both modes and compare the results: ``emulator.check_modes``.

Both modes have to give the same events, ledger, metrics, findings, offsets log and digest. Only the
folded share of the members' time differs. The folded run is played twice: with single events and,
as by default, with sums of commits (:mod:`emulator.events`).
"""

from __future__ import annotations

import filecmp
from array import array
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from assignors.values import dataclass
from emulator.events import Event
from emulator.logs.offsets_log.writing import LogFolder
from emulator.playing import EXACT, FOLDED, Run, run
from emulator.processes import OnProgress
from emulator.scenario.model import Scenario
from emulator.sweeps import Task, for_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ModeSink = Callable[[str, Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeCheck:
    """The comparison of the folded and the exact run of one scenario and seed."""

    run: Run
    """The folded run, without its events."""

    events: int
    """The number of events of the folded run."""

    difference: str | None
    """The first difference; None: both runs are equal."""

    @property
    def equal(self) -> bool:
        """Whether both runs are equal."""
        return self.difference is None


def check_modes(
    scenario: Scenario, seed: int | None = None, *, sink: ModeSink | None = None
) -> ModeCheck:
    """Play a scenario in folded and in exact mode and compare everything that leaves the runs.

    *seed*: by default the scenario's own. *sink*: called with the mode and each event.

    Raises ``assignors.errors.AssignorError`` if the user's own assignor fails, and ``OSError`` if
    the offsets logs cannot be written to the folder for temporary files.
    """
    with TemporaryDirectory(prefix="rebalance-check-") as name:
        folder = Path(name)
        folded = _played(scenario, seed, FOLDED, folder, sink)
        exact = _played(scenario, seed, EXACT, folder, sink)
        summed = run(scenario, seed, keep_events=False)
        difference = (
            _first_event(scenario, seed, folded, exact)
            or _first_result(folded.run, exact.run)
            or _first_result(summed, exact.run)
            or _first_file(folder / FOLDED, folder / EXACT)
        )
    return ModeCheck(run=folded.run, events=len(folded.prints), difference=difference)


class _Played(NamedTuple):
    """A run, and a hash of each of its events."""

    run: Run
    prints: array[int]


def _played(
    scenario: Scenario, seed: int | None, mode: str, folder: Path, sink: ModeSink | None
) -> _Played:
    """Play one mode; write its offsets log below *folder*."""
    prints = array("q")

    def feed(event: Event) -> None:
        prints.append(hash(repr(event)))
        if sink is not None:
            sink(mode, event)

    with LogFolder(folder / mode) as log_files:
        played = run(scenario, seed, keep_events=False, mode=mode, sink=feed, log_files=log_files)
    return _Played(played, prints)


def check_all(
    tasks: Sequence[Task],
    jobs: int | None,
    folder: Path | None = None,
    progress: OnProgress | None = None,
) -> Iterator[ModeCheck]:
    """Yield the comparison of both modes for each task, in order; see :func:`check_modes`."""
    return for_each(_check_task, tasks, jobs, folder, progress)


def _check_task(task: Task) -> ModeCheck:
    return check_modes(task.scenario, task.seed)


# -- the first difference ----------------------------------------------------------------------


def _first_event(
    scenario: Scenario, seed: int | None, folded: _Played, exact: _Played
) -> str | None:
    """Return the first event that only one mode has; both runs are played up to it again."""
    pairs = enumerate(zip_longest(folded.prints, exact.prints))
    for number, (one, other) in pairs:
        if one != other:
            found = [
                f"{mode}: {_event_text(scenario, seed, mode, number)}" for mode in (FOLDED, EXACT)
            ]
            return "\n".join([f"event number {number + 1:,} is different", *found])
    return None


class _FoundError(Exception):
    """Ends a run at the event that was wanted."""

    def __init__(self, event: Event) -> None:
        super().__init__(str(event))
        self.event = event


def _event_text(scenario: Scenario, seed: int | None, mode: str, number: int) -> str:
    """Return event *number*, counted from 0, as text."""
    left = number

    def feed(event: Event) -> None:
        nonlocal left
        if not left:
            raise _FoundError(event)
        left -= 1

    try:
        run(scenario, seed, keep_events=False, mode=mode, sink=feed)
    except _FoundError as found:
        return f"at {found.event.at_us:,} us: {found.event.what!r}, cause {found.event.cause}"
    return "no event, the run ended before"


def _first_result(folded: Run, exact: Run) -> str | None:
    """Return the first different result of two runs."""
    for name in ("digest", "ledger", "metrics", "findings", "verdicts"):
        one, other = getattr(folded, name), getattr(exact, name)
        if one != other:
            return f"the {name} differs\n{FOLDED}: {one!r}\n{EXACT}: {other!r}"
    return None


def _first_file(folded: Path, exact: Path) -> str | None:
    """Return the first segment of the offsets log that differs."""
    files = {path.relative_to(root) for root in (folded, exact) for path in root.rglob("*.log")}
    for name in sorted(files):
        both = folded / name, exact / name
        if not all(path.is_file() for path in both) or not filecmp.cmp(*both, shallow=False):
            return f"the offsets log differs: {name}"
    return None
