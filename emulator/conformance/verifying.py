"""A captured run against its emulation: read, predict, compare, and judge races by their spread.

First the run is predicted by a machine without chance, at its average (:func:`rebuild` without a
seed). Where something lies outside, its outcome may have been a race: then the run is played
under many seeds, each a machine with the noise of the real one, and what was outside is inside
if the real outcome lies within the spread of the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from emulator.conformance.captured.capture import Capture, read_capture, why_not_comparable
from emulator.conformance.captured.offsets_dump import dump_of, entries, read_dump
from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.figures import (
    Figure,
    Terms,
    compare,
    compare_records,
    judged_by_spread,
    terms_of,
)
from emulator.conformance.history.run import history
from emulator.conformance.observed import Observed, observe
from emulator.conformance.offsets_log import Appended, outline
from emulator.conformance.prediction.rebuild import Rebuilt, rebuild
from emulator.events import Event
from emulator.scenario.estimate import refuse_large
from emulator.scenario.load import check
from emulator.world.build import play

SEEDS = 200
"""How many seeds show the spread of a race."""

Figures = tuple[Figure, ...]
Made = TypeVar("Made")


class Play(NamedTuple):
    """One emulation of a captured run."""

    path: Path
    seed: int | None
    """None: the calm prediction, without chance."""


PlayAll = Callable[[Sequence[Play]], Iterable[Figures]]
"""Compares each play with its capture, in order; processes may share the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one captured run."""

    capture: str
    """Its scenario and run, ``crash-range-auto/run-1``."""

    skipped: str | None = None
    """Why it was not compared, if it was not."""

    figures: Figures = ()
    seeds: int = 0
    """By how many seeds it was judged; 0: the calm prediction was enough."""

    @property
    def outside(self) -> Figures:
        """The figures that differ by more than is allowed."""
        return tuple(figure for figure in self.figures if not figure.inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """The real side of a captured run, read once."""

    capture: Capture
    terms: Terms
    observed: Observed
    records: tuple[str, ...] | None
    """The outline of the group's offsets log, where it was dumped."""


def verify(path: Path, seeds: int = SEEDS, play_all: PlayAll | None = None) -> Verdict:
    """Hold the captured run at *path* against its emulation.

    *seeds*: how many show the spread of a race; 0: only the calm prediction counts. *play_all*:
    for those who have several processes; by default one play comes after the other. Raises
    CaptureError if the capture is not sound.
    """
    capture = _capture(path)
    skipped = why_not_comparable(capture)
    if skipped is not None:
        return Verdict(capture=capture.name, skipped=skipped)
    calm = figures_of(Play(path, None))
    if not seeds or all(figure.inside for figure in calm):
        return Verdict(capture=capture.name, figures=calm)
    plays = [Play(path, seed) for seed in range(1, seeds + 1)]
    spread = tuple(map(figures_of, plays) if play_all is None else play_all(plays))
    return Verdict(capture=capture.name, figures=judged_by_spread(calm, spread), seeds=seeds)


def forget() -> None:
    """Forget what was read: the files may have changed since."""
    _capture.cache_clear()
    _real.cache_clear()


def figures_of(wanted: Play) -> Figures:
    """Play a captured run's emulation once, and compare; raise CaptureError if it is not sound."""
    real = _real(wanted.path)
    rebuilt = _rebuilt(real.capture, wanted.seed)
    happened: list[Event] = []
    log = Appended()
    replayed = replace(rebuilt.replay(), appended=log.add_batch, by_record=real.terms.broker_failed)
    sinks = (happened.append,)
    play(rebuilt.scenario, wanted.seed or 0, sinks, replay=replayed, folding=False)
    figures = compare(real.observed, observe(happened, real.terms.view), real.terms)
    if real.records is None:
        return figures
    emulated = outline(log.entries, real.capture.prefix)
    return (*figures, compare_records(real.records, emulated))


_capture = lru_cache(maxsize=1)(read_capture)


@lru_cache(maxsize=1)
def _real(path: Path) -> Real:
    return _sound(path, lambda: _read_real(_capture(path)))


def _read_real(capture: Capture) -> Real:
    terms = terms_of(capture)
    dump = dump_of(capture.path, capture.group)
    records = None
    if dump is not None:
        until_ms = (capture.origin + capture.end_us) // 1_000
        log = entries(read_dump(dump), capture.group, until_ms)
        records = tuple(outline(log, capture.prefix))
    observed = observe(history(capture), terms.view)
    return Real(capture=capture, terms=terms, observed=observed, records=records)


def _rebuilt(capture: Capture, seed: int | None) -> Rebuilt:
    """Rebuild a capture as a scenario that can be played."""

    def build() -> Rebuilt:
        rebuilt = rebuild(capture, seed)
        rebuilt.replay()
        return rebuilt

    rebuilt = _sound(capture.path, build)
    check(rebuilt.scenario, str(capture.path))
    refuse_large(rebuilt.scenario, str(capture.path))
    return rebuilt


def _sound(path: Path, make: Callable[[], Made]) -> Made:
    """Make something of a capture alone; if that fails, its files contradict each other."""
    try:
        return make()
    except CaptureError:
        raise
    except (ArithmeticError, AssertionError, LookupError, StopIteration, ValueError) as error:
        reason = f"its files contradict each other ({type(error).__name__}: {error})"
        raise CaptureError(str(path), reason) from error
