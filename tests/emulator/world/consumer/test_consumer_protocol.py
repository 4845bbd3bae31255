"""A group of the consumer protocol in the world: it forms, loses members, and counts right."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

import emulator
from emulator.events import (
    ClientDropped,
    CommitAccepted,
    CommitSent,
    CoordinatorMoved,
    EpochClosed,
    EpochOpened,
    GroupEpochRaised,
    GroupStabilised,
    ListenerCalled,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    MessageLost,
    PartitionsAdded,
    RequestsCounted,
    TargetComputed,
)
from emulator.ledger.entries import Cause
from emulator.metrics.laws import Severity
from emulator.scenario.load import loads
from emulator.world.build import play
from emulator.world.consumer.async_client import async_consumer
from emulator.world.consumer.blueprints import blueprints
from emulator.world.run import Replay
from protocols.consumer.kip848.threads import Lag
from protocols.coordinator.machine import GroupCoordinator
from protocols.settings import BrokerSettings

from ..stage import SECOND, Seen

TEXT = """
title = "by epochs"
run_for = "{run_for}"

[cluster.settings]
"group.consumer.min.session.timeout.ms" = "6s"
"group.consumer.session.timeout.ms" = "6s"
"group.consumer.min.heartbeat.interval.ms" = "1s"
"group.consumer.heartbeat.interval.ms" = "1s"

[[topic]]
name = "t"
partitions = 6
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 3
coordinator = 1
{group}

[group.settings]
"group.protocol" = "consumer"
"auto.offset.reset" = "earliest"
{settings}

{more}
"""


def text(more: str = "", *, group: str = "", settings: str = "", run_for: str = "30s") -> str:
    """Return the scenario; *more*: tables of TOML behind it."""
    work = group or 'work = "5ms"'
    return TEXT.format(run_for=run_for, group=work, settings=settings, more=more)


@cache
def staged(more: str = "", *, group: str = "", settings: str = "", run_for: str = "30s") -> Seen:
    """Play the group, and see to it that no law is broken."""
    run = emulator.run(loads(text(more, group=group, settings=settings, run_for=run_for)), 0)
    run.ledger.check()

    assert [] == [found for found in run.findings if found.severity is Severity.ERROR]
    return Seen(run)


# -- the group ---------------------------------------------------------------------------------


def test_the_first_comer_has_everything_until_the_others_have_their_share():
    """Epoch 2 has one member; one target then gives each of three the same."""
    seen = staged()
    first, last = seen.all(GroupStabilised)

    assert [6] == [len(given) for _, given in first.what.assignment]
    assert [2, 2, 2] == [len(given) for _, given in last.what.assignment]
    assert [2, 3, 4] == [event.what.epoch for event in seen.all(GroupEpochRaised)]
    assert [2, 4] == [event.what.epoch for event in seen.all(TargetComputed)]
    assert () == seen.run.ledger.entries


def test_members_talk_by_consumer_group_heartbeats_alone():
    """No request of the classic protocol is sent by anybody."""
    counts = {kind for event in staged().all(RequestsCounted) for kind, _ in event.what.counts}

    assert "ConsumerGroupHeartbeat" in counts
    assert not {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"} & counts


def test_the_coordinator_runs_the_assignor_that_members_ask_for():
    """``group.remote.assignor`` is a vote; without one it is the brokers' first."""
    asked = staged(settings='"group.remote.assignor" = "range"')

    assert {"uniform"} == {event.what.assignor for event in staged().all(TargetComputed)}
    assert {"range"} == {event.what.assignor for event in asked.all(TargetComputed)}


def test_new_partitions_raise_the_epoch_without_anybody_asking():
    """The coordinator sees the topic grow; that is what the new epoch is blamed on."""
    seen = staged('[[act]]\nadd_partitions = "t"\nto = 9\nat = "12s"')
    grown = seen.only(PartitionsAdded)
    raised = seen.all(GroupEpochRaised)[-1]

    assert grown.id == raised.cause
    assert SECOND > raised.at_us - grown.at_us
    assert 9 == sum(len(given) for _, given in seen.all(GroupStabilised)[-1].what.assignment)


@pytest.mark.long
def test_the_same_seed_gives_the_same_run():
    """Whatever is random is drawn by address, what threads need for each other included."""
    scenario = loads(text('[[fault]]\ncrash = "g-1"\nat = "12s"\nrestart_after = "2s"'))

    assert play(scenario, 3, ()).digest == play(scenario, 3, (), folding=False).digest
    assert play(scenario, 3, ()).digest != play(scenario, 4, ()).digest


def test_work_goes_on_when_the_background_thread_has_taken_the_commit():
    """``commitAsync`` waits for that, not for the answer: each next record is a little later."""
    group = 'work = "5ms"\nwake_up = "2ms"\ncommit = "async per record"'
    seen = staged(group=group, run_for="12s")
    taken = [event.at_us for event in seen.all(CommitSent, consumer="g-1")]
    late = [after - before - 5_000 for before, after in pairwise(taken[:50])]

    assert min(late) > 0, "it has a backlog, and each record takes 5 ms"
    assert 1_000 < sorted(late)[len(late) // 2] < 4_000


def test_a_process_that_is_started_again_has_delays_of_its_own():
    """The delays of its threads repeat every 5 s, and are those of its number (``LAGS_REPEAT_US``)."""
    scenario = loads(text())
    (blueprint, *_) = blueprints(scenario, 0, None)
    first, again, second = (
        [async_consumer(blueprint, f"g-0.{number}", lambda _: None).lags(lag, at) for lag in Lag]
        for number, at in ((1, 700), (1, 5_000_700), (2, 700))
    )

    assert first == again
    assert not set(first) & set(second)


# -- members that go ---------------------------------------------------------------------------


def test_a_crash_is_noticed_after_the_session_timeout_of_the_brokers():
    """The client's own setting has no part in it; what was not committed is done again."""
    seen = staged('[[fault]]\ncrash = "g-1"\nat = "15s"')
    removed = seen.only(MemberRemoved)
    raised = seen.all(GroupEpochRaised)[-1]

    assert "session expired" == removed.what.why
    assert 5 * SECOND - 10_000 <= removed.at_us - 15 * SECOND <= 6 * SECOND
    assert (removed.id, "a member is gone: session expired") == (raised.cause, raised.what.reason)
    assert {Cause.CRASHED} >= {Cause(cause) for cause in seen.run.ledger.by_cause()}
    assert 200 >= seen.run.ledger.reprocessed


def test_a_static_member_that_returns_does_not_stabilise_the_group_again():
    """It gets its partitions back in the same epoch, for which the group was stable before."""
    acts = '[[act]]\nclose = "g-1"\nat = "10s"\n[[act]]\nstart = "g-1"\nat = "12s"'
    seen = staged(acts, group='static = true\nwork = "5ms"', run_for="16s")
    epochs = [event.what.generation for event in seen.all(GroupStabilised)]
    returned = seen.all(MemberMoved, consumer="g-1")[-1]

    assert 12 * SECOND < returned.at_us
    assert "STABLE" == returned.what.state
    assert sorted(set(epochs)) == epochs


def test_a_member_that_closes_commits_and_leaves_at_once():
    """Its session need not expire, and nothing is repeated."""
    seen = staged('[[act]]\nclose = "g-1"\nat = "15s"')

    assert "left" == seen.only(MemberRemoved).what.why
    assert SECOND > seen.only(MemberRemoved).at_us - 15 * SECOND
    assert () == seen.run.ledger.entries


def test_a_fenced_member_loses_its_partitions_and_comes_back_under_its_id():
    """Paused beyond its session it gets UNKNOWN_MEMBER_ID or a fenced epoch, and joins again."""
    seen = staged('[[fault]]\npause = "g-1"\nat = "12s"\nfor = "9s"')
    ids = {event.what.member_id for event in seen.all(MemberAdded, consumer="g-1")}
    (dropped,) = seen.all(ClientDropped)

    assert "UNKNOWN_MEMBER_ID" in dropped.what.reason
    assert 1 == len(ids)
    assert 2 == len(seen.all(MemberAdded, consumer="g-1"))
    assert 2 == len(seen.only(ListenerCalled, call="lost").what.partitions)


def test_revoked_partitions_can_be_lost_as_well():
    """A member fenced with a queued revocation gets both calls; each partition ends once."""
    more = """
[[group.member]]
name = "g-2"
start = "by act"

[[act]]
start = "g-2"
at = "13s"

[[fault]]
pause = "g-0"
at = "16s"
for = "8s"
"""
    work = 'work = "500ms"'
    seen = staged(more, group=work, settings='"max.poll.records" = 12', run_for="40s")
    revoked = seen.all(ListenerCalled, consumer="g-0", call="revoked")[-1]
    (lost,) = seen.all(ListenerCalled, consumer="g-0", call="lost")
    ends = Counter(
        event.what.partition for event in seen.after(16 * SECOND, EpochClosed, consumer="g-0")
    )

    assert revoked.at_us <= lost.at_us
    assert set(revoked.what.partitions) < set(lost.what.partitions)
    assert {1} == set(ends.values())


def test_a_handler_that_hangs_beyond_max_poll_interval_loses_its_membership():
    """The other thread leaves for it at once, and the listener hears of it at the next poll."""
    hang = '[[fault]]\nhang = "g-1"\nat = "12s"\nfor = "9s"'
    seen = staged(hang, settings='"max.poll.interval.ms" = "4s"')
    removed = seen.only(MemberRemoved)

    assert "left" == removed.what.why
    assert 4 * SECOND <= removed.at_us - 12 * SECOND <= 6 * SECOND
    assert seen.only(ListenerCalled, call="lost").at_us > removed.at_us
    assert Cause.TWO_OWNERS in {Cause(cause) for cause in seen.run.ledger.by_cause()}


def test_a_static_member_that_is_back_in_time_changes_nothing():
    """It leaves with epoch -2 and takes its place again: no target is computed for it."""
    more = '[[act]]\nclose = "g-1"\nat = "15s"\nrestart_after = "3s"'
    seen = staged(more, group='work = "5ms"\nstatic = true')
    away = [event for event in seen.all(MemberMoved, consumer="g-1") if event.what.epoch == -2]

    assert 1 == len(away)
    assert [] == seen.after(15 * SECOND, TargetComputed)
    assert "g-1" in {event.what.consumer for event in seen.after(18 * SECOND, EpochOpened)}


def test_another_coordinator_goes_on_with_the_same_epochs():
    """Epochs and members are in the log; no member joins again, nothing is repeated."""
    seen = staged('[[act]]\nmove_coordinator = "g"\nat = "15s"')
    moved = seen.all(CoordinatorMoved)[-1]

    assert 4 == moved.what.generation
    assert [] == seen.after(15 * SECOND, GroupEpochRaised)
    assert seen.after(moved.at_us + 6 * SECOND, CommitAccepted)
    assert () == seen.run.ledger.entries


def test_a_lost_heartbeat_is_made_up_for_within_the_session():
    """An unanswered request expires in time for another one: no member is removed."""
    lost = """
[[fault]]
at = "12s"
lose_message = { kind = "ConsumerGroupHeartbeat", part = "request", member = "g-1" }
"""
    seen = staged(lost, settings='"request.timeout.ms" = "2s"')

    assert ["ConsumerGroupHeartbeat"] == [event.what.kind for event in seen.all(MessageLost)]
    assert [] == seen.all(MemberRemoved)
    assert () == seen.run.ledger.entries


# -- the log -----------------------------------------------------------------------------------


def test_the_coordinators_state_equals_a_replay_of_all_appends():
    """Law 3: only records change durable state."""
    faults = """
[[fault]]
crash = "g-1"
at = "12s"
restart_after = "4s"

[[fault]]
move_coordinator = "g"
at = "20s"
"""
    appended, events = [], []
    replay = Replay(appended=appended.extend)
    play(loads(text(faults)), 0, (events.append,), replay=replay, check=True)
    rebuilt = GroupCoordinator(BrokerSettings(), new_id=str, epoch_ms=0)
    rebuilt.replay(enumerate(appended))
    accepted = {}
    for event in events:
        if isinstance(event.what, CommitAccepted):
            accepted.update({tuple(tp): offset for tp, offset in event.what.offsets})
    raised = [event.what.epoch for event in events if isinstance(event.what, GroupEpochRaised)]

    assert accepted == {
        (topic, number): value.offset
        for topic, partitions in rebuilt.state.durable.topics_of("g").items()
        for number, value in partitions.items()
    }
    assert raised[-1] == rebuilt.generation("g")
