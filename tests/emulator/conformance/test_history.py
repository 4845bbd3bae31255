"""A captured run becomes events that give its own figures back."""

from collections import Counter

import pytest

from assignors.types import TopicPartition
from emulator.conformance.history.run import history
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitRefused,
    CommitSent,
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    FaultBegan,
    FaultEnded,
    JoinPhaseEnded,
    ListenerCalled,
    MemberAdded,
    MemberRemoved,
    PartitionsAdded,
    PartlyProcessed,
    Processed,
    RebalanceStarted,
    RunEnded,
    RunStarted,
    TopicCreated,
    is_data_event,
)

CRASH = "crash-range-auto/run-1"
KEPT = (
    CRASH,
    "join-cooperative-auto/run-21",
    "kip848-crash/run-1",
    "kip848-join/run-21",
    "latest-increase-range/run-1",
    "nocommit-eager-join/run-1",
    "pause-zombie-range/run-21",
    "precommit-crash/run-2",
    "static-crash-return/run-21",
)


def of(events, kind, **wanted):
    return [
        event
        for event in events
        if type(event.what) is kind
        and all(getattr(event.what, name) == value for name, value in wanted.items())
    ]


def only(events, kind, **wanted):
    (event,) = of(events, kind, **wanted)
    return event


@pytest.mark.parametrize("name", KEPT)
def test_events_are_numbered_in_order_of_time(capture, name):
    """Ids and rows count from 0, times never fall, the run's begin and end enclose the rest."""
    run = capture(name)
    events = history(run)

    controls = [event for event in events if not is_data_event(event.what)]
    assert list(range(len(controls))) == [event.id for event in controls]
    assert list(range(len(events))) == [event.row for event in events]
    assert sorted(event.at_us for event in events) == [event.at_us for event in events]
    assert isinstance(events[0].what, RunStarted)
    assert isinstance(events[-1].what, RunEnded)
    assert run.end_us == events[-1].at_us


def test_the_same_capture_gives_the_same_events(capture):
    """Nothing of the reading is left to chance."""
    assert history(capture(CRASH)) == history(capture(CRASH))


@pytest.mark.parametrize("name", KEPT)
def test_ranges_hold_every_record_done_before_the_end(capture, name):
    """The processed ranges are the traces' records, no more and no fewer."""
    run = capture(name)
    done = Counter(
        (trace.member, record.partition, record.offset)
        for trace in run.traces
        for record in trace.worked()
        if record.at_us <= run.end_us
    )

    counts = Counter(
        (what.consumer, what.partition, offset)
        for what in (event.what for event in history(run))
        if isinstance(what, Processed)
        for offset in range(what.first, what.next_offset)
    )
    assert done == counts


@pytest.mark.parametrize("name", KEPT)
def test_nothing_happens_inside_a_range(capture, name):
    """Between the ends of a range's records nothing else of the run takes place."""
    run = capture(name)
    events = history(run)
    ends = {
        (trace.member, record.partition, record.offset, record.at_us)
        for trace in run.traces
        for record in trace.worked()
    }
    by_record = {}
    for member, partition, offset, at_us in ends:
        by_record.setdefault((member, partition, offset), []).append(at_us)
    others = sorted(e.at_us for e in events if not isinstance(e.what, Processed))

    for event in of(events, Processed):
        what = event.what
        times = by_record[what.consumer, what.partition, what.first]
        first_us = max(at_us for at_us in times if at_us <= event.at_us)
        assert not [at_us for at_us in others if first_us <= at_us < event.at_us]


@pytest.mark.parametrize("name", KEPT)
def test_epochs_open_and_close_in_turn(capture, name):
    """A consumer works on a partition only between the opening and the close of an epoch."""
    position = {}
    for event in history(capture(name)):
        match event.what:
            case EpochOpened(consumer=consumer, partition=partition, offset=offset):
                assert (consumer, partition) not in position
                position[consumer, partition] = offset
            case Processed(consumer=consumer, partition=partition, first=first) as done:
                assert position[consumer, partition] == first
                position[consumer, partition] = done.next_offset
            case EpochClosed(consumer=consumer, partition=partition, processed=processed) as end:
                assert processed == position.pop((consumer, partition))
                assert processed <= end.position


@pytest.mark.parametrize("name", KEPT)
def test_a_commit_is_sent_accepted_and_answered_in_this_order(capture, name):
    """Every commit that counted was sent once, and its fate follows its sending."""
    events = history(capture(name))
    sent = {event.what.commit: event for event in of(events, CommitSent)}

    assert len(of(events, CommitSent)) == len(sent)
    for fate in of(events, CommitAccepted) + of(events, CommitRefused):
        assert sent[fate.what.commit].row < fate.row
        assert sent[fate.what.commit].what.offsets == fate.what.offsets
    accepted = {event.what.commit: event.row for event in of(events, CommitAccepted)}
    for answer in of(events, CommitAnswered):
        assert accepted[answer.what.commit] < answer.row


AHEAD = {"precommit-crash/run-2", "kip848-crash/run-1", "kip848-join/run-21"}
"""Commits before the work, and automatic ones of the consumer protocol, which race with poll."""


@pytest.mark.parametrize("name", sorted(set(KEPT) - AHEAD))
def test_no_commit_of_these_covers_more_than_was_done(capture, name):
    """The classic consumer's commits never run ahead of work finished before the next poll."""
    for event in of(history(capture(name)), CommitSent):
        what = event.what
        for (partition, offset), processed in zip(what.offsets, what.processed, strict=True):
            assert offset <= processed, (what.commit, partition)


def test_a_kill_ends_its_consumer_and_its_epochs(capture):
    """A killed member's epochs close as crashed at the kill, with what it had finished."""
    run = capture(CRASH)
    events = history(run)
    fault = only(events, FaultBegan)

    assert FaultBegan(fault="crash-1", verb="crash", target="m1") == fault.what
    stopped = only(events, ConsumerStopped)
    assert ("m1", "crashed", run.fault_us) == (
        stopped.what.consumer,
        stopped.what.how,
        stopped.at_us,
    )
    closed = {
        run.shown(event.what.partition): event.what.processed
        for event in of(events, EpochClosed, why="crashed")
    }
    assert closed == {"t0-0": 180, "t0-1": 179}


def test_the_next_owner_starts_at_the_commit(capture):
    """The client's log has the start of an epoch and whether it was at a commit."""
    run = capture(CRASH)
    events = history(run)
    opened = of(events, EpochOpened, consumer="m2", generation=2)

    assert {run.shown(e.what.partition): (e.what.offset, e.what.source) for e in opened} == {
        "t0-0": (95, "committed"),
        "t0-1": (98, "committed"),
        "t0-2": (306, "committed"),
    }
    first = of(events, EpochOpened, consumer="m2", generation=1)[0].what
    assert (first.offset, first.source, first.why) == (0, "earliest", "no offset")


def test_the_record_in_flight_at_a_kill_is_partial(capture):
    """A record begun and not finished by a killed process is marked as such."""
    run = capture("precommit-crash/run-2")
    events = history(run)

    partly = only(events, PartlyProcessed)
    lost = of(events, Processed, consumer="m1")[-1].what
    assert (lost.partition, lost.next_offset) == (partly.what.partition, partly.what.offset)
    assert lost.began_us < partly.what.began_us <= run.fault_us


def test_the_coordinators_log_has_the_group(capture):
    """Members and generations change at the times of the coordinator's log."""
    events = history(capture(CRASH))

    assert [(event.what.consumer, event.what.replaced) for event in of(events, MemberAdded)] == [
        ("m1", ""),
        ("m2", ""),
        ("m3", ""),
    ]
    assert [(event.what.consumer, event.what.why) for event in of(events, MemberRemoved)] == [
        ("m1", "session expired")
    ]
    assert [
        (event.what.generation, event.what.consumers) for event in of(events, JoinPhaseEnded)
    ] == [(1, ("m1", "m2", "m3")), (2, ("m2", "m3"))]
    assert [event.what.generation for event in of(events, RebalanceStarted)] == [0, 1]


def test_a_static_member_returns_under_its_name(capture):
    """A restarted static member is a new incarnation, replaced in the group without a rebalance."""
    events = history(capture("static-crash-return/run-21"))

    assert [
        (event.what.incarnation, event.what.instance_id)
        for event in of(events, ConsumerStarted, consumer="m3")
    ] == [(1, "i3"), (2, "i3")]
    back = [event.what for event in of(events, MemberAdded) if event.what.replaced]
    assert [what.consumer for what in back] == ["m3"]
    assert back[0].replaced.startswith("i3-")
    assert {1} == {event.what.generation for event in of(events, ListenerCalled)}


def test_a_pause_has_a_begin_and_an_end(capture):
    """SIGSTOP and SIGCONT are one fault; the zombie's epochs close as lost."""
    run = capture("pause-zombie-range/run-21")
    events = history(run)

    assert run.fault_us == only(events, ConsumerPaused).at_us
    assert run.fault_us + 10_001_864 == only(events, ConsumerResumed).at_us
    assert only(events, FaultBegan).what.fault == only(events, FaultEnded).what.fault
    assert len(of(events, EpochClosed, consumer="m1", why="lost")) == 2


def test_a_zombies_refused_commits_are_events(capture):
    """Commits refused by the coordinator and by the client differ in ``by``."""
    refused = of(history(capture("pause-zombie-range/run-21")), CommitRefused)

    assert [(event.what.error, event.what.by) for event in refused] == [
        ("UNKNOWN_MEMBER_ID", "coordinator"),
        ("UNKNOWN_MEMBER_ID", "client"),
    ]


def test_partitions_are_added_to_a_topic(capture):
    """The topic is created with six partitions and has nine from the act on."""
    run = capture("latest-increase-range/run-1")
    events = history(run)

    created = only(events, TopicCreated).what
    assert created.log_starts == (0,) * 6
    added = only(events, PartitionsAdded)
    assert (9, run.fault_us) == (added.what.partitions, added.at_us)
    reset = of(events, EpochOpened, source="latest", generation=2)
    assert {run.shown(event.what.partition): event.what.offset for event in reset} == {
        "t0-6": 40,
        "t0-7": 41,
        "t0-8": 40,
    }


def test_timer_commits_come_from_commit_sync(capture):
    """CommitSync calls of the application are commits of kind ``sync`` with what they covered."""
    run = capture("nocommit-eager-join/run-1")
    sent = of(history(run), CommitSent, consumer="m1")

    assert {"sync"} == {event.what.kind for event in sent}
    topic = run.productions[0].topic
    first = ((TopicPartition(topic, 0), 63), (TopicPartition(topic, 1), 63))
    assert first == sent[0].what.offsets


def test_open_epochs_end_with_their_position(capture):
    """At the run's end every partition that is owned has the position poll had reached."""
    run = capture(CRASH)
    ended = history(run)[-1].what

    assert {run.shown(partition): position for _, partition, position in ended.positions} == {
        "t0-0": 471,
        "t0-1": 470,
        "t0-2": 470,
        "t0-3": 470,
        "t0-4": 470,
        "t0-5": 470,
    }
    assert dict(ended.log_ends) == {p: position for _, p, position in ended.positions}
