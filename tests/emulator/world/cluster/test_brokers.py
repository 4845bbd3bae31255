"""Brokers that die, stop and come back; coordinators that move with them or on their own."""

from __future__ import annotations

import itertools

import pytest

from assignors.types import TopicPartition
from emulator.events import (
    BrokerDown,
    BrokerUp,
    CommitAccepted,
    CommitAnswered,
    CommitSent,
    CoordinatorMoved,
    EpochClosed,
    GroupStabilised,
    MemberRemoved,
    Processed,
    RebalanceStarted,
    RequestsCounted,
)

from ..stage import GROUP, SECOND
from ..stage import staged as fully_staged

FENCED_US = 9 * SECOND
"""Default of ``broker.session.timeout.ms``."""

LOAD_US = 10_000
ROUND_TRIP_US = 1_000

FAULT = """
[[fault]]
{verb} = "{target}"
at = "10s"
"""


TOPIC = 'partitions = 6\nrate = "4/s"'


def staged(more="", *, topic=TOPIC, **options):
    """Play at a low rate: it is the brokers that count here."""
    return fully_staged(more, topic=topic, **options)


def crashed(target, *, restart_after=None, run_for="26s", **more):
    text = FAULT.format(verb="crash_broker", target=target)
    if restart_after is not None:
        text += f'restart_after = "{restart_after}"\n'
    return staged(text, run_for=run_for, **more)


def paused(target, lasting, **more):
    text = FAULT.format(verb="pause_broker", target=target)
    return staged(f'{text}for = "{lasting}"\n', run_for="26s", **more)


# -- the coordinator's broker ------------------------------------------------------------------


def test_a_consumer_hears_of_a_dead_broker_though_it_waits_for_nothing_from_it():
    """Its connection breaks, and it asks who leads; its handler has enough to do meanwhile."""
    one, slow = 'rate = "40/s"\nleaders = [3]', 'work = "500ms"'
    fault = FAULT.format(verb="crash_broker", target="broker-3")
    seen = staged(fault, topic=one, group=slow, run_for="26s")
    quiet = staged(topic=one, group=slow, run_for="26s")

    def asked(run):
        counts = [dict(e.what.counts) for e in run.after(10 * SECOND, RequestsCounted)]
        return sum(each.get("Metadata", 0) for each in counts)

    assert asked(seen) > asked(quiet)


def test_a_dead_coordinator_is_replaced_when_its_broker_is_fenced():
    """Nine seconds, and the load; the next replica leads from then on."""
    seen = crashed("coordinator of g")
    moved = seen.only(CoordinatorMoved)

    assert (10 * SECOND + FENCED_US + LOAD_US, 2) == (moved.at_us, moved.what.broker)
    assert LOAD_US == moved.what.loaded_us
    assert [1] == [event.what.broker for event in seen.all(BrokerDown)]
    assert [] == seen.all(BrokerUp)


def test_a_killed_broker_that_starts_again_at_once_costs_its_session_all_the_same():
    """It may not register while the session of its last process lives (``registerBroker``)."""
    seen = crashed("coordinator of g", restart_after="2s")
    moved = seen.only(CoordinatorMoved)

    assert (10 * SECOND + FENCED_US + LOAD_US, 2) == (moved.at_us, moved.what.broker)
    assert [10 * SECOND + FENCED_US] == seen.times(BrokerUp)


def test_a_broker_that_dies_again_while_it_waits_to_register_never_comes():
    """Its second process ends as the first did."""
    once = FAULT.format(verb="crash_broker", target="broker-3")
    seen = staged(once + 'restart_after = "2s"\n' + once.replace("10s", "14s"), run_for="40s")

    assert [10 * SECOND] == seen.times(BrokerDown)
    assert [] == seen.times(BrokerUp)


def test_a_broker_that_comes_back_late_finds_its_group_elsewhere():
    """Its successor keeps the group."""
    assert [2] == [
        event.what.broker
        for event in crashed("coordinator of g", restart_after="20s", run_for="32s").all(
            CoordinatorMoved
        )
    ]


def test_a_group_survives_the_death_of_its_coordinator():
    """Same generation, no member is removed, nothing is reprocessed; commits continue after it."""
    seen = crashed("coordinator of g")
    moved_us = seen.only(CoordinatorMoved).at_us

    assert [] == seen.after(10 * SECOND, RebalanceStarted) == seen.all(MemberRemoved)
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.lost
    assert [] == [e for e in seen.after(10 * SECOND, CommitAccepted) if e.at_us < moved_us]
    assert {1} == {event.what.generation for event in seen.after(moved_us, CommitAccepted)}


def test_a_request_to_a_dead_broker_fails_after_a_round_trip():
    """The commit fails at once, not after ``request.timeout.ms``."""
    seen = crashed("coordinator of g", restart_after="2s")
    sent = {event.what.commit: event.at_us for event in seen.all(CommitSent)}
    failed = seen.all(CommitAnswered, error="NETWORK_EXCEPTION")

    assert failed
    assert {ROUND_TRIP_US} == {event.at_us - sent[event.what.commit] for event in failed}


def test_a_paused_coordinator_answers_when_it_runs_again():
    """Requests meanwhile waited in its socket: it reads each when it has answered the one before."""
    seen = paused("coordinator of g", "3s", settings='"auto.commit.interval.ms" = "2s"')
    waited = [event for event in seen.all(CommitSent) if 10 * SECOND < event.at_us < 13 * SECOND]
    accepted = {event.what.commit: event.at_us for event in seen.all(CommitAccepted)}

    assert waited
    times = sorted(accepted[event.what.commit] for event in waited)
    assert [13 * SECOND] * 3 == times[:3]
    assert 13 * SECOND < times[3] <= times[-1] < 13 * SECOND + 5_000
    assert [] == seen.all(CoordinatorMoved)


ELSEWHERE = 'partitions = 6\nrate = "4/s"\nreplicas = 1\nleaders = [2, 3, 2, 3, 2, 3]'
"""A topic with nothing on the coordinator's broker."""


def test_a_request_times_out_when_its_broker_is_silent_for_too_long():
    """After ``request.timeout.ms`` the client gives it up."""
    timeout = '"request.timeout.ms" = "3s"'
    seen = paused(
        "coordinator of g", "8s", group='commit = "async"', settings=timeout, topic=ELSEWHERE
    )
    sent = {event.what.commit: event.at_us for event in seen.all(CommitSent)}
    late = [event for event in seen.all(CommitAnswered) if event.what.error != "NONE"]
    waited = [event.at_us - sent[event.what.commit] for event in late]

    assert 3 * SECOND == pytest.approx(max(waited), abs=SECOND // 10)


def test_a_heartbeat_that_lay_in_a_paused_brokers_socket_still_counts():
    """It came before the session ran out, so the timer that ran out meanwhile is overridden."""
    seen = paused("coordinator of g", "8s")

    assert [] == seen.all(MemberRemoved) == seen.after(10 * SECOND, RebalanceStarted)
    assert 0 == seen.run.ledger.reprocessed


def test_a_session_that_runs_out_while_the_broker_is_paused_ends_with_the_pause():
    """Of a member that died before it: nothing of it lies in the socket."""
    crash = """
[[fault]]
crash = "g-2"
at = "9s"
"""
    text = FAULT.format(verb="pause_broker", target="coordinator of g") + 'for = "7s"\n'
    seen = staged(text + crash, run_for="40s")
    removed = seen.only(MemberRemoved)

    assert (17 * SECOND, "g-2", "session expired") == (
        removed.at_us,
        removed.what.consumer,
        removed.what.why,
    )


def test_a_paused_broker_says_nothing_even_when_it_loses_its_group():
    """Members parked there hear that it is no coordinator when it runs again, or time out."""
    join = """
[[group.member]]
name = "late"
start = "9500ms"
"""
    seen = staged(
        FAULT.format(verb="pause_broker", target="coordinator of g") + 'for = "15s"\n',
        group=f"{GROUP}\n{join}",
        run_for="60s",
    )
    moved = seen.only(CoordinatorMoved)

    assert 10 * SECOND + FENCED_US + LOAD_US == moved.at_us
    assert {"late"} <= {consumer for consumer, _ in seen.all(GroupStabilised)[-1].what.assignment}
    assert 0 == seen.run.ledger.lost


# -- a coordinator that moves ------------------------------------------------------------------


def move(to="", **more):
    text = FAULT.format(verb="move_coordinator", target="g")
    return staged(f"{text}{to}\n", run_for="30s", **more)


@pytest.mark.parametrize(("to", "broker"), [("", 2), ('to = "broker-3"', 3)])
def test_a_coordinator_moves_to_the_next_or_the_named_replica(to, broker):
    """It takes one load; the group continues in its generation."""
    seen = move(to)
    moved = seen.only(CoordinatorMoved)

    assert (10 * SECOND + LOAD_US, broker, 1) == (
        moved.at_us,
        moved.what.broker,
        moved.what.generation,
    )
    assert [] == seen.after(10 * SECOND, RebalanceStarted)


def test_the_load_takes_as_long_as_the_cluster_says():
    """Meanwhile nothing is committed."""
    seen = move(run='cluster = { load = "4s" }', group='commit = "sync"')
    moved = seen.only(CoordinatorMoved)

    assert (14 * SECOND, 4 * SECOND) == (moved.at_us, moved.what.loaded_us)
    assert [] == [
        event for event in seen.after(10 * SECOND, CommitAccepted) if event.at_us < moved.at_us
    ]
    assert seen.after(moved.at_us, CommitAccepted)


def test_a_commit_under_way_when_the_coordinator_moves_is_sent_again_by_commit_sync():
    """The old one is no coordinator any more, the new one loads: both can be tried again."""
    seen = move(run='cluster = { load = "1s" }', group='commit = "sync"')

    assert 0 == seen.run.ledger.reprocessed
    assert 0 == seen.run.ledger.lost
    waited = [
        (sent.at_us, answered.at_us)
        for sent, answered in zip(
            seen.all(CommitSent, consumer="g-0"),
            seen.all(CommitAnswered, consumer="g-0", error="NONE"),
            strict=False,
        )
        if sent.at_us < 10 * SECOND < answered.at_us
    ]
    assert all(end >= 11 * SECOND for _, end in waited)


# -- leaders of partitions ---------------------------------------------------------------------

LED_BY_3 = TopicPartition("t", 2)
LED_BY_1 = TopicPartition("t", 0)


def rests(seen, partition):
    """Return the longest time in which no work on a partition began, after the fault."""
    began = [10 * SECOND]
    began += [event.what.began_us for event in seen.all(Processed, partition=partition)]
    began = sorted(at for at in began if at >= 9 * SECOND)
    return max(later - before for before, later in itertools.pairwise(began))


EACH_TOLD = 'commit = "async per record"\nwork = "5ms"'
"""So that every record's work is an event."""


def test_records_of_a_dead_leader_wait_until_another_leads():
    """From its death until it is fenced, and until members have heard of the new leader."""
    seen = crashed("broker-3", group=EACH_TOLD)

    assert FENCED_US <= rests(seen, LED_BY_3) <= FENCED_US + 2 * SECOND
    assert 0 == seen.run.ledger.reprocessed == seen.run.ledger.lost


def test_records_that_a_dead_broker_only_has_copies_of_wait_for_its_fencing():
    """It counts as in sync, so no high watermark moves without it (KIP-497: until then)."""
    seen = crashed("broker-3", group=EACH_TOLD)

    assert FENCED_US - SECOND // 10 <= rests(seen, LED_BY_1) <= FENCED_US + SECOND


def test_with_one_copy_only_the_dead_leaders_partitions_wait():
    """Others are not delayed; its own have no other leader until it is back."""
    seen = crashed(
        "broker-3",
        restart_after="12s",
        group=EACH_TOLD,
        topic='partitions = 6\nrate = "4/s"\nreplicas = 1',
    )

    assert rests(seen, LED_BY_1) < SECOND
    assert 12 * SECOND <= rests(seen, LED_BY_3) <= 14 * SECOND


def test_a_pause_shorter_than_the_fencing_costs_that_long_and_no_more():
    """Its partitions stay with it."""
    seen = paused("broker-3", "4s", group=EACH_TOLD)

    assert 4 * SECOND - SECOND // 10 <= rests(seen, LED_BY_3) <= 5 * SECOND
    assert [14 * SECOND] == seen.times(BrokerUp)


def test_faults_on_brokers_that_are_down_already_do_nothing():
    """A second crash of the same broker has nothing to kill."""
    twice = FAULT.format(verb="crash_broker", target="broker-3")
    seen = staged(twice + twice.replace("10s", "12s") + 'restart_after = "10s"', run_for="40s")

    assert [10 * SECOND] == seen.times(BrokerDown)
    assert [22 * SECOND] == seen.times(BrokerUp)


def test_no_member_loses_a_partition_by_the_death_of_a_broker():
    """A broker's death is no rebalance."""
    for broker in (1, 2, 3):
        seen = crashed(f"broker-{broker}", restart_after="15s")

        assert [] == seen.after(10 * SECOND, EpochClosed)
        assert sum(dict(e.what.counts).get("JoinGroup", 0) for e in seen.all(RequestsCounted)) == 6
