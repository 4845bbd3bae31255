"""Real against emulated, figure by figure: what is compared, and what may differ by how much.

=================== =========================================================================
figure              rule
=================== =========================================================================
generations         equal: the numbers, in the order some member was first assigned in them
rebalances          equal: how many of them came after the fault
assignments.N       equal: what each consumer owned after its ``assigned`` call of generation N
calls.M             equal: listener calls of consumer M and their partitions, in order; the order
                    of partitions within a call is not compared
epochs              equal, of the consumer protocol: those that the group had
targets.N           equal: what each consumer was to have in epoch N
steps.M             equal: the epochs and states that consumer M went through, and what it had in
                    each, as the coordinator saw it
duplicates, lost    as many as a quarter second of work or production in each partition that has
                    a real or emulated one, at least 5 (:func:`tolerance`); also by partition
takeover_first_s    10 %, or 0.5 s if that is more (0.3 s on a quiet machine)
takeover_last_s     shown only: the order among inherited partitions is not compared
stall_first_s       where brokers fail: how long the partition that went on first stood still
stall_last_s        (:mod:`emulator.conformance.stalls`), and the one that did last; 10 %, or 0.5 s if
                    that is more
stalls.M[n]         the same of the partitions that consumer M owned at the fault, each of them:
                    the n-th shortest is held against the n-th shortest
stall.P             shown only: the order in which a consumer works backlogs off is not compared
commit_wait_s       where brokers fail: the longest time from sending a commit, after the fault, to
                    the answer that it was accepted; 10 %, or 0.5 s if that is more; shown only
                    where the coordinator's broker was killed: nobody waits for one that is gone
first_commit_s      shown only: from the fault to the first of these answers; when members come to
                    commit again depends on how their polls fall
commits.M           shown only: how many there were is a matter of time
records             the offsets log's records of the group (:mod:`emulator.conformance.offsets_log`)
=================== =========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median
from typing import Any

from emulator.conformance.captured.capture import Capture
from emulator.conformance.observed import Observed, View

SHARE_S = 0.25
LEAST = 5
TAKEOVER_SHARE = 0.1
TAKEOVER_S = 0.5
TAKEOVER_QUIET_S = 0.3
STALL_SHARE = 0.1
STALL_S = 0.5

EQUAL = "equal"
SHOWN = "not judged"

HITS_A_CONSUMER = ("sigkill", "sigterm", "sigstop", "hang")
"""Actions whose ``member`` is the one that suffers; ``start`` names one that comes."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing compared; the values are what JSON can hold."""

    name: str
    real: Any
    emulated: Any
    allowed: float | str
    """How much they may differ; or :data:`EQUAL`, :data:`SHOWN`, or the spread of the seeds."""

    inside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """By what a run is judged."""

    view: View
    tolerance: float
    """Duplicates or losses in one partition."""

    takeover_s: float
    broker_failed: bool = False
    coordinator_killed: bool = False


def terms_of(capture: Capture) -> Terms:
    """Return the terms of one captured run."""
    first = capture.actions[0] if capture.actions else None
    hit = first is not None and first.do in HITS_A_CONSUMER
    rate = max(produced.rate for produced in capture.productions)
    return Terms(
        view=View(
            prefix=capture.prefix,
            fault_us=capture.fault_us,
            faulted=first.member if first is not None and hit else None,
            end_us=capture.end_us,
        ),
        tolerance=tolerance(rate, median_work_us(capture)),
        takeover_s=TAKEOVER_QUIET_S if capture.quiet else TAKEOVER_S,
        broker_failed=capture.broker_failed,
        coordinator_killed=capture.coordinator_killed,
    )


def median_work_us(capture: Capture) -> int:
    """Return the median time a record took, over those done before the run's end."""
    taken = [
        entry.at_us - entry.began_us
        for trace in capture.traces
        for entry in trace.worked()
        if entry.at_us <= capture.end_us
    ]
    return round(median(taken)) if taken else 0


def tolerance(rate: float, work_us: int) -> float:
    """Return how many records of one partition may differ.

    *rate*: records a second to each partition. A quarter second of what is produced to it or of
    what one member works off, whichever is more.
    """
    return max(LEAST, SHARE_S * max(rate, 1_000_000 / work_us if work_us else 0.0))


def compare(real: Observed, emulated: Observed, terms: Terms) -> tuple[Figure, ...]:
    """Return the figures of one captured run and its emulation."""
    return (
        _equal("generations", list(real.generations), list(emulated.generations)),
        _equal("rebalances", real.rebalances, emulated.rebalances),
        *_mapped("assignments", real.assignments, emulated.assignments),
        *_mapped("calls", real.calls, emulated.calls),
        *_epochs(real, emulated),
        *_counted("duplicates", real.duplicates, emulated.duplicates, terms),
        *_counted("lost", real.lost, emulated.lost, terms),
        *_takeovers(real.takeovers, emulated.takeovers, terms),
        *(_stalls(real, emulated, terms) if terms.broker_failed else ()),
        *_shown("commits", real.commits, emulated.commits),
    )


def compare_records(real: Sequence[str], emulated: Sequence[str]) -> Figure:
    """Return the figure of two outlines of the group's offsets log."""
    return _equal("records", list(real), list(emulated))


def _equal(name: str, real: Any, emulated: Any) -> Figure:
    return Figure(name, real, emulated, EQUAL, real == emulated)


def _keys(real: Mapping[Any, Any], emulated: Mapping[Any, Any]) -> list[Any]:
    return sorted(real.keys() | emulated.keys())


def _mapped(name: str, real: Mapping[Any, Any], emulated: Mapping[Any, Any]) -> Iterator[Figure]:
    for key in _keys(real, emulated):
        yield _equal(f"{name}.{key}", plain(real.get(key)), plain(emulated.get(key)))


def _epochs(real: Observed, emulated: Observed) -> Iterator[Figure]:
    if real.epochs or emulated.epochs:
        yield _equal("epochs", list(real.epochs), list(emulated.epochs))
        yield from _mapped("targets", real.targets, emulated.targets)
        yield from _mapped("steps", real.steps, emulated.steps)


def _shown(name: str, real: Mapping[str, float], emulated: Mapping[str, float]) -> Iterator[Figure]:
    for key in _keys(real, emulated):
        yield Figure(f"{name}.{key}", real.get(key, 0), emulated.get(key, 0), SHOWN, True)


def _counted(
    name: str, real: Mapping[str, int], emulated: Mapping[str, int], terms: Terms
) -> Iterator[Figure]:
    touched = _keys(real, emulated)
    yield _near(name, sum(real.values()), sum(emulated.values()), len(touched) * terms.tolerance)
    for key in touched:
        yield _near(f"{name}.{key}", real.get(key, 0), emulated.get(key, 0), terms.tolerance)


def _near(name: str, real: float | None, emulated: float | None, allowed: float) -> Figure:
    if real is None or emulated is None:
        return Figure(name, real, emulated, allowed, real is emulated)
    return Figure(name, real, emulated, allowed, abs(real - emulated) <= allowed)


def _takeovers(
    real: Mapping[str, float], emulated: Mapping[str, float], terms: Terms
) -> Iterator[Figure]:
    first = min(real.values(), default=None)
    allowed = max(terms.takeover_s, TAKEOVER_SHARE * (first or 0.0))
    yield _near("takeover_first_s", first, min(emulated.values(), default=None), round(allowed, 3))
    last = (max(real.values(), default=None), max(emulated.values(), default=None))
    yield Figure("takeover_last_s", *last, SHOWN, True)


def _stalls(real: Observed, emulated: Observed, terms: Terms) -> Iterator[Figure]:
    ours, theirs = real.stalls.values(), emulated.stalls.values()
    yield _lasting("stall_first_s", min(ours, default=None), min(theirs, default=None))
    yield _lasting("stall_last_s", max(ours, default=None), max(theirs, default=None))
    yield from _stalls_of_consumers(real, emulated)
    yield from _shown("stall", real.stalls, emulated.stalls)
    waits = ("commit_wait_s", real.commit_wait_s, emulated.commit_wait_s)
    yield Figure(*waits, SHOWN, True) if terms.coordinator_killed else _lasting(*waits)
    yield Figure("first_commit_s", real.first_commit_s, emulated.first_commit_s, SHOWN, True)


def _stalls_of_consumers(real: Observed, emulated: Observed) -> Iterator[Figure]:
    ours, theirs = _sorted_stalls(real), _sorted_stalls(emulated)
    for consumer in _keys(ours, theirs):
        pairs = zip_longest(ours.get(consumer, ()), theirs.get(consumer, ()))
        for number, (one, other) in enumerate(pairs, 1):
            yield _lasting(f"stalls.{consumer}[{number}]", one, other)


def _sorted_stalls(seen: Observed) -> dict[str, list[float]]:
    """Return how long partitions stood still, by the consumer that owned them at the fault."""
    found: dict[str, list[float]] = {}
    for partition, lasted in seen.stalls.items():
        found.setdefault(seen.owners.get(partition, "nobody"), []).append(lasted)
    return {consumer: sorted(stalls) for consumer, stalls in found.items()}


def _lasting(name: str, real: float | None, emulated: float | None) -> Figure:
    allowed = max(STALL_S, STALL_SHARE * (real or 0.0))
    return _near(name, real, emulated, round(allowed, 3))


def plain(value: Any) -> Any:
    """Return a value as JSON will give it back: lists for tuples, keys as sorted strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return value


def inside_spread(real: Any, values: Sequence[Any]) -> bool:
    """Say whether the real outcome of a race could have come out of one of these seeds.

    A number lies within if it is not below the smallest nor above the largest of the values;
    anything else (a list of calls, a takeover that never came) must be one of them.
    """
    numbers = [value for value in values if _is_number(value)]
    if _is_number(real) and numbers:
        return bool(min(numbers) <= real <= max(numbers))
    return real in values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def judged_by_spread(
    figures: Sequence[Figure], seeds: Sequence[Sequence[Figure]]
) -> tuple[Figure, ...]:
    """Judge the figures that are outside by the spread of other seeds' figures.

    *seeds* holds the figures of the same capture under each seed. A partition or consumer that
    a seed does not know counts as it would have been compared: none, or nothing.
    """
    by_name = [{figure.name: figure.emulated for figure in seed} for seed in seeds]
    return tuple(
        figure if figure.inside else _spread(figure, [_value(figure, seed) for seed in by_name])
        for figure in figures
    )


def _value(figure: Figure, seed: Mapping[str, Any]) -> Any:
    counted = figure.name.startswith(("duplicates", "lost"))
    return seed.get(figure.name, 0 if counted else None)


def _spread(figure: Figure, values: Sequence[Any]) -> Figure:
    numbers = [value for value in values if _is_number(value)]
    if numbers and _is_number(figure.real):
        allowed = f"{min(numbers)} to {max(numbers)} in {len(values)} seeds"
    else:
        allowed = f"one of {len(values)} seeds"
    inside = inside_spread(figure.real, values)
    return Figure(figure.name, figure.real, figure.emulated, allowed, inside)


def as_json(capture: str, figures: Sequence[Figure]) -> dict[str, Any]:
    """Return one run's line of ``--json``."""
    return {
        "capture": capture,
        "inside": all(figure.inside for figure in figures),
        "figures": [
            {
                "name": figure.name,
                "real": figure.real,
                "emulated": figure.emulated,
                "allowed": figure.allowed,
                "inside": figure.inside,
            }
            for figure in figures
        ],
    }
