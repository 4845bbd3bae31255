"""Measure the autoscalers of a run: their steps, flapping, the cost and the use of replicas.

A replica is useful while one of its members has a partition: without one it costs as much and does nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.entries import EntryKind, Ledger
from emulator.metrics.readings import Handler, Reading, Row, seconds

FLAPS_WITHIN_US = 900_000_000
"""Two opposite steps within this time are a reversal: the first one was for nothing."""

USEFUL = "useful_replicas_share"
US_PER_HOUR = 3_600_000_000


Replica = tuple[str, ...]
"""The members of one process, by their names in the file."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The replicas of a group that has an autoscaler."""

    first: int
    """Their number at the beginning of the run."""

    threads: int
    """The members of each replica."""

    replicas: Mapping[str, Replica]
    """By member."""

    def replica_of(self, consumer: str) -> Replica:
        """Return the replica of a member, of its successor (``+``) or of its stand-in (``*``)."""
        name = consumer
        while name not in self.replicas and name.endswith(("+", "*")):
            name = name[:-1]
        return self.replicas.get(name, (consumer,))


@dataclass(slots=True)
class Integral:
    """The integral of a number over time."""

    value: int
    at_us: int = 0
    area: int = 0

    def set(self, value: int, at_us: int) -> None:
        """Change the number at a time."""
        self.area += self.value * (at_us - self.at_us)
        self.value, self.at_us = value, at_us


@dataclass(slots=True)
class Step:
    """One change of the number of replicas."""

    at_us: int
    what: ev.Rescaled
    reverses: bool


@dataclass(slots=True)
class ScaledGroup:
    """The replicas of one group."""

    workload: Workload
    replicas: Integral
    useful: Integral = field(default_factory=lambda: Integral(0))
    peak: int = 0
    steps: list[Step] = field(default_factory=list)
    owned: defaultdict[str, set[TopicPartition]] = field(default_factory=lambda: defaultdict(set))
    """By consumer."""

    busy: Counter[Replica] = field(default_factory=Counter)
    """By replica, the number of its consumers that own a partition; only those with one."""

    partitions: set[TopicPartition] = field(default_factory=set)
    """Those that had an owner at some time."""

    def rescale(self, at_us: int, what: ev.Rescaled) -> None:
        """Note a step, and whether it undoes a recent one."""
        last = self.steps[-1] if self.steps else None
        up = what.after > what.before
        reverses = (
            last is not None
            and up != (last.what.after > last.what.before)
            and at_us - last.at_us <= FLAPS_WITHIN_US
        )
        self.steps.append(Step(at_us, what, reverses))
        self.replicas.set(what.after, at_us)
        self.peak = max(self.peak, what.after)

    def open(self, at_us: int, consumer: str, partition: TopicPartition) -> None:
        """Note that a consumer owns a partition."""
        self.partitions.add(partition)
        owned = self.owned[consumer]
        if not owned:
            self.busy[self.workload.replica_of(consumer)] += 1
            self.useful.set(len(self.busy), at_us)
        owned.add(partition)

    def close(self, at_us: int, consumer: str, partitions: Iterable[TopicPartition]) -> None:
        """Note that a consumer no longer owns partitions."""
        owned = self.owned.get(consumer)
        if not owned:
            return
        owned.difference_update(partitions)
        if not owned:
            replica = self.workload.replica_of(consumer)
            self.busy[replica] -= 1
            if not self.busy[replica]:
                del self.busy[replica]
            self.useful.set(len(self.busy), at_us)


class ScalingMeter:
    """Measures the groups that have an autoscaler."""

    def __init__(self, workloads: Mapping[str, Workload]) -> None:
        """*workloads*: by group."""
        self._groups = {
            group: ScaledGroup(each, Integral(each.first), peak=each.first)
            for group, each in workloads.items()
        }

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Rescaled: self._on_rescaled,
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.ConsumerStopped: self._on_stopped,
        }

    def _on_rescaled(self, event: ev.Event, what: ev.Rescaled) -> None:
        self._groups[what.group].rescale(event.at_us, what)

    def _on_opened(self, event: ev.Event, what: ev.EpochOpened) -> None:
        if group := self._groups.get(what.group):
            group.open(event.at_us, what.consumer, what.partition)

    def _on_closed(self, event: ev.Event, what: ev.EpochClosed) -> None:
        if group := self._groups.get(what.group):
            group.close(event.at_us, what.consumer, (what.partition,))

    def _on_stopped(self, event: ev.Event, what: ev.ConsumerStopped) -> None:
        if group := self._groups.get(what.group):
            group.close(event.at_us, what.consumer, tuple(group.owned[what.consumer]))

    def read(self, ended_us: int, ledger: Ledger) -> Reading:
        """Return the numbers of a run that ended at *ended_us*."""
        groups = self._groups.values()
        for group in groups:
            group.replicas.set(group.replicas.value, ended_us)
            group.useful.set(group.useful.value, ended_us)
        repeated = _reprocessed(ledger)
        paid = sum(group.replicas.area for group in groups)
        useful = sum(min(group.useful.area, group.replicas.area) for group in groups)
        steps = [step for group in groups for step in group.steps]
        return Reading(
            values={
                "scalings": len(steps),
                "scaling_reversals": sum(step.reverses for step in steps),
                "replicas_max": max((group.peak for group in groups), default=0),
                "replica_hours": paid / US_PER_HOUR,
                USEFUL: useful / paid if paid else 0,
                "reprocessed_by_scaling": sum(repeated[step.what.fault] for step in steps),
            },
            listings={
                "scalings": tuple(_row(step, repeated) for step in steps),
                "replicas": tuple(self._rows()),
            },
            without_value=frozenset() if paid else frozenset((USEFUL,)),
        )

    def _rows(self) -> Iterator[Row]:
        for name, group in self._groups.items():
            paid, useful = group.replicas.area, min(group.useful.area, group.replicas.area)
            yield {
                "group": name,
                "steps": len(group.steps),
                "reversals": sum(step.reverses for step in group.steps),
                "replicas_max": group.peak,
                "members_max": group.peak * group.workload.threads,
                "partitions": len(group.partitions),
                "replica_hours": paid / US_PER_HOUR,
                "idle_hours": (paid - useful) / US_PER_HOUR,
            }


def _row(step: Step, repeated: Mapping[str, int]) -> Row:
    what = step.what
    return {
        "group": what.group,
        "step": what.fault,
        "at_s": seconds(step.at_us),
        "before": what.before,
        "after": what.after,
        "wanted": what.wanted,
        "lag": what.lag,
        "reverses": step.reverses,
        "reprocessed": repeated.get(what.fault, 0),
    }


def _reprocessed(ledger: Ledger) -> Counter[str]:
    """Return the records that were reprocessed, by the step at the root."""
    found = Counter[str]()
    for entry in ledger.of(EntryKind.REPROCESSED):
        if entry.root is not None:
            found[entry.root.id.partition("/")[0]] += entry.count
    return found
