"""The timeline of a run's screen."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.report.timeline import Timeline


def texts_of(*events):
    """Return the texts of the events, one second apart."""
    timeline = Timeline()
    for number, what in enumerate(events):
        timeline.feed(ev.Event(number, number * 1_000_000, None, what, number))
    return [entry.text for entry in timeline.entries]


@pytest.mark.parametrize(
    ("next_offset", "text"),
    [
        (101, "orders-0 loses 1 record: broker 2 was elected without it"),
        (1200, "orders-0 loses 1,100 records: broker 2 was elected without them"),
    ],
)
def test_records_that_are_gone_are_counted(next_offset, text):
    """One is one."""
    gone = ev.RecordsTruncated(
        partition=TopicPartition("orders", 0),
        broker=2,
        leader_epoch=1,
        first=100,
        next_offset=next_offset,
        incarnation=1,
    )

    assert [text] == texts_of(gone)


def test_a_broker_that_is_named_by_its_role_is_a_phrase():
    """Its number is not known before the fault; others have their names."""
    pause = {"fault": "f", "verb": "pause_broker", "target": "coordinator of billing"}
    crash = {"fault": "g", "verb": "crash_broker", "target": "broker-1"}

    assert [
        "the process of the coordinator of billing is paused",
        "the process of the coordinator of billing resumes",
        "broker-1 crashes",
    ] == texts_of(ev.FaultBegan(**pause), ev.FaultEnded(**pause), ev.FaultBegan(**crash))
