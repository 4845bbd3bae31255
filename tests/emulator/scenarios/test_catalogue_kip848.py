"""The scenarios of the consumer protocol, beside what the same crash does to a classic group."""

from __future__ import annotations

import pytest

from emulator.events import ClientDropped, ListenerThrew, MemberRemoved
from emulator.ledger.entries import Cause

from .test_catalogue import entries, played


@pytest.mark.long
def test_the_automatic_commit_is_ahead_in_a_race_alone():
    """The next owner begins behind a batch whose records were only being handed out.

    Under the classic protocol, with own commits, or where the committing thread is faster than
    the other can be, the same crash repeats and loses nothing.
    """
    ahead = entries(played("kip848-commit-ahead"), Cause.COMMITTED_AHEAD)

    assert ["billing-1"] == [entry.first_owner.consumer for entry in ahead]
    for change in (
        "group[billing].settings[group.protocol]=classic",
        "group[billing].commit=sync",
        "group[billing].wake_up=10us",
    ):
        other = played("kip848-commit-ahead", 0, change)

        assert {Cause.CRASHED} == {Cause(cause) for cause in other.ledger.by_cause()}


def test_a_member_that_is_late_hears_of_its_eviction_with_the_heartbeat_at_its_deadline():
    """The rebalance timeout is three heartbeat intervals; in captures each eviction was heard so."""
    events = played("kip848-slow-handover").events
    removed = [event.at_us for event in events if isinstance(event.what, MemberRemoved)]
    heard = [event.at_us for event in events if isinstance(event.what, ClientDropped)]

    assert 2 <= len(removed) == len(heard)
    assert all(0 < at_us - before < 10_000 for before, at_us in zip(removed, heard, strict=True))


@pytest.mark.long
def test_late_heartbeats_hear_of_an_eviction_at_once_although_latencies_vary():
    """Punctual ones may overtake the timer; captured threads are 0.7 ms late on average."""
    varying = 'network.latency={lognormal={median="500us",p99="4ms"}}'
    late = 'group[billing].lateness={lognormal={median="200us",p99="8ms"}}'
    seeds = (3, 13, 15, 18)

    def reprocessed(*changes: str) -> list[int]:
        runs = [played("kip848-slow-handover", seed, *changes) for seed in seeds]
        return [run.ledger.reprocessed for run in runs]

    assert all(count > 200 for count in reprocessed(varying))
    assert all(count <= 200 for count in reprocessed(varying, late))


@pytest.mark.long
def test_some_crashes_lose_with_a_backlog_and_no_classic_one_does():
    """Over seeds some commits are ahead and some are not; under the classic protocol none is."""
    classic = "group[billing].settings[group.protocol]=classic"
    lost = [played("kip848-commit-ahead", seed).ledger.lost for seed in range(6)]

    assert 0 < sum(count > 0 for count in lost) < 6
    assert 100 >= max(lost)
    assert not any(played("kip848-commit-ahead", seed, classic).ledger.lost for seed in (0, 3))


def test_a_crash_costs_what_it_costs_the_classic_group():
    """The same random numbers: one member dies at the same moment, and is noticed as late."""
    ours, classic = played("kip848-member-crashes"), played("member-crashes")

    assert {"crash-1"} == {entry.root.id for entry in ours.ledger.entries}
    assert 204 >= max(ours.ledger.reprocessed, classic.ledger.reprocessed)
    assert ours.metrics["evictions"] == classic.metrics["evictions"] == 1
    assert ours.metrics["takeover_first_s"] == pytest.approx(
        classic.metrics["takeover_first_s"], abs=8
    )


@pytest.mark.long
def test_a_rolling_restart_stops_only_what_moves_and_repeats_nothing():
    """Each partition waits for the heartbeats of its old and its new owner."""
    ours, eager = played("rolling-restart-kip848"), played("rolling-restart-eager")

    assert () == ours.ledger.entries
    assert {"a member is gone: left": 3, "a member joined": 3} == (
        ours.metrics.tables["rebalances.by_reason"]
    )
    assert ours.metrics["moved"] < eager.metrics["moved"]
    assert ours.metrics["downtime_max_s"] > eager.metrics["downtime_max_s"]


CLASSIC = "group[billing].settings[group.protocol]=classic"
STATIC = "group[billing].static=true"


def closing(*changes: str):
    """Return the figures of a deploy whose members close in some way."""
    return played("kip848-close-options", 0, *changes).metrics


@pytest.mark.parametrize("protocol", [pytest.param((), marks=pytest.mark.long), (CLASSIC,)])
def test_a_member_that_stays_keeps_its_partitions(protocol):
    """A member that closes without leaving is removed only when its session expires."""
    leaves = closing(*protocol)
    remains = closing(*protocol, "group[billing].close_operation=REMAIN_IN_GROUP")

    assert (0, 3) == (leaves["evictions"], remains["evictions"])
    assert leaves["downtime_max_s"] < 6
    assert remains["downtime_max_s"] > 60


@pytest.mark.long
@pytest.mark.parametrize("protocol", [(), (CLASSIC,)])
def test_a_static_member_moves_nothing_unless_it_leaves_for_good(protocol):
    """It is back within its session; with LEAVE_GROUP its restart is as any other's."""
    stays = closing(*protocol, STATIC)
    leaves = closing(*protocol, STATIC, "group[billing].close_operation=LEAVE_GROUP")

    assert (0, 6) == (stays["rebalances"], leaves["rebalances"])
    assert 8 <= stays["downtime_max_s"] <= 9
    assert leaves["moved"] > stays["moved"] == 0


def test_a_classic_member_gives_up_though_its_listener_throws():
    """No member waits for it or is removed, and the call is made once."""
    ours = played("kip848-revoke-listener-throws")
    classic = played("kip848-revoke-listener-throws", 0, CLASSIC)
    threw = [sum(isinstance(e.what, ListenerThrew) for e in run.events) for run in (ours, classic)]

    assert {"did not give partitions up in time"} == set(ours.metrics.tables["evictions.by_reason"])
    assert {"fail_listener-1"} == {entry.root.id for entry in ours.ledger.entries}
    assert threw[0] > 30 > threw[1] == 1
    assert (0, 0) == (classic.metrics["evictions"], classic.ledger.reprocessed)


@pytest.mark.parametrize("protocol", [(), (CLASSIC,)])
def test_partitions_are_not_read_while_the_listener_throws(protocol):
    """For as long as onPartitionsAssigned throws, under either protocol; nothing is repeated."""
    run = played("kip848-assign-listener-throws", 0, *protocol)

    assert 34 <= run.metrics["downtime_max_s"] <= 41
    assert () == run.ledger.entries
    assert 0 == run.metrics["evictions"]


def test_each_change_of_topics_is_one_rebalance_of_the_consumer_protocol():
    """Partitions of a dropped topic, or of one not subscribed to yet, have no downtime."""
    run = played("kip848-topics-change").metrics
    still = run.tables["downtime.by_partition"]

    assert {"a member reads other topics": 3} == run.tables["rebalances.by_reason"]
    assert {"orders", "refunds", "returns"} == {name.split("/")[-1][:-2] for name in still}
    assert max(still.values()) < 20
