"""The catalogue's failures of coordinators, each with its variants: what the rules say happens."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import emulator
from emulator.events import (
    NOT_REPLACED,
    BrokerDown,
    ClientDropped,
    CommitAccepted,
    CommitAnswered,
    CoordinatorLoaded,
    CoordinatorMoved,
    FaultMissed,
    JoinPhaseEnded,
    MemberRemoved,
)
from emulator.ledger.entries import Cause, EntryKind
from emulator.playing import Run
from emulator.report.group_state import Describer, Phase
from emulator.scenario import catalogue
from emulator.scenario.load import load, load_with

from .test_catalogue import played as played_with

AT_A_STEP = "coordinator-dies-at-a-step"
IN_COMMIT = "coordinator-dies-in-commit"

each_seed = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])


@cache
def played(name: str, variant: str, seed: int = 0) -> Run:
    """Play one variant of a scenario, once for all tests that look at it."""
    path = catalogue.path_of(name)
    (changes,) = [each.changes for each in load(path).variant if each.name == variant]
    run = played_with(name, seed, *changes)
    run.ledger.check()
    assert [] == [event.what for event in run.events if isinstance(event.what, FaultMissed)]
    return run


def what(run: Run, kind: type) -> list:
    return [event.what for event in run.events if isinstance(event.what, kind)]


# -- a kill at each step of a join, a sync and a commit ------------------------------------------

OUTCOMES = {
    "at rest": (2, set(), 1),
    "JoinGroup sent, to get an id": (1, set(), 1),
    "JoinGroup sent": (1, {"billing-2"}, 1),
    "JoinGroup parked": (1, {"billing-2"}, 2),
    "join phase ended": (1, {"billing-2"}, 2),
    "JoinGroup answered": (1, {"billing-2"}, 2),
    "SyncGroup sent": (1, {"billing-2"}, 2),
    "SyncGroup parked": (1, {"billing-2"}, 2),
    "assignment replicated": (2, set(), 2),
    "group stable": (2, set(), 1),
    "SyncGroup answered": (2, set(), 1),
    "OffsetCommit sent": (2, set(), 1),
    "OffsetCommit appended": (2, set(), 1),
    "OffsetCommit answered": (2, set(), 1),
}
"""By step: the generation that the next coordinator loads, who has to join anew, and how many
rebalances there were."""


ALWAYS = (
    "at rest",
    "JoinGroup sent, to get an id",
    "JoinGroup parked",
    "SyncGroup sent",
    "assignment replicated",
    "OffsetCommit appended",
)
"""Steps with outcomes of each kind; the others are played by the long tests."""

each_step = pytest.mark.parametrize(
    "step",
    [step if step in ALWAYS else pytest.param(step, marks=pytest.mark.long) for step in OUTCOMES],
)


def test_every_step_has_an_outcome():
    """The table of the scenario and that of this file are about the same."""
    assert [each.name for each in load(catalogue.path_of(AT_A_STEP)).variant] == list(OUTCOMES)


@pytest.mark.one_of(2)
@pytest.mark.long
@each_step
def test_the_state_of_the_next_coordinator_depends_on_the_step(step):
    """The last replicated group record, and nothing that was only in memory."""
    run = played(AT_A_STEP, step)
    (moved,) = what(run, CoordinatorMoved)

    assert OUTCOMES[step] == (
        moved.generation,
        {dropped.consumer for dropped in what(run, ClientDropped)},
        run.metrics["rebalances"],
    )


@pytest.mark.plain_of(4)
@each_step
def test_at_no_step_is_a_record_repeated_or_lost_or_a_member_removed(step):
    """Living members commit later; all wait for the broker's session."""
    run = played(AT_A_STEP, step)
    (died,) = [event.at_us for event in run.events if isinstance(event.what, BrokerDown)]
    (back,) = [event.at_us for event in run.events if isinstance(event.what, CoordinatorMoved)]

    assert () == run.ledger.entries
    assert [] == what(run, MemberRemoved)
    assert all(expected.ok for expected in run.expectations())
    assert 9_000_000 < back - died < 9_100_000


# -- a kill in a commit, with its sender ---------------------------------------------------------


@pytest.mark.long
@pytest.mark.one_of(2)
@each_seed
@pytest.mark.parametrize(
    ("step", "cause", "avoided"),
    [
        ("OffsetCommit sent", Cause.MESSAGE_LOST, 0),
        ("OffsetCommit appended", Cause.NOT_REPLICATED, 0),
        ("OffsetCommit replicated", None, 200),
        ("OffsetCommit answered", None, 0),
    ],
)
def test_a_commit_counts_from_when_the_next_leader_has_it(step, cause, avoided, seed):
    """Whether or not its sender learned it: five seconds of two partitions are at stake."""
    run = played(IN_COMMIT, step, seed)

    assert ({str(cause): 200} if cause else {}) == run.ledger.by_cause()
    assert avoided == run.ledger.duplicates_avoided


# -- a stale coordinator -------------------------------------------------------------------------


@pytest.mark.long
def test_h6_what_the_old_coordinator_took_is_repeated():
    """It let commits time out; by then the new one had removed all members."""
    run = played("h6-stale-coordinator", "as written")
    stale = [each for each in what(run, CommitAccepted) if each.leader_epoch == 0]
    answered = {each.commit: each.error for each in what(run, CommitAnswered)}
    (loaded,) = what(run, CoordinatorLoaded)

    assert {1} == {each.broker for each in stale}
    assert (2, 1) == (loaded.broker, loaded.leader_epoch)
    assert "COORDINATOR_NOT_AVAILABLE" in {answered.get(each.commit) for each in stale}
    assert {"accepted the commit"} == {entry.detail for entry in run.ledger.entries}
    assert {"cut"} == {entry.root.verb for entry in run.ledger.entries}


@pytest.mark.parametrize(
    "variant",
    [
        "a session of 45s",
        pytest.param("a commit after each batch", marks=[pytest.mark.long, pytest.mark.soak]),
    ],
)
def test_h6_a_member_that_finds_the_new_coordinator_in_time_repeats_nothing(variant):
    """The new coordinator still has all members when they come."""
    run = played("h6-stale-coordinator", variant)

    assert () == run.ledger.entries
    assert set() == {dropped.consumer for dropped in what(run, ClientDropped)}


def test_a_coordinator_alone_acknowledges_what_is_lost():
    """All since its follower was gone, and every commit had been answered with success."""
    run = played("coordinator-goes-on-alone", "min.insync.replicas=1")

    assert {"acknowledged the commit"} == {entry.detail for entry in run.ledger.entries}
    assert {str(Cause.STALE_COORDINATOR)} == set(run.ledger.by_cause())
    assert 4_000 < run.ledger.reprocessed


@pytest.mark.long
def test_an_unclean_election_drops_what_had_been_acknowledged():
    """Only with it on, and with too few copies; nothing else is in the ledger."""
    name = "unclean-election-drops-commits"
    run = played(name, "as written")
    (entry,) = run.ledger.entries
    chain = {link.row for link in entry.chain}
    (dropped,) = [
        event.what
        for event in run.events
        if event.row in chain and isinstance(event.what, CommitAccepted)
    ]
    known = {each.commit for each in what(run, CommitAnswered) if each.error == "NONE"}

    assert (Cause.NOT_REPLICATED, "unclean election") == (entry.cause, entry.detail)
    assert dropped.commit in known
    assert () == played(name, "clean elections only").ledger.entries
    assert {str(Cause.CRASHED)} == set(played(name, "three copies").ledger.by_cause())


def test_with_two_in_sync_nothing_is_acknowledged_alone():
    """Commits time out, members stay, and no other broker is elected."""
    run = played("coordinator-goes-on-alone", "min.insync.replicas=2")
    errors = {each.error for each in what(run, CommitAnswered)}

    assert () == run.ledger.entries
    assert "COORDINATOR_NOT_AVAILABLE" in errors


def test_two_coordinators_may_give_a_partition_to_a_member_each():
    """On either side of a cut the group continues without the members on the other."""
    run = emulator.run(load(Path(__file__).parent / "split_brain.toml"), 1)
    details = {(entry.cause, entry.detail) for entry in run.ledger.entries}

    assert {
        (Cause.TWO_OWNERS, "two coordinators"),
        (Cause.STALE_COORDINATOR, "acknowledged the commit"),
        (Cause.STALE_COORDINATOR, "returned an older offset"),
    } == details
    assert () == run.findings
    assert run.metrics["overlap_s"] > 20


# -- restarts and loads --------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["in order", "killed", "killed, offsets on one broker"])
def test_h7_a_roll_of_the_brokers_repeats_nothing_and_needs_no_rebalance(variant):
    """Commits fail meanwhile, and are made again."""
    run = played("h7-rolling-broker-restart", variant)

    assert () == run.ledger.entries
    assert [] == [expected for expected in run.expectations() if not expected.ok]
    assert 3 == len(what(run, BrokerDown))


def test_h7_after_a_kill_all_wait_for_the_session_of_the_broker():
    """A controlled shutdown stops no partition, a kill all of them for nine seconds."""
    peaks = {
        variant: played("h7-rolling-broker-restart", variant).metrics["lag_processed_peak"]
        for variant in ("in order", "killed")
    }

    assert 720 == pytest.approx(peaks["in order"], abs=2)
    assert 8 * 120 < peaks["killed"] < 13 * 120


@pytest.mark.long
def test_a_slow_load_removes_no_member_and_accepts_no_commit():
    """Heartbeats are answered for longer than any session; the work of dead members is repeated."""
    run = played("slow-load-after-a-year", "never compacted")
    (loaded,) = what(run, CoordinatorLoaded)
    (removed,) = what(run, MemberRemoved)

    assert 67.5 == pytest.approx(loaded.loaded_us / 1e6, abs=0.1)
    assert "billing-1" == removed.consumer
    assert {str(Cause.LOADING)} == set(run.ledger.by_cause())
    assert {"the load took 67.5 s"} == {entry.detail for entry in run.ledger.entries}
    assert {"move_coordinator"} == {entry.root.verb for entry in run.ledger.entries}


def test_a_compacted_log_is_loaded_in_no_time():
    """The same crash costs what any crash costs."""
    run = played("slow-load-after-a-year", "compacted")

    assert {str(Cause.CRASHED)} == set(run.ledger.by_cause())
    assert 55 >= run.ledger.reprocessed


@pytest.mark.long
@each_seed
def test_a_commit_that_timed_out_and_counts_avoids_what_it_covers(seed):
    """Ten seconds of two partitions less, of which the dead member never heard."""
    run = emulator.run(load(catalogue.path_of("coordinator-commit-times-out")), seed)
    dead = [each for each in what(run, CommitAnswered) if each.consumer == "billing-1"]

    assert "COORDINATOR_NOT_AVAILABLE" in {each.error for each in dead}
    assert 195 <= run.ledger.duplicates_avoided <= 410
    assert run.ledger.reprocessed == run.ledger.total(EntryKind.REPROCESSED) <= 210


@pytest.mark.long
def test_where_all_was_committed_the_commit_that_timed_out_is_all_that_counts():
    """A batch of 200 is at stake, and nothing at all is repeated."""
    commit = '{ call = "sync", when = "every", records = 200, on_revoke = true }'
    path = catalogue.path_of("coordinator-commit-times-out")
    run = emulator.run(load_with(path, [f"group[billing].commit={commit}"]), 0)

    assert {} == run.ledger.by_cause()
    assert 200 == run.ledger.duplicates_avoided


REPLACED = """
title = "a member joins after another broker was elected"
run_for = "2min"
fault = [{ cut = ["broker-1", "controller"], at = "60s", for = "60s" }]
act = [{ start = "billing-3", at = "75s" }]
topic = [{ name = "orders", partitions = 4, rate = "1/s", leaders = [2, 3, 2, 3] }]

[[group]]
id = "billing"
topics = ["orders"]
members = 4
member = [{ name = "billing-3", start = "by act" }]
coordinator = 1
work = "1ms"
settings = { "auto.offset.reset" = "earliest", "session.timeout.ms" = "30s" }
"""


def test_what_a_replaced_coordinator_does_is_not_the_state_of_the_group():
    """It loses its members to the elected one, and ends a join phase with a member that is gone."""
    run = emulator.run(emulator.loads(REPLACED), seed=0)
    describer = Describer()
    for event in run.events:
        describer.feed(event)
    (group,) = describer.groups
    ended = [(each.replaced_broker, len(each.consumers)) for each in what(run, JoinPhaseEnded)]
    removed = {(each.replaced_broker, each.consumer) for each in what(run, MemberRemoved)}

    assert [(NOT_REPLACED, 4), (1, 1)] == ended[-2:]
    assert {(1, "billing-0"), (1, "billing-1"), (1, "billing-2")} == removed
    assert (Phase.STABLE, 4) == (group.state, len(group.members))
    assert 2 == run.metrics["rebalances"]
