"""Verify the emulator with captured runs of a real Kafka: ``emulator.verify``.

A captured run is first predicted deterministically: :func:`rebuild` without a seed uses mean
delays. A figure that differs by more than its tolerance may be the outcome of a race. Then the run
is played with many seeds, each with the random delays of the real machine, and the figure is
inside if the real value lies within the range of the seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from assignors.values import dataclass
from emulator.conformance.captured.capture import (
    Capture,
    find_runs,
    read_capture,
    why_not_comparable,
)
from emulator.conformance.captured.offsets_dump import dump_of, entries, read_dump
from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.figures import (
    Figures,
    Tolerances,
    Verdict,
    compare,
    compare_records,
    judge_by_seeds,
    tolerances_of,
)
from emulator.conformance.history.run import history
from emulator.conformance.observed import Observed, observe
from emulator.conformance.offsets_log import Appended, LogEntry, outline
from emulator.conformance.prediction.rebuild import rebuild
from emulator.conformance.screen import one_run, overview
from emulator.events import Event
from emulator.input_files import each_path
from emulator.processes import cores, parallel_map
from emulator.scenario.estimates.cost_text import refuse_large
from emulator.scenario.load import check
from emulator.scenario.model import Scenario
from emulator.tables import arrow_table, html_table, pandas_frame
from emulator.world.build import play
from emulator.world.consumer.handling.handler import RecordWork
from emulator.world.run import Replay

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

EXAMPLE = Path(__file__).parent / "example"
"""A captured run of Kafka 4.4.0: one of three consumers with range and automatic commits is killed."""

SEEDS = 200
"""Default for the largest number of seeds that show the range of a race."""

JUDGED_EVERY = 10
"""After so many seeds each figure is judged: more seeds only widen the ranges."""

Made = TypeVar("Made")

OnProgress = Callable[[str, int, int], None]
"""Called with a label (``captured runs``, ``seeds of …``), the number done and the total."""


class Play(NamedTuple):
    """One emulation of a captured run."""

    path: Path
    seed: int | None
    """None: the deterministic prediction."""


PlayAll = Callable[[Sequence[Play]], Iterable[Figures]]
"""Returns the figures of each play, in order."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification:
    """The verdicts on captured runs."""

    verdicts: tuple[Verdict, ...]
    """One for each captured run: its figures, or why it was skipped."""

    def __repr__(self) -> str:
        """Return one line with the number of runs inside, outside and skipped."""
        skipped = sum(each.skipped is not None for each in self.verdicts)
        outside = sum(bool(each.outside) for each in self.verdicts)
        inside = len(self.verdicts) - skipped - outside
        return f"<Verification: {inside} runs inside, {outside} outside, {skipped} skipped>"

    def _repr_html_(self) -> str:
        """Return an HTML table with one row for each run."""
        rows = [
            (
                each.capture,
                "skipped" if each.skipped else "OUTSIDE" if each.outside else "inside",
                each.skipped or ", ".join(figure.name for figure in each.outside),
            )
            for each in self.verdicts
        ]
        return html_table("captured runs", ("run", "verdict", "details"), rows)

    @property
    def ok(self) -> bool:
        """Whether no figure of any run is outside."""
        return not any(verdict.outside for verdict in self.verdicts)

    def lines(self) -> Iterator[str]:
        """Yield the report: one run figure by figure, or a table of several runs."""
        only = self.verdicts[0] if len(self.verdicts) == 1 else None
        return overview(self.verdicts) if only is None else one_run(only)

    def to_arrow(self) -> pa.Table:
        """Return one row for each figure of each compared run; values are JSON texts."""
        rows = [
            {
                "capture": each.capture,
                "seeds": each.seeds,
                **figure.as_json(),
                "real": json.dumps(figure.real),
                "emulated": json.dumps(figure.emulated),
                "allowed": str(figure.allowed),
            }
            for each in self.verdicts
            for figure in each.figures
        ]
        return arrow_table(rows)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of :meth:`to_arrow` as a pandas data frame."""
        return pandas_frame(self.to_arrow())


def verify(
    captures: str | Path | Sequence[str | Path],
    seeds: int = SEEDS,
    *,
    jobs: int | None = None,
    progress: OnProgress | None = None,
) -> Verification:
    """Compare captured runs of a real Kafka with their emulation.

    *captures*: folders, each a captured run, a folder of runs, or a folder of such folders
    (format: tests/captures/README.md). *seeds*: the most that are played if a figure is outside, until
    all are inside; 0: only the deterministic prediction counts. *jobs*: processes; by default one for each CPU core.
    *progress*: called with the number of finished runs and of all.

    Raises ``CaptureError`` if a capture is invalid; with several runs, before any is played.
    """
    paths = each_path(captures)
    runs = [run for path in paths for run in find_runs(_with_parents(Path(path)))]
    if len(runs) > 1:
        for run in runs:
            read_capture(run)
    verdicts = []
    for done, run in enumerate(runs):
        if progress is not None:
            progress("captured runs", done, len(runs))
        play_all = partial(_play_all, jobs=jobs or cores(), progress=progress)
        verdicts.append(verify_run(run, seeds, play_all))
    return Verification(verdicts=tuple(verdicts))


def _with_parents(path: Path) -> Path:
    """Return a path whose parent folder can be named."""
    return path.resolve() if path.name in ("", "..") else path


def _play_all(plays: Sequence[Play], jobs: int, progress: OnProgress | None) -> Iterator[Figures]:
    name = "/".join(plays[0].path.parts[-2:])
    count = None if progress is None else partial(progress, f"seeds of {name}")
    return parallel_map(figures_of, plays, jobs=jobs, progress=count)


def verify_run(path: Path, seeds: int = SEEDS, play_all: PlayAll | None = None) -> Verdict:
    """Compare the captured run at *path* with its emulation.

    *seeds*: the most that are played if a figure is outside, until all are inside; 0: only the
    deterministic prediction counts. *play_all*: by default one play after the other.
    Raises ``CaptureError`` if the capture is invalid.
    """
    capture = _capture(path)
    skipped = why_not_comparable(capture)
    if skipped is not None:
        return Verdict(capture=capture.name, skipped=skipped)
    predicted = figures_of(Play(path, None))
    if not seeds or all(figure.inside for figure in predicted):
        return Verdict(capture=capture.name, figures=predicted)
    plays = [Play(path, seed) for seed in range(1, seeds + 1)]
    played = iter(map(figures_of, plays) if play_all is None else play_all(plays))
    of_seeds: list[Figures] = []
    judged = predicted
    while more := tuple(islice(played, JUDGED_EVERY)):
        of_seeds += more
        judged = judge_by_seeds(predicted, of_seeds)
        if all(figure.inside for figure in judged):
            break
    return Verdict(capture=capture.name, figures=judged, seeds=len(of_seeds))


# -- one play ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRun:
    """The real side of the comparison, read once per captured run."""

    capture: Capture
    tolerances: Tolerances
    observed: Observed
    records: tuple[str, ...] | None
    """The outline of the group's offsets log; None if it was not dumped."""


def clear_caches() -> None:
    """Clear the cache of captures, since their files have changed."""
    _capture.cache_clear()
    _real_run.cache_clear()


def figures_of(wanted: Play) -> Figures:
    """Play a captured run once and compare it; raise CaptureError if the capture is invalid."""
    real = _real_run(wanted.path)
    scenario, replay = _rebuilt(real.capture, wanted.seed)
    events: list[Event] = []
    log = Appended()
    records: list[RecordWork] | None = [] if real.tolerances.broker_failed else None
    on_record = None if records is None else records.append
    replay = replace(replay, appended=log.add_batch, on_record=on_record)
    play(scenario, wanted.seed or 0, (events.append,), replay=replay)
    seen = observe(events, real.tolerances.view, records)
    figures = compare(real.observed, seen, real.tolerances)
    if real.records is None:
        return figures
    emulated = _outlined(log.entries, real.capture)
    return (*figures, compare_records(real.records, emulated))


def _outlined(log: Sequence[LogEntry], capture: Capture) -> list[str]:
    """Return the outline of a log; the order within a commit is modelled for the Java client only."""
    is_java = not any("lib" in trace.conf for trace in capture.traces)
    return outline(log, capture.prefix, in_order=is_java)


_capture = lru_cache(maxsize=1)(read_capture)


@lru_cache(maxsize=1)
def _real_run(path: Path) -> RealRun:
    return _sound(path, lambda: _read_real_run(_capture(path)))


def _read_real_run(capture: Capture) -> RealRun:
    tolerances = tolerances_of(capture)
    dump = dump_of(capture.path, capture.group)
    records = None
    if dump is not None:
        until_ms = (capture.origin + capture.end_us) // 1_000
        log = entries(read_dump(dump), capture.group, until_ms)
        records = tuple(_outlined(log, capture))
    observed = observe(history(capture), tolerances.view)
    return RealRun(capture=capture, tolerances=tolerances, observed=observed, records=records)


def _rebuilt(capture: Capture, seed: int | None) -> tuple[Scenario, Replay]:
    """Convert a capture to a valid scenario and the values that its run replays."""

    def build() -> tuple[Scenario, Replay]:
        rebuilt = rebuild(capture, seed)
        return rebuilt.scenario, rebuilt.replay()

    scenario, replay = _sound(capture.path, build)
    check(scenario, str(capture.path))
    refuse_large(scenario, str(capture.path))
    return scenario, replay


def _sound(path: Path, make: Callable[[], Made]) -> Made:
    """Return the result of *make*; if it fails, the files of the capture are inconsistent."""
    try:
        return make()
    except CaptureError:
        raise
    except (ArithmeticError, AssertionError, LookupError, StopIteration, ValueError) as error:
        reason = f"its files contradict each other ({type(error).__name__}: {error})"
        raise CaptureError(str(path), reason) from error
