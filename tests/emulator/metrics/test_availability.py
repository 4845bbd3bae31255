"""How long brokers gave nothing to read, and took no commits."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.brokers import AvailabilityMeter

from ..ledger.history import P0, P1, History
from .meters import read

OFFSETS = TopicPartition("__consumer_offsets", 7)


def stalled(history, partition=P0, seconds=1.0):
    """A stall of exactly so long: the clock moves a millisecond with each event."""
    history.say(ev.PartitionStalled(partition=partition, broker=-1))
    history.wait(seconds - 0.001)
    history.say(ev.PartitionResumed(partition=partition, broker=2))


def appended(history, group):
    history.say(
        ev.Appended(
            log_partition=7, group=group, log_offset=0, records=(("OffsetCommit", 1),), size=90
        )
    )


def test_stalls_of_partitions_are_summed_and_the_longest_is_known():
    """By partition, over all stalls."""
    history = History()
    stalled(history, P0, 9)
    stalled(history, P1, 2)
    stalled(history, P0, 1)
    reading = read(AvailabilityMeter(), history)

    assert {"orders-0": 10, "orders-1": 2} == reading.tables["unreadable.by_partition"]
    assert 9 == reading.values["unreadable_max_s"]
    assert 12 == reading.values["unreadable_total_s"]


def test_a_stall_lasts_to_the_end_of_the_run():
    """The partition had no leader any more."""
    history = History()
    history.say(ev.PartitionStalled(partition=P0, broker=-1))
    history.wait(30)

    assert 30 == read(AvailabilityMeter(), history).values["unreadable_max_s"]


def test_a_deleted_topic_ends_its_stall():
    """It has no readers."""
    history = History()
    history.say(ev.PartitionStalled(partition=P0, broker=-1))
    history.wait(2.999)
    history.delete_topic()
    history.wait(30)

    assert 3 == read(AvailabilityMeter(), history).values["unreadable_total_s"]


def test_a_stalled_offsets_partition_lets_its_groups_wait():
    """Every group that has anything in it, and none else; it is nothing to read."""
    history = History()
    appended(history, "billing")
    appended(history, "shipping")
    stalled(history, OFFSETS, 4)
    stalled(history, OFFSETS._replace(partition=8), 20)
    reading = read(AvailabilityMeter(), history)

    assert {"billing": 4, "shipping": 4} == reading.tables["commits_unavailable.by_group"]
    assert 4 == reading.values["commits_unavailable_max_s"]
    assert 8 == reading.values["commits_unavailable_total_s"]
    assert 0 == reading.values["unreadable_total_s"]


def test_a_group_whose_commits_are_only_counted_waits_too():
    """Its batches need no events of their own."""
    history = History()
    batch = {"records": (("OffsetCommit", 1),), "size": 90}
    history.say(ev.AppendsCounted(log_partition=7, group="export", times=9, **batch))
    stalled(history, OFFSETS, 4)

    tables = read(AvailabilityMeter(), history).tables
    assert {"export": 4} == tables["commits_unavailable.by_group"]


def test_a_run_without_failures_has_none_of_it():
    """No rows where nothing ever stalled."""
    history = History()
    appended(history, "billing")
    reading = read(AvailabilityMeter(), history)

    assert {"unreadable.by_partition": {}, "commits_unavailable.by_group": {}} == reading.tables
    assert {0} == set(reading.values.values())
