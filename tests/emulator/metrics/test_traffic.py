"""Requests, records of the offsets log, members' hours, evictions."""

from __future__ import annotations

from emulator import events as ev
from emulator.metrics.members import MemberMeter
from emulator.metrics.traffic import TrafficMeter

from ..ledger.history import GROUP, History
from .meters import read


def test_requests_a_second_on_average_and_in_the_busiest_interval():
    """By kind, from what brokers counted."""
    history = History()
    for count, at_us in ((10, 1_000_000), (30, 2_000_000)):
        history.now_us = at_us - 1_000
        counted = ev.RequestsCounted(since_us=at_us - 1_000_000, counts=(("Heartbeat", count),))
        history.say(counted)
    reading = read(TrafficMeter(), history, 4_000_000)

    assert (40, 10.0) == (reading.values["requests"], reading.values["requests_per_s"])
    assert {"Heartbeat": 30.0} == reading.tables["requests_per_s_peak.by_kind"]


def test_records_of_the_offsets_log_by_type_and_size():
    """Batches count their records; bytes are those of keys and values."""
    history = History()
    for size in (100, 50):
        appended = ev.Appended(
            log_partition=7,
            group=GROUP,
            log_offset=0,
            records=(("OffsetCommit", 2), ("GroupMetadata", 1)),
            size=size,
        )
        history.say(appended)
    reading = read(TrafficMeter(), history)

    assert (6, 150) == (reading.values["log_records"], reading.values["log_bytes"])
    assert {"GroupMetadata": 2, "OffsetCommit": 4} == reading.tables["log_records.by_type"]


def test_members_cost_hours_while_they_run():
    """From start to stop, or to the end of the run."""
    history = History()
    history.start("a", "b")
    history.now_us = 1_800_000_000
    history.stop("a")
    reading = read(MemberMeter(), history, 3_600_001_000)
    hours = {
        name: round(value, 3) for name, value in reading.tables["member_hours.by_member"].items()
    }

    assert {"a": 0.5, "b": 1.0} == hours


def test_a_restarted_process_was_not_removed_alive():
    """The removed member is that of the dead process, not its successor's."""
    history = History()
    history.start("a")
    history.say(ev.MemberAdded(group=GROUP, consumer="a", member_id="a-1"))
    history.stop("a")
    history.now_us += 1_000_000
    history.start("a")
    history.say(ev.MemberRemoved(group=GROUP, consumer="a", member_id="a-1", why="session expired"))
    reading = read(MemberMeter(), history)

    assert (1, 0) == (reading.values["evictions"], reading.values["evictions_living"])


def test_only_the_coordinators_own_removals_are_evictions():
    """Leaving is no eviction; one whose process ran unpaused was put out alive."""
    history = History()
    history.start("a", "b", "c")
    history.remove_member("a", "left")
    history.remove_member("b", "session expired")
    history.pause("c")
    history.remove_member("c", "did not rejoin in time")
    history.say(ev.ClientDropped(consumer="b", group=GROUP, reason="poll interval passed"))
    reading = read(MemberMeter(), history)

    assert (2, 1, 1) == (
        reading.values["evictions"],
        reading.values["evictions_living"],
        reading.values["drop_outs"],
    )
    assert {"did not rejoin in time": 1, "session expired": 1} == reading.tables[
        "evictions.by_reason"
    ]
