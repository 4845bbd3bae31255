"""Undirected effects of network and topics count as faults: no law is broken."""

from __future__ import annotations

from emulator.events import FaultBegan
from emulator.ledger.entries import Cause

from ..stage import staged


def test_records_that_expire_unread_are_no_error_of_the_emulator():
    """Without any fault the ledger fills: the topic's retention has done it."""
    topic = 'partitions = 2\nrate = "20/s"\nretention = "5s"'
    seen = staged(topic=topic, group='work = "100ms"')

    assert [] == seen.all(FaultBegan)
    assert {Cause.RETENTION} == set(seen.run.ledger.by_cause())
    assert () == seen.run.findings
