"""LeaveGroup: one or many, by id or by instance."""

from __future__ import annotations

from protocols.facts import Departure, MemberRemoved, RebalanceStarted
from protocols.groups.classic.states import State
from protocols.messages import LeavingMember
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import errors_of


def test_a_member_that_leaves_begins_a_rebalance():
    """The reason names it as it named itself."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")

    left = driver.leave(b)

    assert [ErrorCode.NONE] == errors_of(left)
    assert State.PREPARING_REBALANCE == driver.state
    assert f"explicit `LeaveGroup` request for ({b}) members." == (
        driver.emitted(RebalanceStarted)[-1].reason
    )
    assert [(b, Departure.LEFT)] == [(f.member_id, f.why) for f in driver.emitted(MemberRemoved)]
    assert [a] == list(driver.group.members)
    assert f"heartbeat-g-{b}" not in driver.timers


def test_a_batch_leaves_at_once():
    """All go before one rebalance; each entry has its own answer."""
    driver = GroupDriver()
    ids = driver.static("R", "S", "T")

    left = driver.leave(
        LeavingMember("", "R"),
        LeavingMember(ids["S"], "S"),
        LeavingMember(ids["T"], "S"),
        LeavingMember("", "X"),
        LeavingMember(""),
        LeavingMember("x-1", "T"),
        LeavingMember("x-1"),
    )

    assert [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ] == errors_of(left)
    assert ("", "R") == left.answer.members[0][:2]
    (began,) = driver.emitted(RebalanceStarted)[1:]
    assert f"explicit `LeaveGroup` request for (, {ids['S']}) members." == began.reason
    assert ids["R"] == began.member_id
    assert ["T"] == list(driver.group.static_members)


def test_a_batch_of_strangers_changes_nothing():
    """No entry succeeded, so nothing begins."""
    driver = GroupDriver()
    driver.static("R", "S")
    before = driver.group

    driver.leave(LeavingMember("", "X"), "x-1")

    assert before == driver.group


def test_an_id_handed_out_that_leaves_ends_a_join_phase():
    """Everyone else had joined; its instance id does not matter."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    b = driver.new_id("b")
    again = driver.join("a", a)

    left = driver.leave(LeavingMember(b, "whatever"))

    assert [ErrorCode.NONE] == errors_of(left)
    assert 2 == again.answer.generation_id
    assert f"heartbeat-g-{b}" not in driver.timers


def test_an_id_handed_out_that_leaves_rebalances_a_stable_group():
    """It counts like a member."""
    driver = GroupDriver()
    driver.stable("a")
    b = driver.new_id("b")

    driver.leave(b)

    assert State.PREPARING_REBALANCE == driver.state


def test_a_leaving_member_is_answered_in_the_join_phase_only():
    """Its parked JoinGroup is answered; its parked SyncGroup never is."""
    driver = GroupDriver()
    a, _ = driver.enter("a")
    b, _ = driver.enter("b")
    driver.advance(6_000)
    synced = driver.sync(b)
    driver.leave(b)

    assert not synced.answered

    c, joined = driver.enter("c")
    driver.leave(c)

    assert (ErrorCode.UNKNOWN_MEMBER_ID, "") == (joined.error, joined.answer.member_id)
    assert [a] == list(driver.group.members)


def test_a_group_that_does_not_exist_has_no_members():
    """Each entry gets UNKNOWN_MEMBER_ID; no group is created."""
    driver = GroupDriver()

    left = driver.leave("a-1", LeavingMember("", "S"))

    assert ErrorCode.NONE == left.error
    assert [ErrorCode.UNKNOWN_MEMBER_ID] * 2 == errors_of(left)
    assert State.ABSENT == driver.state


def test_the_last_to_leave_is_answered_when_the_empty_group_is_durable():
    """If that fails, so does the answer; the group is empty all the same."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    left = driver.leave(a)

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == left.error
    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)
    record = driver.group_records()[-1]
    assert record is not None
    assert 1 == record.generation
