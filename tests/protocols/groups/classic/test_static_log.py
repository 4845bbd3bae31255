"""A static member's restart on its way to the log: it waits, fails, or is overtaken."""

from __future__ import annotations

import pytest

from protocols.groups.classic.states import State
from protocols.messages import JoinGroupResponse
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import protocols, some


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_restart_that_cannot_be_stored_is_undone(raw: ErrorCode, said: ErrorCode):
    """The old id is good again, with its timeouts and protocols; the new one never was."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    before = driver.group.members[ids["S"]]
    driver.refuse = raw

    back = driver.join("S", instance="S", session_ms=30_000, offers=protocols("range", "x"))

    assert (
        JoinGroupResponse(
            error=said,
            generation_id=1,
            protocol_type="consumer",
            protocol_name="range",
            leader=ids["R"],
        )
        == back.answer
    )
    after = driver.group.members[ids["S"]]
    assert (before.session_timeout_ms, before.protocols) == (
        after.session_timeout_ms,
        after.protocols,
    )
    assert 45_000 == driver.session_ms(ids["S"])
    assert ErrorCode.NONE == driver.heartbeat(ids["S"], 1, "S").error
    assert some(1) == driver.sync(ids["S"], group_instance_id="S").answer.assignment


def test_a_restarted_leader_that_cannot_be_stored_leads_again():
    """Leadership goes back with the id."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    driver.refuse = ErrorCode.NOT_ENOUGH_REPLICAS

    driver.join("R", instance="R")

    assert ids["R"] == driver.group.leader_id


def test_a_restart_that_takes_too_long_to_store_is_undone_in_memory_only():
    """The log may still come to hold the new id."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    driver.hold = True
    back = driver.join("S", instance="S")
    new = driver.group.static_members["S"]

    driver.advance(5_000)

    assert ErrorCode.COORDINATOR_NOT_AVAILABLE == back.error
    assert ids["S"] == driver.group.static_members["S"]
    driver.replicate()
    record = driver.group_records()[-1]
    assert record is not None
    assert new in {member.member_id for member in record.members}


def test_while_its_restart_is_on_the_way_to_the_log_a_member_cannot_expire():
    """It counts as waiting for us; a rebalance that starts meanwhile counts it as joined."""
    driver = GroupDriver(offsets_commit_timeout_ms=600_000)
    ids = driver.static("R", "S", session_ms=10_000)
    driver.hold = True
    back = driver.join("S", instance="S", session_ms=10_000)
    new = driver.group.static_members["S"]
    driver.advance(9_999)
    driver.heartbeat(ids["R"], 1)
    driver.advance(1)

    assert new in driver.group.members
    assert f"heartbeat-g-{new}" not in driver.timers

    driver.join("R", ids["R"], instance="R", session_ms=10_000)

    assert 2 == back.answer.generation_id
    driver.replicate()
    assert 1 == len(back.answers)


def test_a_restart_that_becomes_durable_in_the_next_join_phase_must_rejoin():
    """It gets the old generation and does not count as joined any more."""
    driver = GroupDriver()
    driver.static("R", "S")
    driver.hold = True
    back = driver.join("S", instance="S")
    driver.enter("c")

    assert State.PREPARING_REBALANCE == driver.state
    driver.replicate()

    assert (ErrorCode.NONE, 1) == (back.error, back.answer.generation_id)
    assert back.answer.member_id not in driver.group.joining


def test_a_restarted_leader_waits_if_the_next_join_phase_has_begun():
    """Kafka cannot list the members of a generation that has ended; the request stays parked."""
    driver = GroupDriver()
    ids = driver.static("R", "S")
    c = driver.new_id("c")
    driver.hold = True
    back = driver.join("R", instance="R")
    driver.join("c", c)

    driver.replicate()

    assert not back.answered
    driver.join("S", ids["S"], instance="S")
    assert 2 == back.answer.generation_id


def test_a_restarted_member_that_has_left_again_is_not_given_its_old_id_back():
    """Its record fails when the member has left."""
    driver = GroupDriver()
    driver.static("R", "S")
    driver.hold = True
    start = len(driver.log)
    back = driver.join("S", instance="S")
    driver.leave(driver.group.static_members["S"])

    driver.reject(start, ErrorCode.NOT_ENOUGH_REPLICAS)

    assert (ErrorCode.UNKNOWN_MEMBER_ID, "") == (back.error, back.answer.member_id)
    assert {"R"} == set(driver.group.static_members)
