"""Measure a run in one pass over its events: ledger, metrics and findings.

:class:`Measurement` passes every event to the ledger, the meters and the laws. ``catalogue`` lists
the metrics: numbers with stable names. One look-up per event finds all meters that handle its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from assignors.values import dataclass
from emulator.events import Event
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.cluster import in_turn, joined
from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.metrics.brokers import AvailabilityMeter, LogMeter
from emulator.metrics.catalogue import VALUES, unknown_metric
from emulator.metrics.commits import CommitMeter, CommitStallMeter
from emulator.metrics.downtime import DowntimeMeter
from emulator.metrics.laws import Finding, LawChecker
from emulator.metrics.members import MemberMeter
from emulator.metrics.readings import (
    Handler,
    Key,
    LateMeter,
    Meter,
    Number,
    Reading,
    Row,
    named,
    seconds,
)
from emulator.metrics.rebalances import RebalanceMeter
from emulator.metrics.recovery import LagMeter, TakeoverMeter
from emulator.metrics.traffic import AttemptsMeter, CapacityMeter, FailureMeter, TrafficMeter


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers of one run; ``catalogue`` defines each name."""

    values: Mapping[str, Number] = field(default_factory=dict)
    """The metrics with one number each, by name."""

    tables: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    """The metrics with one number for each entry, such as each cause."""

    listings: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """Lists of rows, such as one row for each takeover."""

    without_value: frozenset[str] = frozenset()
    """Metrics that have no value in this run; in ``values`` they are 0."""

    def has(self, name: str) -> bool:
        """Return whether a metric has a value: nothing may have been taken over, for example."""
        return name not in self.without_value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of ``values``, so that ``in`` tells whether there is such a metric."""
        return iter(self.values)

    def __getitem__(self, name: str) -> Number:
        """Return the value called *name*, or ``table[entry]``; an absent entry is 0.

        Raise KeyError with the closest match for an unknown name.
        """
        if name in self.values:
            return self.values[name]
        table, bracket, entry = name.partition("[")
        if bracket and entry.endswith("]") and table in self.tables:
            return self.tables[table].get(entry[:-1], 0)
        raise KeyError(unknown_metric(name))

    def plain_values(self) -> dict[str, Number | None]:
        """Return the values by name, for JSON; None: the metric has no value."""
        return {name: self.plain_value(name) for name in self.values}

    def plain_value(self, name: str) -> Number | None:
        """Return a value by its name; None: the metric has no value."""
        return self[name] if self.has(name) else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            **self.plain_values(),
            "tables": {name: dict(table) for name, table in self.tables.items()},
            "listings": {name: [dict(row) for row in rows] for name, rows in self.listings.items()},
        }


def values_of(runs: Iterable[Metrics], name: str) -> list[Number]:
    """Return the values of a metric in the runs that have one; 0 if none has."""
    return [run[name] for run in runs if run.has(name)] or [0]


def pairs_of(
    name: str, first: Iterable[Metrics], second: Iterable[Metrics]
) -> tuple[list[Number], list[Number]]:
    """Return the values of a metric in two runs each of the same seeds, where both have one."""
    pairs = [
        (one[name], other[name])
        for one, other in zip(first, second, strict=True)
        if one.has(name) and other.has(name)
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]


NOTHING: Mapping[str, str] = {}
"""No group replaces another."""

NO_HANDOVER = Reading(
    values={"processed_by_both": 0, "processed_by_neither": 0, "handover_gap_max_s": 0},
    tables={"processed_by_both.by_partition": {}, "processed_by_neither.by_partition": {}},
    listings={"handovers": ()},
    without_value=frozenset(("handover_gap_max_s",)),
)
"""The figures of :mod:`emulator.metrics.handover` for a run in which no group replaces another."""

NO_SCALING = Reading(
    values={
        "scalings": 0,
        "scaling_reversals": 0,
        "replicas_max": 0,
        "replica_hours": 0,
        "useful_replicas_share": 0,
        "reprocessed_by_scaling": 0,
    },
    listings={"scalings": (), "replicas": ()},
    without_value=frozenset(("useful_replicas_share",)),
)
"""The figures of :mod:`emulator.metrics.scaling` for a run without autoscalers."""

NO_MONITORS = Reading(
    values={
        "monitor_alarms": 0,
        "monitor_false_alarms": 0,
        "monitor_misses": 0,
        "monitor_delay_max_s": 0,
    },
    tables={"monitor_alarms.by_state": {}},
    listings={"monitors": (), "monitor_alarms": (), "standstills": ()},
    without_value=frozenset(("monitor_delay_max_s",)),
)
"""The figures of :mod:`emulator.metrics.monitors` for a run without monitors."""

NO_ROUNDS = Reading(values={"commit_round_max_s": 0})
"""The figure of :mod:`emulator.metrics.commit_rounds` for a run with all offsets in Kafka."""

NO_COPIES = Reading(values={"copies_processed": 0}, tables={"copies_processed.by_partition": {}})
"""The figures of :mod:`emulator.metrics.copies` for a run whose producers do not repeat."""

NO_ABORTED = Reading(values={"aborted_processed": 0}, tables={"aborted_processed.by_partition": {}})
"""The same for a run without aborted transactions."""

NO_WRONG_OWNERS = Reading(values={"commits_wrong_owner": 0})
"""The figure of :mod:`emulator.metrics.wrong_owner` for a run without late retries of commits."""

EMPTY: Mapping[str, Reading] = {
    "scaling": NO_SCALING,
    "monitors": NO_MONITORS,
    "rounds": NO_ROUNDS,
    "copies": NO_COPIES,
    "aborted": NO_ABORTED,
    "wrong_owner": NO_WRONG_OWNERS,
}
"""For each meter that only some scenarios have: its figures in all others."""

NO_METERS: Mapping[str, LateMeter] = {}
NO_HANDLERS: Mapping[type, Handler] = {}


class MetricsMeter:
    """Computes all metrics but the ledger's; pass events to ``handlers``, then call ``close``."""

    def __init__(
        self,
        replaces: Mapping[str, str] = NOTHING,
        some: Mapping[str, LateMeter] = NO_METERS,
    ) -> None:
        self._meters: tuple[Meter, ...] = (
            RebalanceMeter(),
            DowntimeMeter(replaces.values()),
            AvailabilityMeter(),
            TakeoverMeter(),
            CommitMeter(),
            CommitStallMeter(),
            LagMeter(),
            CapacityMeter(),
            TrafficMeter(),
            LogMeter(),
            MemberMeter(),
            FailureMeter(),
        )
        if replaces:
            from emulator.metrics.handover import HandoverMeter  # noqa: PLC0415  few scenarios need it

            self._meters += (HandoverMeter(replaces),)
        self._replaces = replaces
        self._some = {**some, "attempts": AttemptsMeter()}
        self.now_us = 0
        """The time of the last event."""

        self.handlers: Final = in_turn(
            meter.handlers() for meter in (*self._meters, *self._some.values())
        )
        """What counts an event, by its type."""

    def close(self, ledger: Ledger) -> Metrics:
        """Return the metrics of a finished run, with those of its *ledger*."""
        values: dict[str, Number] = {"run_s": seconds(self.now_us)}
        tables: dict[str, dict[str, Number]] = {}
        listings: dict[str, tuple[Row, ...]] = {}
        readings = [_of_ledger(ledger), *(meter.read(self.now_us) for meter in self._meters)]
        readings += () if self._replaces else (NO_HANDOVER,)
        readings += (empty for name, empty in EMPTY.items() if name not in self._some)
        readings += (meter.read(self.now_us, ledger) for meter in self._some.values())
        for reading in readings:
            values.update(reading.values)
            tables.update(reading.tables)
            listings.update(reading.listings)
        ordered = {metric.name: values[metric.name] for metric in VALUES}
        without = frozenset[str]().union(*(reading.without_value for reading in readings))
        return Metrics(ordered, tables, listings, without)


def _of_ledger(ledger: Ledger) -> Reading:
    """Return the ledger's totals, by cause, partition, member and fault."""
    values: dict[str, Number] = {kind.value: ledger.total(kind) for kind in EntryKind}
    values |= {
        "processed": ledger.processed,
        "duplicates_avoided": ledger.duplicates_avoided,
        "in_hand": ledger.in_hand,
        "compacted_unread": ledger.compacted,
        "backlog": ledger.backlog,
    }
    tables: dict[str, dict[str, Number]] = {}
    for kind in EntryKind:
        member = _second if kind is EntryKind.REPROCESSED else _first
        if kind is not EntryKind.PARTIAL:
            tables[f"{kind.value}.by_cause"] = {**ledger.by_cause(kind)}
        tables[f"{kind.value}.by_partition"] = _by_partition(ledger, kind)
        tables[f"{kind.value}.by_member"] = _tally(ledger, kind, member)
        tables[f"{kind.value}.by_fault"] = _tally(ledger, kind, _fault)
    return Reading(values, tables)


def _by_partition(ledger: Ledger, kind: EntryKind) -> dict[str, Number]:
    counts = Counter[Key]()
    for entry in ledger.of(kind):
        counts[entry.group, entry.topic_partition] += entry.count
    return {**named(counts)}


def _tally(ledger: Ledger, kind: EntryKind, name: Callable[[Entry], str]) -> dict[str, Number]:
    return {**ledger.tally(lambda entry: name(entry) if entry.kind is kind else None)}


def _first(entry: Entry) -> str:
    return entry.first_owner.consumer if entry.first_owner else "no owner"


def _second(entry: Entry) -> str:
    return entry.second_owner.consumer if entry.second_owner else "no owner"


def _fault(entry: Entry) -> str:
    return entry.root.id if entry.root else "none"


@dataclass(frozen=True, slots=True)
class Measured:
    """Ledger, metrics and findings of a run."""

    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]


class Measurement:
    """Measures a run; pass every event to ``feed``, then call ``close`` once.

    *shared_assignors*: names of assignors that intentionally assign a partition to several members.
    *replaces*: group to the group whose work it takes over. *some*: by their keys in ``EMPTY``, the
    meters that this scenario needs besides those of all scenarios. *others*: by their types, what
    takes events after all meters.
    """

    def __init__(
        self,
        shared_assignors: Collection[str] = (),
        replaces: Mapping[str, str] = NOTHING,
        some: Mapping[str, LateMeter] = NO_METERS,
        others: Mapping[type, Handler] = NO_HANDLERS,
    ) -> None:
        self._builder = LedgerBuilder(shared_assignors)
        self._meter = MetricsMeter(replaces, some)
        self._laws = LawChecker(shared_assignors)
        parts = (self._builder.handlers, self._meter.handlers, self._laws.handlers)
        self._handlers = joined((*parts, in_turn([others])))
        """What an event is passed to, by its type: one look-up for ledger, meters and laws."""

    def feed(self, event: Event) -> None:
        """Add one event; events come in order of their ids."""
        if event.id is not None:
            self._builder.follow(event)
        self._meter.now_us = event.at_us
        what = event.what
        for handler in self._handlers.get(type(what), ()):
            handler(event, what)

    def close(self, *, mistaken_policy: bool = False) -> Measured:
        """Return the results; *mistaken_policy*: see :meth:`LawChecker.close`."""
        ledger = self._builder.close()
        metrics = self._meter.close(ledger)
        findings = self._laws.close(ledger, mistaken_policy=mistaken_policy)
        return Measured(ledger, metrics, findings)


def measure(events: Iterable[Event], *, mistaken_policy: bool = False) -> Measured:
    """Return ledger, metrics and findings of a whole run."""
    measurement = Measurement()
    for event in events:
        measurement.feed(event)
    return measurement.close(mistaken_policy=mistaken_policy)
