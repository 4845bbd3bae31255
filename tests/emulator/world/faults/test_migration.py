"""A group on its way from one protocol to the other, and back, in the world."""

from __future__ import annotations

from functools import cache

import pytest

import emulator
from emulator.events import (
    CommitAccepted,
    ConsumerStarted,
    ConsumerStopped,
    FaultBegan,
    GroupConverted,
    GroupEmptied,
    GroupStabilised,
    ListenerCalled,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from emulator.metrics.laws import Severity
from emulator.playing import is_mistaken
from emulator.scenario.load import loads
from emulator.world.build import play

from ..stage import Seen

TEXT = """
title = "there and back"
run_for = "{run_for}"

[cluster.settings]
"group.consumer.migration.policy" = "{policy}"

[[topic]]
name = "t"
partitions = 6
rate = "5/s"

[[group]]
id = "g"
topics = ["t"]
members = 3
static = {static}
coordinator = 1
work = "10ms"
settings = {{ "partition.assignment.strategy" = "{assignor}", "auto.offset.reset" = "earliest" }}

[[act]]
id = "there"
rolling_restart = "g"
at = "10s"
down_time = "1s"
gap = "9s"
settings = {{ "group.protocol" = "consumer" }}
unset = ["partition.assignment.strategy"]
{keys}

[[act]]
id = "back"
rolling_restart = "g"
when = "there ends"
delay = "9s"
down_time = "1s"
gap = "9s"
settings = {{ "group.protocol" = "classic" }}

{more}
"""


CANARY = """
[[fault]]
close = "g-1"
at = "10s"

[[act]]
start = "g-1"
at = "15s"
settings = { "group.protocol" = "consumer" }
unset = ["partition.assignment.strategy"]

[[fault]]
close = "g-1"
at = "30s"
restart_after = "1s"
"""


@cache
def staged(
    policy: str = "bidirectional",
    assignor: str = "cooperative-sticky",
    *,
    static: bool = False,
    run_for: str = "90s",
    keys: str = "",
    more: str = "",
) -> Seen:
    """Play a migration, and see to it that no law is broken."""
    text = TEXT.format(
        policy=policy,
        assignor=assignor,
        static=str(static).lower(),
        run_for=run_for,
        keys=keys,
        more=more,
    )
    run = emulator.run(loads(text), 0)
    run.ledger.check()

    assert [] == [found for found in run.findings if found.severity is Severity.ERROR]
    assert not is_mistaken(run.scenario)
    return Seen(run)


def changes(seen: Seen) -> list[tuple[str, str, int]]:
    """Return what the group became, who came or went, and how many went along."""
    return [
        (event.what.protocol, event.what.consumer, len(event.what.members))
        for event in seen.all(GroupConverted)
    ]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_the_first_makes_a_consumer_group_and_the_last_a_classic_one(assignor):
    """While it lasts, members of both protocols share the partitions; everyone stays alive."""
    seen = staged(assignor=assignor)
    last = seen.all(GroupStabilised)[-1]

    assert [("consumer", "g-0", 2), ("classic", "g-2", 2)] == changes(seen)
    assert {"closed"} == {event.what.how for event in seen.all(ConsumerStopped)}
    assert [2, 2, 2] == [len(given) for _, given in last.what.assignment]
    assert 0 == seen.run.ledger.lost


def test_the_count_goes_on_over_both_changes():
    """Generations become epochs and epochs generations; neither falls."""
    seen = staged()
    written = [event.what.generation for event in seen.all(GroupStabilised)]

    assert sorted(written) == written
    for event in seen.all(GroupConverted):
        before = [e.what.generation for e in seen.all(GroupStabilised) if e.id < event.id]
        assert before[-1] == event.what.generation


def test_committed_offsets_survive_both_changes():
    """Each member begins where the one before it had committed: nothing is read from the start."""
    seen = staged()
    ends: dict[object, int] = {}
    for event in seen.all(CommitAccepted):
        for partition, offset in event.what.offsets:
            assert offset >= ends.get(partition, 0)
            ends[partition] = offset

    assert 6 == len(ends)
    assert 100 > seen.run.ledger.reprocessed
    assert [] == seen.all(GroupEmptied)


def test_a_change_has_its_cause():
    """The start of the first member, the departure of the last; both lead to the deploy."""
    seen = staged()
    there, back = seen.all(GroupConverted)
    by_id = {event.id: event for event in seen.run.events}

    assert "ConsumerStarted" == type(by_id[there.cause].what).__name__
    assert "there/g-0" == by_id[by_id[there.cause].cause].what.fault
    assert isinstance(by_id[back.cause].what, MemberRemoved)
    (begun,) = [e for e in seen.all(RebalanceStarted) if e.cause == back.cause]
    assert "the last member of the consumer protocol is gone" == begun.what.reason


def test_classic_members_revoke_because_they_were_moved():
    """In a consumer group their listener calls follow from their own steps."""
    seen = staged()
    there, back = (event.id for event in seen.all(GroupConverted))
    by_id = {event.id: event for event in seen.run.events}
    called = [
        type(by_id[event.cause].what).__name__
        for event in seen.all(ListenerCalled, consumer="g-2")
        if there < event.id < back and event.what.partitions and event.cause is not None
    ]
    later = [
        type(by_id[event.cause].what).__name__
        for event in seen.all(ListenerCalled, call="assigned")
        if event.id > back and event.what.partitions
    ]

    assert {"MemberMoved"} == set(called) - {"FaultBegan"}
    assert {"GroupStabilised"} == set(later)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_static_members_change_their_protocol_without_any_rebalance(assignor):
    """They come back under their instance ids; the last takes the group back with it."""
    seen = staged(assignor=assignor, static=True)

    assert [("consumer", "g-0", 3), ("classic", "g-2", 3)] == changes(seen)
    assert 0 == seen.run.metrics["rebalances"]
    assert [] == seen.all(MemberRemoved, why="left")
    assert 6 == sum(bool(event.what.replaced) for event in seen.all(MemberAdded))
    assert {2} == {
        len(given) for event in seen.all(GroupStabilised) for _, given in event.what.assignment
    }


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_without_leave_to_upgrade_the_first_newcomer_dies(policy):
    """GROUP_ID_NOT_FOUND, as the Java client does; a deploy with health checks stops there."""
    seen = staged(policy, run_for="40s", keys="stop_at_failure = true")
    (dead,) = [event.what for event in seen.all(ConsumerStopped, how="failed")]

    assert ("g-0", "GroupIdNotFoundException (GROUP_ID_NOT_FOUND)") == (dead.consumer, dead.reason)
    assert [] == changes(seen)
    assert ["there/g-0"] == [
        event.what.fault for event in seen.all(FaultBegan) if event.what.fault.startswith("there/")
    ]


def test_an_unattended_deploy_leaves_an_empty_group_to_its_last_member():
    """An empty group may change under any policy; members of a rollback then fail in turn."""
    seen = staged("disabled", run_for="2min")
    reasons = [event.what.reason for event in seen.all(ConsumerStopped, how="failed")]

    assert ("consumer", "g-2", 0) == changes(seen)[0]
    assert 2 == sum("GROUP_ID_NOT_FOUND" in reason for reason in reasons)
    assert 2 == sum("INCONSISTENT_GROUP_PROTOCOL" in reason for reason in reasons)


def test_without_leave_to_downgrade_a_group_of_classic_members_stays_a_consumer_group():
    """All members are classic; only a new member triggers a target after a departure."""
    seen = staged("upgrade")

    assert [("consumer", "g-0", 2)] == changes(seen)
    assert {"closed"} == {event.what.how for event in seen.all(ConsumerStopped)}
    last = seen.all(GroupStabilised)[-1]
    assert [2, 2, 2] == [len(given) for _, given in last.what.assignment]


def test_one_member_may_be_started_with_other_settings():
    """A canary: it alone speaks the consumer protocol, also after a restart."""
    group, _, _ = TEXT.partition("[[act]]")
    text = group.format(policy="upgrade", assignor="range", static="false", run_for="60s")
    seen = Seen(emulator.run(loads(text + CANARY), 0))
    last = seen.all(GroupStabilised)[-1]

    assert [("consumer", "g-1", 2)] == changes(seen)
    assert {"g-0": 2, "g-1": 2, "g-2": 2} == {
        name: len(given) for name, given in last.what.assignment
    }


def test_a_deploy_holds_for_every_later_start():
    """A crash between the deploys brings a member back with what it last ran with."""
    crash = '[[fault]]\ncrash = "g-0"\nat = "35s"\nrestart_after = "1s"'
    seen = staged(run_for="40s", more=crash)

    assert [("consumer", "g-0", 2)] == changes(seen)
    assert {"crashed", "closed"} == {event.what.how for event in seen.all(ConsumerStopped)}


def test_a_stand_in_comes_with_the_new_settings():
    """With surge, the group changes when the first stand-in comes, and the old one has yet to go."""
    seen = staged(run_for="20s", keys="surge = true")

    assert [("consumer", "g-0+", 3)] == changes(seen)


def test_a_second_deploy_restarts_the_replacements_only():
    """A process that left for good stays away."""
    seen = staged(run_for="80s", keys="surge = true")
    (back,) = [e.id for e in seen.all(FaultBegan) if e.what.fault == "back"]
    started = [e.what.consumer for e in seen.all(ConsumerStarted) if e.id > back]

    assert ["g-0+", "g-1+", "g-2+"] == started
    assert [("consumer", "g-0+", 3), ("classic", "g-2+", 2)] == changes(seen)


@pytest.mark.long
def test_the_same_seed_gives_the_same_run_with_and_without_folding():
    """Digests agree, also when it is played again."""
    run = staged().run

    assert run.digest == play(run.scenario, 0, ()).digest
    assert run.digest == play(run.scenario, 0, (), folding=False).digest


@pytest.mark.parametrize("static", [False, pytest.param(True, marks=pytest.mark.long)])
def test_machines_hold_their_laws_all_the_way(static):
    """Checked at every sampling instant, members of both protocols in the group."""
    scenario = staged(static=static).run.scenario

    assert play(scenario, 1, (), check=True).digest
