"""Downtime of partitions and members, and overlap of owners."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.downtime import DowntimeMeter

from ..ledger.history import GROUP, P0, P1, History
from .meters import read


def running():
    """Consumers a and b; a owns orders-0 from 0.004 s on, when the group is first stable."""
    history = History()
    history.topic(starts=(0,))
    history.start("a", "b")
    history.stable(1, (("a", (P0,)), ("b", ())))
    history.now_us -= 1_000
    history.open("a")
    return history


def test_a_partition_is_down_between_its_owners():
    """From the end of one epoch to the next."""
    history = running()
    history.wait(5)
    history.close("a", 0, "revoked")
    history.wait(3)
    history.open("b")
    reading = read(DowntimeMeter(), history)

    assert {"orders-0": 3.001} == reading.tables["downtime.by_partition"]
    assert 3.001 == reading.values["downtime_max_s"] == reading.values["downtime_total_s"]


def test_downtime_may_last_to_the_end_of_the_run():
    """If the last owner of a partition died."""
    history = running()
    history.stop("a")
    history.wait(7)

    assert 7.0 == read(DowntimeMeter(), history).values["downtime_max_s"]


def test_a_paused_owner_does_not_work():
    """A partition of a paused process is down, though its epoch is open."""
    history = running()
    history.pause("a")
    history.wait(2)
    history.resume("a")

    assert 2.001 == read(DowntimeMeter(), history).values["downtime_total_s"]


def test_an_added_partition_is_down_from_its_creation():
    """Until the group leader has seen it, it is not read."""
    history = running()
    history.wait(10)
    history.grow(3)
    history.wait(4)
    history.open("b", P1._replace(partition=2))

    assert 4.001 == read(DowntimeMeter(), history).tables["downtime.by_partition"]["orders-2"]


def test_a_deleted_topic_has_no_downtime():
    """It needs no owner."""
    history = running()
    history.delete_topic()
    history.close("a", 0, "lost")
    history.wait(9)

    assert 0 == read(DowntimeMeter(), history).values["downtime_total_s"]


def test_two_working_owners_overlap():
    """Seconds of both at work, and the records of the older one meanwhile."""
    history = running()
    history.pause("a")
    history.open("b")
    history.wait(1)
    history.resume("a")
    history.work("a", 0, 30)
    history.work("b", 0, 40)
    history.wait(2)
    history.close("a", 30, "lost")
    values = read(DowntimeMeter(), history).values

    assert 2.003 == values["overlap_s"]
    assert 30 == values["overlap_records"]


def test_a_member_without_work_is_idle():
    """A running process that owns nothing, or is paused, has nothing to work on."""
    history = running()
    history.wait(1)
    history.open("b", P1)
    history.wait(1)
    history.pause("b")
    history.wait(1)
    reading = read(DowntimeMeter(), history)

    assert {"a": 0.0, "b": 2.001} == reading.tables["member_idle.by_member"]


def test_reopening_a_position_is_no_downtime():
    """An owner that resets its position owned the partition all the time."""
    history = running()
    history.wait(1)
    history.open("a", offset=5, source="seek")

    assert 0 == read(DowntimeMeter(), history).values["downtime_total_s"]


def subscribed(history: History, name: str, *topics: str) -> None:
    changed = ev.SubscriptionChanged(consumer=name, group=GROUP, topics=topics)
    history.say(changed)


def test_an_unsubscribed_partition_is_not_down():
    """It counts up to the last member's change; later revocations change nothing."""
    history = running()
    subscribed(history, "a", "refunds")
    history.close("a", 0, "revoked")
    history.wait(2)
    subscribed(history, "b", "refunds")
    history.wait(5)

    assert {"orders-0": 2.001} == read(DowntimeMeter(), history).tables["downtime.by_partition"]


def test_a_newly_subscribed_partition_is_down_from_then_on():
    """Not before."""
    history = running()
    history.topic("refunds", "T2", starts=(0,))
    history.wait(9)
    subscribed(history, "b", "orders", "refunds")
    history.wait(1)
    history.open("b", TopicPartition("refunds", 0))
    still = read(DowntimeMeter(), history).tables["downtime.by_partition"]

    assert 1.001 == still["refunds-0"]


def test_the_start_up_of_a_group_is_no_downtime():
    """Consumer protocol: the first member has everything, until the others have joined."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable(1, (("a", (P0, P1)),))
    history.open("a", P0)
    history.open("a", P1)
    history.say(ev.GroupEpochRaised(group=GROUP, epoch=2, reason="a member joined", consumer="b"))
    history.close("a", 0, "revoked", partition=P1)
    history.wait(5)
    history.stable(2, (("a", (P0,)), ("b", (P1,))))
    history.wait(1)
    history.open("b", P1)
    values = read(DowntimeMeter(), history).values

    assert 0 == values["downtime_total_s"]
    assert values["member_idle_total_s"] < 1.1
    assert 6 < values["start_up_max_s"] < 6.1


def test_a_fault_ends_the_start_up():
    """The member that was started before the group was stable joins only afterwards."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable(1, (("a", (P0, P1)),))
    history.open("a", P0)
    history.fault("f1", "cut", "a")
    history.wait(9)
    history.say(ev.GroupEpochRaised(group=GROUP, epoch=2, reason="a member joined", consumer="b"))
    history.stable(2, (("a", (P0,)), ("b", (P1,))))
    history.open("b", P1)

    assert 9 < read(DowntimeMeter(), history).tables["downtime.by_partition"]["orders-1"]


def test_a_partition_that_never_has_an_owner_is_down_from_the_first_assignment():
    """Its member never opens it."""
    history = running()
    history.stable(2, (("a", (P0,)), ("b", (P1,))))
    history.wait(7)

    assert 7 < read(DowntimeMeter(), history).tables["downtime.by_partition"]["orders-1"]


def test_a_partition_that_the_assignor_leaves_out_is_down_from_the_first_assignment():
    """No assignment has it, and it has no event of its own."""
    history = History()
    history.topic()
    history.start("a")
    history.stable(1, (("a", (P0,)),))
    history.open("a", P0)
    history.wait(7)
    reading = read(DowntimeMeter(), history)

    assert 7 < reading.tables["downtime.by_partition"]["orders-1"]
    assert ["orders-1"] == [row["partition"] for row in reading.listings["without_owner"]]


def test_partitions_that_nobody_chooses_are_not_missed():
    """Consumers that assign their partitions themselves form no group."""
    history = History()
    history.topic()
    history.start("a")
    history.open("a", P0)
    history.wait(7)

    assert {"orders-0": 0} == read(DowntimeMeter(), history).tables["downtime.by_partition"]
