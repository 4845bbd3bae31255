"""What happened, as a run's screen tells it."""

from __future__ import annotations

from emulator import events as ev
from emulator.report.chronicle import Chronicle


def told(*events):
    """Return the texts of what happened, a second after the other."""
    chronicle = Chronicle()
    for number, what in enumerate(events):
        chronicle.hear(ev.Event(number, number * 1_000_000, None, what))
    return [happening.text for happening in chronicle.happenings]


def test_a_broker_that_is_named_by_its_office_is_told_in_a_sentence():
    """Its number is not known before the fault; other parties go by their names."""
    pause = {"fault": "f", "verb": "pause_broker", "target": "coordinator of billing"}
    crash = {"fault": "g", "verb": "crash_broker", "target": "broker-1"}

    assert [
        "the coordinator of billing is paused as a whole",
        "the coordinator of billing goes on",
        "broker-1 crashes",
    ] == told(ev.FaultBegan(**pause), ev.FaultEnded(**pause), ev.FaultBegan(**crash))
