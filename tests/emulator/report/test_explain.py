"""An entry as a sequence of events in plain words."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.builder import LedgerBuilder
from emulator.report.event_wording import WORDS, event_text
from emulator.report.explain import explain

from ..ledger.history import GROUP, P0, P1, TICK_US, History


def explained(history, entry_id):
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    entry = builder.close().entry(entry_id)
    return [line.text for line in explain(entry, history.events)]


def owner_at_work(late=False):
    history = History()
    history.topic()
    if late:
        first = {"consumer": "x", "group": "first", "incarnation": 1, "instance_id": None}
        history.say(ev.ConsumerStarted(**first))
        history.wait(60)
    history.start("a", "b")
    history.stable(1, (("a", (P0,)), ("b", (P1,))))
    history.open("a")
    for start in range(0, 80, 10):
        history.work("a", start, start + 10)
        history.commit("a", start + 10)
    return history


def test_refrains_are_joined_wherever_in_the_log_they_stand():
    """Log offsets and watermarks that move on make no new sentence."""
    history = owner_at_work()
    history.work("a", 80, 100)
    for log_offset in range(20, 25):
        accepted = ev.CommitAccepted(
            consumer="a",
            group=GROUP,
            generation=1,
            commit=f"a#{log_offset}",
            offsets=((P0, 90),),
            log_offset=log_offset,
            high_watermark=log_offset - 1,
            leader_epoch=3,
            broker=1,
            log_partition=4,
        )
        history.say(accepted)
    history.crash("a", 100)
    history.next_owner("b", 80, 130, generation=2)
    lines = explained(history, "D1")

    assert (
        "the coordinator appends commit a#21 of a: orders-0 = 90 in generation 1, at log offset "
        "21 of __consumer_offsets-4 (high watermark 20, leader epoch 3 on broker 1)"
    ) in lines
    assert "the same 3 more times, until here" in lines


def test_a_crash_is_explained_from_the_fault_to_the_repeat():
    """The base, the work after it, the fault, the rebalance, the new owner, the repeat."""
    history = owner_at_work()
    history.work("a", 80, 95)
    history.work("a", 95, 100)
    history.crash("a", 100)
    history.remove_member("a")
    history.rebalance("removing member a-1 on heartbeat expiration.", "a")
    history.joined("b")
    history.stable(2, (("b", (P0, P1)),))
    history.next_owner("b", 80, 130, generation=2)
    history.work("b", 130, 200, generation=2)

    assert explained(history, "D1") == [
        "a starts orders-0 at offset 0 (committed) in generation 1",
        "the coordinator appends commit c8 of a: orders-0 = 80 in generation 1",
        "fault crash a begins: a crashes",
        "process a ends: crashed",
        "a stops orders-0 at offset 100 (crashed)",
        "a is removed from billing: session expired",
        "billing leaves generation 1 for a rebalance: removing member a-1 on heartbeat expiration.",
        "generation 2 of billing has its members: b",
        "billing is stable in generation 2: orders-0 is assigned to b",
        "b starts orders-0 at offset 80 (committed) in generation 2",
        "b processes orders-0 80..129 (50 records)",
    ]


def test_the_start_of_a_late_group_is_said_first():
    """Only if another group of the run began before."""
    told = []
    for late in (True, False):
        history = owner_at_work(late)
        history.work("a", 80, 100)
        history.crash("a", 100)
        history.open("b", offset=80, generation=2)
        history.work("b", 80, 130, generation=2)
        told.append(explained(history, "D1")[0])

    assert told == [
        f"group {GROUP} starts, with a",
        "a starts orders-0 at offset 0 (committed) in generation 1",
    ]


def crash_with_an_end(seconds):
    """Return a crash whose fault ends after this time, with its effects in between."""
    history = owner_at_work()
    history.work("a", 80, 100)
    history.crash("a", 100)
    began = next(e for e in history.events if isinstance(e.what, ev.FaultBegan))
    history.now_us = began.at_us - TICK_US
    history.wait(seconds)
    history.fault_over("crash a")
    history.wait(10)
    history.next_owner("b", 80, 130, generation=2)
    return [line for line in explained(history, "D1") if line.startswith("fault ")]


def test_a_fault_that_is_over_as_it_begins_has_one_line():
    """A crash that lasts is an instant: it ends nothing."""
    assert ["fault crash a: a crashes"] == crash_with_an_end(0)


def test_a_lasting_fault_has_its_start_and_end():
    """A pause, or a crash after which the process comes back."""
    told_of = ["fault crash a begins: a crashes", "fault crash a ends (a crashes)"]

    assert told_of == crash_with_an_end(5)


LOST = "orders-0 loses 100..119 (20 records)"


def fallen_behind(history):
    """Let the only follower fall behind, out of sync, and lead all the same."""
    cut = history.fault("cut-1", "cut", "broker-1 and broker-2")
    history.say(ev.PartitionStalled(partition=P0, broker=1), cut)
    history.say(ev.IsrChanged(partition=P0, isr=(1,), why="lagging"), cut)
    history.say(ev.PartitionResumed(partition=P0, broker=1), cut)
    history.work("a", 80, 100)
    history.cause = history.fault("crash-1", "crash_broker", "broker-1")
    history.say(ev.LeaderChanged(partition=P0, broker=2, epoch=1, clean=False))


def test_truncated_records_are_explained_from_where_a_replica_fell_behind():
    """Before the first event of the chain, and with the fault that made it."""
    history = owner_at_work()
    fallen_behind(history)
    history.truncate(100, 120)

    assert explained(history, "T1")[2:] == [
        "fault cut-1 begins: network cut: broker-1 and broker-2",
        "new records of orders-0 cannot be read",
        "the ISR of orders-0 is 1 (lagging)",
        "new records of orders-0 can be read again from broker 1",
        "fault crash-1 begins: broker-1 crashes",
        "broker 2 leads orders-0 in epoch 1 (unclean election: it was not in sync)",
        f"{LOST}: the new leader, broker 2, does not have them; new records get their offsets",
    ]


def test_replicas_that_fell_behind_are_no_part_of_a_crash():
    """Only later leaders are shown."""
    history = owner_at_work()
    fallen_behind(history)
    history.cause = None
    history.crash("a", 100)
    history.say(ev.IsrChanged(partition=P0, isr=(2, 1), why="caught up"))
    history.say(ev.LeaderChanged(partition=P0, broker=1, epoch=2, clean=True))
    history.next_owner("b", 80, 130, generation=2)

    assert [line for line in explained(history, "D1") if "sync" in line or "leads" in line] == [
        "broker 1 leads orders-0 in epoch 2"
    ]


@pytest.mark.parametrize(("by", "is_sent"), [("client", False), ("coordinator", True)])
def test_a_refused_commit_has_its_error(by, is_sent):
    """The request if it was sent, what refused it, and the error at its sender."""
    history = owner_at_work()
    history.work("a", 80, 100)
    history.refuse("a", 100, "REBALANCE_IN_PROGRESS", by=by)
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 130, generation=2)
    lines = explained(history, "D1")
    refusals = [line for line in lines if line.endswith("generation 1): REBALANCE_IN_PROGRESS")]

    assert is_sent is ("a sends commit c9 (sync): orders-0 = 100 in generation 1" in lines)
    assert [f"the {by}"] == [line[: len(f"the {by}")] for line in refusals]
    assert "commit c9 of a fails: REBALANCE_IN_PROGRESS" in lines


def test_the_restart_of_an_owner_is_shown_also_if_another_one_is_the_root():
    """A rebalance refused its commit, and its own restart moved the partition; that of c moved nothing here."""
    history = owner_at_work()
    history.cause = None
    history.fault("deploy/b", "restart", "b")
    history.work("a", 80, 100)
    history.fault("deploy/a", "restart", "a")
    history.fault("deploy/c", "restart", "c")
    history.refuse("a", 100, "REBALANCE_IN_PROGRESS", by="client")
    history.close("a", 100, "closed")
    history.next_owner("b", 80, 130, generation=2)
    lines = explained(history, "D1")

    assert [line for line in lines if "deploy/" in line] == [
        "fault deploy/a begins: a is restarted"
    ]


def test_a_loss_has_the_commit_that_was_ahead():
    """The commit, the records in flight, and the start of the next owner."""
    history = owner_at_work()
    history.commit("a", 150, processed=80)
    history.work("a", 80, 100)
    history.close("a", 100, "closed", position=150)
    history.next_owner("b", 150, 160, generation=2)

    assert explained(history, "L1") == [
        "a starts orders-0 at offset 0 (committed) in generation 1",
        "the coordinator appends commit c8 of a: orders-0 = 80 in generation 1",
        "a sends commit c9 (sync): orders-0 = 150 in generation 1",
        "the coordinator appends commit c9 of a: orders-0 = 150 in generation 1",
        "commit c9 of a is acknowledged",
        "a processes orders-0 80..99 (20 records)",
        "a stops orders-0 at offset 100 (closed), 50 polled records not processed",
        "b starts orders-0 at offset 150 (committed) in generation 2",
    ]


def test_repeated_lines_are_shown_once_and_counted():
    """A commit tried again and again does not fill the page."""
    history = owner_at_work()
    history.work("a", 80, 100)
    history.lose("a", history.send("a", 100))
    for _ in range(40):
        commit = history.send("a", 100)
        history.answer("a", commit, "NETWORK_EXCEPTION")
    history.crash("a", 100)
    history.next_owner("b", 80, 130, generation=2)
    lines = explained(history, "D1")

    assert "these 2 lines 39 more times, until here" in lines
    assert len(lines) < 20


def test_other_partitions_and_members_are_left_out():
    """Neither other partitions nor other members' commits are shown."""
    history = owner_at_work()
    history.open("c", P1)
    history.crash("a", 80)
    history.work("c", 0, 70, P1)
    history.commit("c", 70, partition=P1)
    history.open("b", offset=0, source="seek", generation=2)
    history.work("b", 0, 10, generation=2)

    assert not [line for line in explained(history, "D1") if "orders-1" in line or "c70" in line]


def test_polls_are_shown_if_recorded():
    """A detailed history has the records of each poll."""
    history = owner_at_work()
    history.crash("a", 80)
    history.open("b", offset=40, generation=2)
    polled = ev.Polled(consumer="b", group=GROUP, generation=2, ranges=((P0, 40, 90),))
    history.say(polled)
    history.work("b", 40, 90, generation=2)

    assert "poll returns 40..89 (50 records) of orders-0 to b" in explained(history, "D1")


def test_every_shown_kind_of_event_has_words():
    """Words name the event, never a class."""
    samples = owner_at_work()
    samples.pause("a")
    samples.resume("a")
    samples.fault()
    samples.cut_off("a", 3)
    samples.let_go("a", 3, 4, "skipped")
    samples.drop("expired")
    samples.add_member("a")
    samples.coordinator_moves()
    samples.grow(3)
    samples.delete_topic()
    kinds = {type(event.what) for event in samples.events}
    unknown = ev.RunEnded(log_ends=())

    assert kinds <= set(WORDS)
    assert all(event_text(event.what, P0) for event in samples.events)
    assert "RunEnded" == event_text(unknown, TopicPartition("x", 0))


def test_a_kept_partition_that_is_read_elsewhere_is_described_so():
    """The end of such an epoch is no loss of the partition."""
    closed = {"consumer": "a", "group": GROUP, "generation": 1, "partition": P0}
    kept = ev.EpochClosed(**closed, processed=8, position=9, why="reopened")

    assert (
        "a stops orders-0 at offset 8 (position changed), 1 polled records not processed"
        == event_text(kept, P0)
    )


def test_unavailable_brokers_are_shown_for_topic_and_offsets():
    """From one no new record can be read, the other accepts no commits."""
    offsets = TopicPartition("__consumer_offsets", 4)

    assert [
        "new records of orders-0 cannot be read",
        "new records of orders-0 can be read again from broker 2",
        "__consumer_offsets-4 does not accept commits",
        "__consumer_offsets-4 accepts commits again on broker 2",
    ] == [
        event_text(kind(partition=tp, broker=2), P0)
        for tp in (P0, offsets)
        for kind in (ev.PartitionStalled, ev.PartitionResumed)
    ]


def test_a_replaced_coordinator_is_named_where_it_appends():
    """A commit in the log of a stale leader is not the coordinator's."""
    history = owner_at_work()
    offsets = TopicPartition("__consumer_offsets", 4)
    history.say(
        ev.Appended(group=GROUP, log_partition=4, log_offset=0, records=(), size=1, broker=1)
    )
    history.say(ev.LeaderChanged(partition=offsets, broker=2, epoch=1, clean=True))
    history.work("a", 80, 100)
    replaced = ev.CommitAccepted(
        consumer="a",
        group=GROUP,
        generation=1,
        commit="a#9",
        offsets=((P0, 100),),
        log_offset=7,
        high_watermark=7,
        leader_epoch=0,
        broker=1,
        log_partition=4,
    )
    history.say(replaced)
    history.crash("a", 100)
    history.next_owner("b", 80, 130, generation=2)
    (line,) = [line for line in explained(history, "D1") if "a#9" in line]

    assert line.startswith(
        "broker 1, replaced by broker 2, appends commit a#9 of a: orders-0 = 100"
    )


def restarted_before_its_session_ends(another=True):
    """Return the lines of a crash; the process comes back, under its own name or another."""
    history = owner_at_work()
    history.add_member("a")
    history.work("a", 80, 100)
    late = history.send("a", 90)
    history.crash("a", 100)
    if another:
        history.start("a", incarnation=2)
        history.say(ev.MemberAdded(group=GROUP, consumer="a", member_id="a-2"))
    history.remove_member("a")
    history.answer("a", late, "REQUEST_TIMED_OUT")
    history.next_owner("a" if another else "b", 80, 130, generation=2)
    return explained(history, "D1")


def test_the_processes_of_one_name_are_told_apart():
    """A member and a commit are those of the process that began them, also after its end."""
    lines = restarted_before_its_session_ends()

    assert lines[-8:] == [
        "process a (start 1) ends: crashed",
        "a (start 1) stops orders-0 at offset 100 (crashed)",
        "process a begins (start 2)",
        "a (start 2) joins billing as a-2",
        "a (start 1) is removed from billing: session expired",
        "commit c9 of a (start 1) fails: REQUEST_TIMED_OUT",
        "a (start 2) starts orders-0 at offset 80 (committed) in generation 2",
        "a (start 2) processes orders-0 80..129 (50 records)",
    ]


def test_a_name_with_one_process_has_no_number():
    assert [] == [
        line for line in restarted_before_its_session_ends(another=False) if "(start" in line
    ]
