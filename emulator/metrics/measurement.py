"""Measure a run in one pass over its events: ledger, metrics and findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from emulator.events import Event
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Ledger
from emulator.metrics.laws import Finding, LawChecker
from emulator.metrics.metrics import Metrics, MetricsMeter


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a run."""

    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]


class Measurement:
    """Ledger, meters and laws together; pass every event to ``feed``, then call ``close`` once."""

    def __init__(self, shared_assignors: Collection[str] = ()) -> None:
        self._builder = LedgerBuilder(shared_assignors)
        self._meter = MetricsMeter()
        self._laws = LawChecker(shared_assignors)

    def feed(self, event: Event) -> None:
        """Add one event; events come in order of their ids."""
        self._builder.feed(event)
        self._meter.feed(event)
        self._laws.feed(event)

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
