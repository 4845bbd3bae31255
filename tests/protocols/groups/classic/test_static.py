"""Static members: restarts, fencing, leaving by instance."""

from __future__ import annotations

import pytest

from protocols.facts import Departure, MemberAdded, MemberRemoved, RebalanceStarted
from protocols.groups.classic.states import State
from protocols.messages import SyncGroupResponse
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import decode_assignment

from .driver import GroupDriver, errors_of
from .wire import protocols, some


def test_a_restart_in_a_stable_group_is_answered_when_it_is_durable():
    """Same generation; timeouts are the new ones, assignment and session the old ones."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    driver.hold = True
    driver.advance(2_000)

    back = driver.join("S", instance="S", session_ms=30_000, rebalance_ms=200_000)

    new = driver.group.static_members["S"]
    assert not back.answered
    assert 45_000 == driver.session_ms(new)
    record = driver.group_records()[-1]
    assert record is not None
    stored = {member.member_id: member for member in record.members}
    assert {ids["R"], new} == set(stored)
    assert (30_000, 200_000, some(1)) == (
        stored[new].session_timeout,
        stored[new].rebalance_timeout,
        decode_assignment(stored[new].assignment),
    )
    driver.replicate()
    assert (ErrorCode.NONE, 1, new, ids["R"]) == (
        back.error,
        back.answer.generation_id,
        back.answer.member_id,
        back.answer.leader,
    )
    assert State.STABLE == driver.state
    assert [] == driver.emitted(RebalanceStarted)[1:]
    assert (Departure.REPLACED, ids["S"]) == (
        driver.emitted(MemberRemoved)[-1].why,
        driver.emitted(MemberAdded)[-1].replaced,
    )


def test_a_restarted_leader_keeps_leading_without_assigning():
    """From version 9 on it gets all members and skip_assignment."""
    driver = GroupDriver()
    ids = driver.static("R", "S")

    answer = driver.join("R", instance="R").answer

    assert answer.member_id == answer.leader
    assert answer.skip_assignment
    assert {answer.member_id, ids["S"]} == {member.member_id for member in answer.members}


def test_a_restarted_leader_of_an_old_version_takes_itself_for_a_follower():
    """The answer has its old id as the leader."""
    driver = GroupDriver()
    ids = driver.static("R", "S")

    answer = driver.join("R", instance="R", version=8).answer

    assert (ids["R"], False, ()) == (answer.leader, answer.skip_assignment, answer.members)
    assert answer.member_id == driver.group.leader_id


def test_every_restart_yields_a_new_id_and_a_record():
    """The log has one record of the whole group for each."""
    driver = GroupDriver()
    driver.static("R", "S")
    written = len(driver.log)

    ids = [driver.join("S", instance="S").answer.member_id for _ in range(3)]

    assert 3 == len(set(ids))
    assert written + 3 == len(driver.log)


def test_a_restart_that_changes_the_chosen_protocol_rebalances():
    """The group would pick another assignor now."""
    driver = GroupDriver()
    both = protocols("sticky", "range")
    driver.static("R", "S", offers=both)

    assert "sticky" == driver.group.protocol_name
    back = driver.join("S", instance="S", offers=protocols("range"))

    assert not back.answered
    assert State.PREPARING_REBALANCE == driver.state
    assert "joined with change of protocol; client reason: not provided" in (
        driver.emitted(RebalanceStarted)[-1].reason
    )


def test_a_restart_with_fewer_protocols_but_the_same_choice_is_quiet():
    """Only the chosen name is compared; a changed subscription goes unnoticed."""
    driver = GroupDriver()
    driver.static("R", "S", offers=protocols("range", "roundrobin"))

    back = driver.join("S", instance="S", offers=protocols("range", topics=("u",)))

    assert (ErrorCode.NONE, 1) == (back.error, back.answer.generation_id)
    assert frozenset({"t"}) == driver.group.subscribed_topics


def test_a_restart_in_the_sync_phase_starts_a_rebalance():
    """Parked requests are answered; the old member id is fenced, without a new session."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    driver.join("R", ids["R"], instance="R")
    driver.join("S", ids["S"], instance="S")
    driver.advance(1_000)
    synced = driver.sync(ids["S"], group_instance_id="S")

    back = driver.join("S", instance="S")

    assert SyncGroupResponse(error=ErrorCode.FENCED_INSTANCE_ID) == synced.answer
    assert not back.answered
    assert State.PREPARING_REBALANCE == driver.state
    assert "Updating metadata for static member" in driver.emitted(RebalanceStarted)[-1].reason


def test_a_restart_in_the_join_phase_counts_as_joined():
    """The request of the old id is fenced; the phase ends when all others are there."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    driver.join("R", ids["R"], instance="R")
    driver.leave()
    first = driver.join("S", instance="S")

    assert 2 == first.answer.generation_id
    driver.sync(driver.group.leader_id or "", {})
    driver.enter("c")
    parked = driver.join("S", first.answer.member_id, instance="S")
    again = driver.join("S", instance="S")

    assert (ErrorCode.FENCED_INSTANCE_ID, first.answer.member_id) == (
        parked.error,
        parked.answer.member_id,
    )
    assert not again.answered
    driver.join("R", ids["R"], instance="R")
    assert 3 == again.answer.generation_id


def test_a_restart_while_its_first_request_is_parked_fences_that():
    """Two processes with one instance id: the later one wins."""
    driver = GroupDriver()
    first = driver.join("S", instance="S")

    second = driver.join("S", instance="S")
    driver.advance(3_000)

    assert (ErrorCode.FENCED_INSTANCE_ID, "S-1") == (first.error, first.answer.member_id)
    assert "S-2" == second.answer.member_id


def test_the_old_id_is_fenced_everywhere_while_the_instance_is_named():
    """Without the instance the id is merely unknown."""
    driver = GroupDriver()
    old = driver.static("R", "S")["S"]
    driver.join("S", instance="S")

    assert ErrorCode.FENCED_INSTANCE_ID == driver.join("S", old, instance="S").error
    assert ErrorCode.FENCED_INSTANCE_ID == driver.sync(old, group_instance_id="S").error
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("S", old).error
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.sync(old).error


def test_an_instance_that_is_not_known_is_refused_with_any_id():
    """Even with the id of a living member."""
    driver = GroupDriver()
    ids = driver.static("R", "S")

    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("x", ids["S"], instance="X").error


def test_the_instance_of_another_member_is_fenced():
    """A member cannot speak for two."""
    driver = GroupDriver()
    ids = driver.static("R", "S")

    assert ErrorCode.FENCED_INSTANCE_ID == driver.join("S", ids["S"], instance="R").error


def test_a_static_member_need_not_name_its_instance():
    """Its id alone is enough."""
    driver = GroupDriver()
    ids = driver.static("R", "S")

    assert ErrorCode.NONE == driver.heartbeat(ids["S"], 1).error
    assert ErrorCode.NONE == driver.heartbeat(ids["S"], 1, "S").error
    assert ErrorCode.FENCED_INSTANCE_ID == driver.heartbeat(ids["S"], 1, "R").error
    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.heartbeat(ids["S"], 1, "X").error


def test_a_static_follower_that_repeats_itself_changes_nothing():
    """With its id it is a member like any other: no record, no rebalance."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    written = len(driver.log)

    again = driver.join("S", ids["S"], instance="S")

    assert (ErrorCode.NONE, 1) == (again.error, again.answer.generation_id)
    assert written == len(driver.log)


def test_a_static_leader_that_rejoins_with_its_id_rebalances():
    """A silent static follower expires during that."""
    driver = GroupDriver()
    ids = driver.static("R", "S", session_ms=10_000)

    again = driver.join("R", ids["R"], instance="R", session_ms=10_000)
    driver.advance(10_000)

    assert 2 == again.answer.generation_id
    assert [ids["R"]] == list(driver.group.members)


def test_a_replaced_id_still_owes_its_sync():
    """It is a stranger by then, yet the sync timer fires and forces a rebalance."""
    driver = GroupDriver()
    driver.join("R", instance="R", session_ms=100_000, rebalance_ms=20_000)
    driver.join("S", instance="S", session_ms=100_000, rebalance_ms=20_000)
    while driver.state is State.PREPARING_REBALANCE:
        driver.advance(3_000)
    old = driver.group.static_members["S"]
    leader = driver.group.static_members["R"]
    driver.sync(leader, {})
    assert State.STABLE == driver.state

    back = driver.join("S", instance="S", session_ms=100_000, rebalance_ms=20_000)
    driver.sync(back.answer.member_id, group_instance_id="S")

    assert [old] == list(driver.group.pending_syncs)
    driver.advance(20_000)
    assert State.PREPARING_REBALANCE == driver.state
    assert {"R", "S"} == set(driver.group.static_members)
    assert old in driver.emitted(RebalanceStarted)[-1].reason


def test_when_all_static_members_close_the_group_empties_in_one_generation():
    """The first expiry begins a join phase, the others end it: one session after the last sign."""
    driver = GroupDriver()
    driver.static("R", "S", session_ms=10_000)
    written = len(driver.log)

    driver.advance(10_000)

    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)
    assert written + 1 == len(driver.log)


@pytest.mark.parametrize("rebalance_ms", [0, -1])
def test_no_rebalance_timeout_at_all_lets_time_pass_all_the_same(rebalance_ms: int):
    """While only absent static members are left, the join timer runs out once a millisecond."""
    driver = GroupDriver()
    ids = driver.static("R", "S", session_ms=100_000, rebalance_ms=10_000)
    driver.join("S", instance="S", session_ms=100_000, rebalance_ms=rebalance_ms)

    driver.leave(ids["R"])
    driver.advance(5)

    assert State.PREPARING_REBALANCE == driver.state
    assert 1_000 == driver.timers["join-g"] - driver.now_us


def test_a_commit_that_names_an_instance_without_an_id_is_not_anonymous():
    """The instance is another member's: it is fenced, where a commit without any name is unknown."""
    driver = GroupDriver()
    driver.static("i")

    assert [ErrorCode.FENCED_INSTANCE_ID] == errors_of(driver.commit("", group_instance_id="i"))
    assert [ErrorCode.UNKNOWN_MEMBER_ID] == errors_of(driver.commit(""))
