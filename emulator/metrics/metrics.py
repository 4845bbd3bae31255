"""Compute the metrics of a run: numbers with stable names.

:class:`MetricsMeter` receives every event and, at the end, the ledger; ``catalogue`` lists the
metrics that it returns. One look-up per event finds all meters that handle its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from emulator.events import Event
from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.metrics.availability import AvailabilityMeter
from emulator.metrics.catalogue import TABLES, VALUES
from emulator.metrics.commits import CommitMeter
from emulator.metrics.downtime import DowntimeMeter
from emulator.metrics.lag import LagMeter
from emulator.metrics.log_size import LogMeter
from emulator.metrics.readings import Handler, Key, Meter, Number, Reading, Row, named, seconds
from emulator.metrics.rebalances import RebalanceMeter
from emulator.metrics.takeover import TakeoverMeter
from emulator.metrics.traffic import MemberMeter, TrafficMeter


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers of one run; ``catalogue`` defines each name."""

    values: Mapping[str, Number] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    listings: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)

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

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            **self.values,
            "tables": {name: dict(table) for name, table in self.tables.items()},
            "listings": {name: [dict(row) for row in rows] for name, rows in self.listings.items()},
        }


def is_metric(name: str) -> bool:
    """Return whether *name* is the name of a value or of an entry of a table."""
    table, bracket, entry = name.partition("[")
    if bracket:
        return entry.endswith("]") and any(table == metric.name for metric in TABLES)
    return any(name == metric.name for metric in VALUES)


def unknown_metric(name: str) -> str:
    """Return a message about an unknown metric, with the closest matches."""
    known = [metric.name for metric in VALUES] + [f"{metric.name}[…]" for metric in TABLES]
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no metric {name!r}{hint}"


class MetricsMeter:
    """Computes all metrics but the ledger's; pass events to ``feed``, then call ``close``."""

    def __init__(self) -> None:
        self._meters: tuple[Meter, ...] = (
            RebalanceMeter(),
            DowntimeMeter(),
            AvailabilityMeter(),
            TakeoverMeter(),
            CommitMeter(),
            LagMeter(),
            TrafficMeter(),
            LogMeter(),
            MemberMeter(),
        )
        self._now_us = 0
        self._handlers = _merged(self._meters)

    def feed(self, event: Event) -> None:
        """Count one event."""
        self._now_us = event.at_us
        for handler in self._handlers.get(type(event.what), ()):
            handler(event, event.what)

    def close(self, ledger: Ledger) -> Metrics:
        """Return the metrics of a finished run, with those of its *ledger*."""
        values: dict[str, Number] = {"run_s": seconds(self._now_us)}
        tables: dict[str, dict[str, Number]] = {}
        listings: dict[str, tuple[Row, ...]] = {}
        readings = [_of_ledger(ledger), *(meter.read(self._now_us) for meter in self._meters)]
        for reading in readings:
            values.update(reading.values)
            tables.update(reading.tables)
            listings.update(reading.listings)
        ordered = {metric.name: values[metric.name] for metric in VALUES}
        return Metrics(ordered, tables, listings)


def _merged(meters: tuple[Meter, ...]) -> dict[type, tuple[Handler, ...]]:
    merged: dict[type, tuple[Handler, ...]] = {}
    for meter in meters:
        for kind, handler in meter.handlers().items():
            merged[kind] = (*merged.get(kind, ()), handler)
    return merged


def _of_ledger(ledger: Ledger) -> Reading:
    """Return the ledger's totals, by cause, partition, member and fault."""
    values: dict[str, Number] = {kind.value: ledger.total(kind) for kind in EntryKind}
    values |= {
        "processed": ledger.processed,
        "duplicates_avoided": ledger.duplicates_avoided,
        "in_hand": ledger.in_hand,
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
    return entry.first_owner.consumer if entry.first_owner else "nobody"


def _second(entry: Entry) -> str:
    return entry.second_owner.consumer if entry.second_owner else "nobody"


def _fault(entry: Entry) -> str:
    return entry.root.id if entry.root else "none"
