"""The work on each record as an event of its own: the same run in more detail."""

from __future__ import annotations

import pytest

from emulator.events import CommitAccepted, ListenerCalled, Processed
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.consumer.handling.handler import RecordWork
from emulator.world.run import Replay

SCENARIO = loads("""
title = "in full"
run_for = "20s"
topic = [{ name = "t", partitions = 4, rate = "5/s" }]

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "10ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }

[[fault]]
crash = "g-1"
at = "12s"
""")


QUIET = SCENARIO.model_copy(update={"fault": (), "run_for": 120_000_000})
"""It has periods."""


def played(*, by_record, scenario=SCENARIO):
    events = []
    play(scenario, 0, (events.append,), replay=Replay(by_record=by_record))
    return events


def records(events):
    """Return who processed which record, in order of partition and offset."""
    return sorted(
        (event.what.partition, offset, event.what.consumer)
        for event in events
        if isinstance(event.what, Processed)
        for offset in range(event.what.first, event.what.next_offset)
    )


def others(events):
    kinds = CommitAccepted | ListenerCalled
    return [(event.at_us, event.what) for event in events if isinstance(event.what, kinds)]


def test_the_run_is_the_same():
    """Records, commits, listener calls; only the events of work are more."""
    summed_up, in_full = (played(by_record=by_record) for by_record in (False, True))

    assert records(summed_up) == records(in_full)
    assert others(summed_up) == others(in_full)
    assert len(summed_up) < len(in_full)


def test_each_record_has_its_begin_and_its_end():
    """The event is written when the record is done."""
    works = [
        (event.what.next_offset - event.what.first, event.at_us - event.what.began_us)
        for event in played(by_record=True)
        if isinstance(event.what, Processed)
    ]

    assert {(1, 10_000)} == set(works)


@pytest.mark.parametrize("scenario", [SCENARIO, QUIET], ids=["crash", "quiet"])
@pytest.mark.parametrize("folding", [True, False])
def test_a_replay_can_watch_the_work_on_each_record(scenario, folding):
    """The times are those of the events for single records, also where polls are computed."""
    watched: list[RecordWork] = []
    play(scenario, 0, (), replay=Replay(on_record=watched.append), folding=folding)

    events = [
        RecordWork(event.what.partition, event.what.first, event.what.began_us, event.at_us)
        for event in played(by_record=True, scenario=scenario)
        if isinstance(event.what, Processed)
    ]
    assert sorted(events) == sorted(watched)
