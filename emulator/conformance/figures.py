"""Compare a real with an emulated run, figure by figure, each with its tolerance.

=================== =========================================================================
figure              rule
=================== =========================================================================
generations         equal: the numbers, in order of the first assignment in each
rebalances          equal: the number of generations after the fault
assignments.N       equal: the partitions of each consumer after its ``assigned`` call of generation N
calls.M             equal: listener calls of consumer M and their partitions, in order; the order
                    of partitions within a call is not compared
epochs              equal, KIP-848 only: the group's epochs
targets.N           equal, KIP-848 only: the target assignment of epoch N
steps.M             equal, KIP-848 only: epochs, states and partitions of consumer M, as the
                    coordinator logged them
duplicates, lost    the records of a quarter second of processing or production for each partition
                    with a real or emulated one, at least 5 (:func:`tolerance`); also by partition
takeover_first_s    10 %, or 0.5 s if that is more (0.3 s on a quiet machine)
takeover_last_s     not judged: the order among inherited partitions is not compared
stall_first_s       after a broker failure: the shortest and the longest stall of a partition
stall_last_s        (:mod:`emulator.conformance.stalls`); 10 %, or 0.5 s if that is more
stalls.M[n]         after a broker failure: the n-th shortest stall of the partitions that consumer
                    M owned at the fault; 10 %, or 0.5 s if that is more
stall.P             not judged: the order in which a consumer processes backlogs is not compared
commit_wait_s       after a broker failure: the longest time from sending a commit to its successful
                    response; 10 %, or 0.5 s if that is more; not judged if the coordinator's broker
                    was killed, since a commit to it is not answered
first_commit_s      not judged: from the fault to the first successful commit, which depends on the
                    phase of the poll loops
commits.M           not judged: the number of commits depends on timing
records             equal: the group's records in the offsets log (:mod:`emulator.conformance.offsets_log`)
=================== =========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from statistics import median
from typing import Any

from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.observed import Observed, View

SHARE_S = 0.25
MIN_RECORDS = 5
TAKEOVER_SHARE = 0.1
TAKEOVER_S = 0.5
TAKEOVER_QUIET_S = 0.3
STALL_SHARE = 0.1
STALL_S = 0.5

EQUAL = "equal"
NOT_JUDGED = "not judged"

CONSUMER_FAULTS = ("sigkill", "sigterm", "sigstop", "hang")
"""Actions whose ``member`` is the consumer that fails."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One compared quantity; its values can be written as JSON."""

    name: str
    real: Any
    emulated: Any
    allowed: float | str
    """The allowed difference; or :data:`EQUAL`, :data:`NOT_JUDGED`, or the range of the seeds."""

    inside: bool

    def as_json(self) -> dict[str, Any]:
        """Return the figure as an object of ``rebalance verify --json``."""
        return {
            "name": self.name,
            "real": self.real,
            "emulated": self.emulated,
            "allowed": self.allowed,
            "inside": self.inside,
        }


Figures = tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one captured run."""

    capture: str
    """Its scenario and run, ``crash-range-auto/run-1``."""

    skipped: str | None = None
    """The reason, if it was not compared."""

    figures: Figures = ()
    seeds: int = 0
    """The number of seeds that were played; 0 if the deterministic prediction was sufficient."""

    @property
    def outside(self) -> Figures:
        """The figures that differ by more than allowed."""
        return tuple(figure for figure in self.figures if not figure.inside)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as ``rebalance verify --json`` prints it."""
        inside = None if self.skipped is not None else not self.outside
        last = {"seeds": self.seeds} if self.skipped is None else {"skipped": self.skipped}
        figures = [figure.as_json() for figure in self.figures]
        return {"capture": self.capture, "inside": inside, "figures": figures, **last}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerances:
    """The tolerances of one captured run, and how its events are read."""

    view: View
    tolerance: float
    """Allowed difference of duplicates or losses in one partition, in records."""

    takeover_s: float
    broker_failed: bool = False
    coordinator_killed: bool = False


def tolerances_of(capture: Capture) -> Tolerances:
    """Return the tolerances of one captured run."""
    first = capture.actions[0] if capture.actions else None
    hit = first is not None and first.do in CONSUMER_FAULTS
    rate = max(produced.rate for produced in capture.productions)
    return Tolerances(
        view=View(
            prefix=capture.prefix,
            fault_us=capture.fault_us,
            faulted=first.member if first is not None and hit else None,
            end_us=capture.end_us,
            counted=capture.without_epochs,
        ),
        tolerance=tolerance(rate, median_work_us(capture)),
        takeover_s=TAKEOVER_QUIET_S if capture.quiet else TAKEOVER_S,
        broker_failed=capture.broker_failed,
        coordinator_killed=capture.coordinator_killed,
    )


def median_work_us(capture: Capture) -> int:
    """Return the median processing time of a record, over those done before the run's end."""
    taken = [
        entry.at_us - entry.began_us
        for trace in capture.traces
        for entry in trace.worked()
        if entry.at_us <= capture.end_us
    ]
    return round(median(taken)) if taken else 0


def tolerance(rate: float, work_us: int) -> float:
    """Return the allowed difference of duplicates or losses in one partition, in records.

    That is a quarter second of production (*rate*, in records per second and partition) or of
    processing (*work_us* for each record), whichever is more.
    """
    return max(MIN_RECORDS, SHARE_S * max(rate, 1_000_000 / work_us if work_us else 0.0))


def compare(real: Observed, emulated: Observed, tolerances: Tolerances) -> tuple[Figure, ...]:
    """Return the figures of one captured run and its emulation."""
    return (
        _equal("generations", list(real.generations), list(emulated.generations)),
        _equal("rebalances", real.rebalances, emulated.rebalances),
        *_mapped("assignments", real.assignments, emulated.assignments),
        *_mapped("calls", real.calls, emulated.calls),
        *_epochs(real, emulated),
        *_counted("duplicates", real.duplicates, emulated.duplicates, tolerances),
        *_counted("lost", real.lost, emulated.lost, tolerances),
        *_takeovers(real.takeovers, emulated.takeovers, tolerances),
        *(_stalls(real, emulated, tolerances) if tolerances.broker_failed else ()),
        *_not_judged("commits", real.commits, emulated.commits),
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


def _not_judged(
    name: str, real: Mapping[str, float], emulated: Mapping[str, float]
) -> Iterator[Figure]:
    for key in _keys(real, emulated):
        yield Figure(f"{name}.{key}", real.get(key, 0), emulated.get(key, 0), NOT_JUDGED, True)


def _counted(
    name: str, real: Mapping[str, int], emulated: Mapping[str, int], tolerances: Tolerances
) -> Iterator[Figure]:
    touched = _keys(real, emulated)
    yield _near(
        name, sum(real.values()), sum(emulated.values()), len(touched) * tolerances.tolerance
    )
    for key in touched:
        yield _near(f"{name}.{key}", real.get(key, 0), emulated.get(key, 0), tolerances.tolerance)


def _near(name: str, real: float | None, emulated: float | None, allowed: float) -> Figure:
    if real is None or emulated is None:
        return Figure(name, real, emulated, allowed, real is emulated)
    return Figure(name, real, emulated, allowed, abs(real - emulated) <= allowed)


def _takeovers(
    real: Mapping[str, float], emulated: Mapping[str, float], tolerances: Tolerances
) -> Iterator[Figure]:
    first = min(real.values(), default=None)
    allowed = max(tolerances.takeover_s, TAKEOVER_SHARE * (first or 0.0))
    yield _near("takeover_first_s", first, min(emulated.values(), default=None), round(allowed, 3))
    last = (max(real.values(), default=None), max(emulated.values(), default=None))
    yield Figure("takeover_last_s", *last, NOT_JUDGED, True)


def _stalls(real: Observed, emulated: Observed, tolerances: Tolerances) -> Iterator[Figure]:
    ours, theirs = real.stalls.values(), emulated.stalls.values()
    yield _lasting("stall_first_s", min(ours, default=None), min(theirs, default=None))
    yield _lasting("stall_last_s", max(ours, default=None), max(theirs, default=None))
    yield from _stalls_of_consumers(real, emulated)
    yield from _not_judged("stall", real.stalls, emulated.stalls)
    waits = ("commit_wait_s", real.commit_wait_s, emulated.commit_wait_s)
    yield Figure(*waits, NOT_JUDGED, True) if tolerances.coordinator_killed else _lasting(*waits)
    yield Figure("first_commit_s", real.first_commit_s, emulated.first_commit_s, NOT_JUDGED, True)


def _stalls_of_consumers(real: Observed, emulated: Observed) -> Iterator[Figure]:
    ours, theirs = _sorted_stalls(real), _sorted_stalls(emulated)
    for consumer in _keys(ours, theirs):
        pairs = zip_longest(ours.get(consumer, ()), theirs.get(consumer, ()))
        for number, (one, other) in enumerate(pairs, 1):
            yield _lasting(f"stalls.{consumer}[{number}]", one, other)


def _sorted_stalls(seen: Observed) -> dict[str, list[float]]:
    """Return the sorted stalls of partitions, by the consumer that owned them at the fault."""
    found: dict[str, list[float]] = {}
    for partition, lasted in seen.stalls.items():
        found.setdefault(seen.owners.get(partition, "no owner"), []).append(lasted)
    return {consumer: sorted(stalls) for consumer, stalls in found.items()}


def _lasting(name: str, real: float | None, emulated: float | None) -> Figure:
    allowed = max(STALL_S, STALL_SHARE * (real or 0.0))
    return _near(name, real, emulated, round(allowed, 3))


def plain(value: Any) -> Any:
    """Return a value as after a round trip through JSON: lists for tuples, sorted string keys."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return value


def inside_range(real: Any, values: Sequence[Any]) -> bool:
    """Return whether a real value is within the values of the seeds.

    A number must lie between the smallest and the largest one; anything else (a list of calls, a
    missing takeover) must be equal to one of them.
    """
    numbers = [value for value in values if _is_number(value)]
    if _is_number(real) and numbers:
        return bool(min(numbers) <= real <= max(numbers))
    return real in values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def judge_by_seeds(
    figures: Sequence[Figure], seeds: Sequence[Sequence[Figure]]
) -> tuple[Figure, ...]:
    """Return the figures, with those that are outside judged by the range of the seeds.

    *seeds*: the figures of the same capture under each seed. A partition or consumer that is
    missing under a seed counts as 0 for duplicates and losses, otherwise as no value.
    """
    by_name = [{figure.name: figure.emulated for figure in seed} for seed in seeds]
    return tuple(
        figure if figure.inside else _judged(figure, [_value(figure, seed) for seed in by_name])
        for figure in figures
    )


def _value(figure: Figure, seed: Mapping[str, Any]) -> Any:
    counted = figure.name.startswith(("duplicates", "lost"))
    return seed.get(figure.name, 0 if counted else None)


def _judged(figure: Figure, values: Sequence[Any]) -> Figure:
    numbers = [value for value in values if _is_number(value)]
    if numbers and _is_number(figure.real):
        allowed = f"{min(numbers)} to {max(numbers)} in {len(values)} seeds"
    else:
        allowed = f"one of {len(values)} seeds"
    inside = inside_range(figure.real, values)
    return Figure(figure.name, figure.real, figure.emulated, allowed, inside)
