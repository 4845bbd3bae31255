"""One pass over the events gives everything, at little cost an event."""

from __future__ import annotations

from emulator.metrics.laws import Law
from emulator.metrics.metrics import Measurement, measure

from ..ledger.history import P0, History


def test_ledger_metrics_and_findings_come_from_one_pass():
    """Feeding event by event is the same as handing over all of them."""
    history = History()
    history.start("a", "b")
    history.stable(1, (("a", (P0,)), ("b", (P0,))))
    history.open("a")
    history.work("a", 0, 10)
    history.crash("a", 10)
    history.open("b", generation=2)
    history.work("b", 0, 10)
    measurement = Measurement()
    for event in history.events:
        measurement.feed(event)
    fed, whole = measurement.close(), measure(history.events)

    assert whole == fed
    assert 10 == fed.ledger.reprocessed == fed.metrics["reprocessed"]
    assert [Law.ONE_OWNER] == [finding.law for finding in fed.findings]


def test_shared_assignors_are_passed_on():
    """An assignor that shares on purpose breaks no law."""
    history = History()
    history.joined("a", "b", protocol="broadcast")
    history.stable(1, (("a", (P0,)), ("b", (P0,))))
    measurement = Measurement(["broadcast"])
    for event in history.events:
        measurement.feed(event)

    assert () == measurement.close().findings
