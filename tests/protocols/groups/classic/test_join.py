"""JoinGroup: ids, protocols, room in the group."""

from __future__ import annotations

import pytest

from protocols.facts import MemberAdded, RebalanceStarted
from protocols.groups.classic.membership import with_protocols
from protocols.groups.classic.states import State
from protocols.messages import JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import encode_assignment

from .driver import GroupDriver
from .wire import GROUP, protocols, some


def test_asking_for_an_id_makes_the_group_durable():
    """MEMBER_ID_REQUIRED in a new group writes the record of an empty group."""
    driver = GroupDriver()

    driver.join("a")

    (record,) = driver.group_records()
    assert record is not None
    assert ("", 0, None, None, ()) == (
        record.protocol_type,
        record.generation,
        record.protocol,
        record.leader,
        record.members,
    )
    assert driver.now_ms == record.current_state_timestamp


def test_a_refused_first_join_makes_the_group_too():
    """A group comes into being even if the request that names it is refused."""
    driver = GroupDriver()

    refused = driver.join("a", offers=())

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == refused.error
    assert State.EMPTY == driver.state
    assert 1 == len(driver.log)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_group_whose_first_record_fails_vanishes(raw: ErrorCode, expected: ErrorCode):
    """The parked join gets a mapped error with no member id, and nothing is left."""
    driver = GroupDriver()
    driver.refuse = raw

    joined = driver.join("s", instance="S")

    assert (expected, "") == (joined.error, joined.answer.member_id)
    assert State.ABSENT == driver.state
    assert {"expire-group-metadata", "operation-timeout"} == set(driver.timers)


def test_an_unknown_id_makes_no_group():
    """A member id in a group that does not exist is refused, and nothing is written."""
    driver = GroupDriver()

    refused = driver.join("a", "a-1")

    assert (ErrorCode.UNKNOWN_MEMBER_ID, "a-1") == (refused.error, refused.answer.member_id)
    assert State.ABSENT == driver.state
    assert [] == driver.log


def test_another_protocol_type_is_refused_once_there_are_members():
    """The type is the group's until it is empty again; then it may change."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    refused = driver.join("b", protocol_type="connect")

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == refused.error
    driver.leave(a)
    driver.enter("b", protocol_type="connect")
    assert "connect" == driver.group.protocol_type


@pytest.mark.parametrize("request_", [{"offers": ()}, {"protocol_type": ""}])
def test_even_an_empty_group_needs_a_type_and_a_protocol(request_: dict):
    """An empty list or type is refused in any state."""
    driver = GroupDriver()

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == driver.join("a", **request_).error


def test_the_holder_of_an_id_may_try_again_after_a_refusal():
    """An inconsistent protocol does not use the id up."""
    driver = GroupDriver()
    driver.stable("a")
    b = driver.new_id("b")

    assert (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        == driver.join("b", b, offers=protocols("other")).error
    )
    assert not driver.join("b", b).answered
    assert b in driver.group.members


def test_protocols_are_looked_at_before_ids():
    """An unknown member with a foreign protocol gets INCONSISTENT_GROUP_PROTOCOL."""
    driver = GroupDriver()
    driver.stable("a")

    refused = driver.join("x", "x-1", offers=protocols("other"))

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == refused.error


def test_a_lone_member_cannot_swap_its_whole_list():
    """It counts with its old list when its new one is judged."""
    driver = GroupDriver()
    (a,) = driver.stable("a")

    refused = driver.join("a", a, offers=protocols("roundrobin"))

    assert ErrorCode.INCONSISTENT_GROUP_PROTOCOL == refused.error
    assert State.STABLE == driver.state


def test_an_id_handed_out_is_for_a_dynamic_member():
    """Naming an instance with it is an internal error; the id stays good."""
    driver = GroupDriver()
    a = driver.new_id("a")

    refused = driver.join("a", a, instance="A")

    assert (ErrorCode.UNKNOWN_SERVER_ERROR, "") == (refused.error, refused.answer.member_id)
    assert a in driver.group.pending_joins


def test_new_metadata_in_the_sync_phase_of_one_restarts_it():
    """A one-member group completes at once, one generation later."""
    driver = GroupDriver()
    a, _ = driver.enter("a")
    driver.advance(3_000)

    again = driver.join("a", a, offers=protocols(topics=("t", "u")))

    assert (ErrorCode.NONE, 2) == (again.error, again.answer.generation_id)
    assert State.COMPLETING_REBALANCE == driver.state
    assert f"Updating metadata for member {a} during CompletingRebalance; " in (
        driver.emitted(RebalanceStarted)[-1].reason
    )


def test_a_leader_that_rejoins_always_rebalances():
    """Even with the metadata it had."""
    driver = GroupDriver()
    a, _ = driver.stable("a", "b")

    joined = driver.join("a", a, reason="cached metadata has changed")

    assert not joined.answered
    assert State.PREPARING_REBALANCE == driver.state
    assert (
        f"Leader {a} re-joining group during Stable; client reason: cached metadata has changed"
        == driver.emitted(RebalanceStarted)[-1].reason
    )


def test_a_follower_that_repeats_its_join_gets_the_generation():
    """Nothing changes: no rebalance, no session, no new timeout."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.advance(1_000)
    before = driver.group

    again = driver.join("b", b, session_ms=20_000)

    assert (ErrorCode.NONE, 1, a, ()) == (
        again.error,
        again.answer.generation_id,
        again.answer.leader,
        again.answer.members,
    )
    assert before == driver.group
    assert 44_000 == driver.session_ms(b)


@pytest.mark.parametrize(
    "offers",
    [
        protocols("sticky", "range"),
        protocols("range"),
        protocols("range", "sticky", user_data=b"x"),
        protocols("range", "sticky", generation_id=1),
    ],
    ids=["order", "names", "user data", "generation"],
)
def test_any_change_of_what_it_offers_makes_a_follower_rebalance(offers):
    """Names, their order, and every byte of what goes with them."""
    driver = GroupDriver()
    _, b = driver.stable("a", "b", offers=protocols("range", "sticky"))

    assert not driver.join("b", b, offers=offers).answered
    assert State.PREPARING_REBALANCE == driver.state


def test_the_leader_repeating_in_the_sync_phase_gets_the_members_again():
    """An unchanged JoinGroup is answered from the generation that is being completed."""
    driver = GroupDriver()
    a, _ = driver.enter("a")
    b, _ = driver.enter("b")
    while driver.state is State.PREPARING_REBALANCE:
        driver.advance(3_000)

    leaders, followers = driver.join("a", a).answer, driver.join("b", b).answer

    assert {a, b} == {member.member_id for member in leaders.members}
    assert () == followers.members
    assert not leaders.skip_assignment


@pytest.mark.parametrize(
    ("version", "name"), [(6, ""), (7, None)], ids=["before null", "with null"]
)
def test_an_error_names_no_protocol(version: int, name: str | None):
    """Up to version 6 the name cannot be null."""
    driver = GroupDriver()

    refused = driver.join("x", "x-1", version=version).answer

    assert (-1, "", (), None, name) == (
        refused.generation_id,
        refused.leader,
        refused.members,
        refused.protocol_type,
        refused.protocol_name,
    )


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_outside_the_brokers_bounds_is_refused(session_ms: int):
    """Before anything of the group is looked at, also for members that rejoin."""
    driver = GroupDriver()

    refused = driver.join("a", "a-9", session_ms=session_ms)

    assert (ErrorCode.INVALID_SESSION_TIMEOUT, "a-9") == (
        refused.error,
        refused.answer.member_id,
    )
    assert State.ABSENT == driver.state


def test_the_group_id_must_not_be_empty():
    """Members need a group with a name."""
    driver = GroupDriver()
    request = JoinGroupRequest(group_id="", session_timeout_ms=10_000, rebalance_timeout_ms=1)

    assert ErrorCode.INVALID_GROUP_ID == driver.send(request).error


def test_old_dynamic_members_are_added_at_once():
    """Before version 4 no member is sent back for an id; its prefix is the client id."""
    driver = GroupDriver()

    joined = driver.join("a", version=3)

    assert not joined.answered
    assert ["a-1"] == list(driver.group.members)
    assert "Adding new member a-1 with group instance id null; client reason: not provided" == (
        driver.emitted(RebalanceStarted)[0].reason
    )
    assert ["a"] == [fact.client for fact in driver.emitted(MemberAdded)]


def test_an_empty_id_of_an_unknown_static_member_gets_one_made_of_its_instance():
    """Static members are never sent back for an id."""
    driver = GroupDriver()

    driver.join("s", instance="S")

    assert {"S": "S-1"} == dict(driver.group.static_members)


def test_only_the_leader_gets_the_members():
    """A follower gets the leader's id, but no list of members."""
    driver = GroupDriver()
    _, first = driver.enter("a")
    _, second = driver.enter("b")
    driver.advance(6_000)

    answers: list[JoinGroupResponse] = [first.answer, second.answer]
    assert [2, 0] == [len(answer.members) for answer in answers]
    assert answers[0].leader == answers[1].leader == answers[0].member_id


def test_a_batch_of_assignments_for_strangers_is_ignored():
    """Entries for unknown members are dropped, members without an entry get nothing."""
    driver = GroupDriver()
    a, _ = driver.enter("a")
    b, _ = driver.enter("b")
    driver.advance(6_000)
    driver.sync(b)

    driver.sync(a, {a: some(0), "x-1": some(1)})

    record = driver.group_records()[-1]
    assert record is not None
    assert {a: encode_assignment(some(0)), b: b""} == {
        member.member_id: member.assignment for member in record.members
    }


def test_requests_of_a_version_before_leaving_in_batches_speak_for_one():
    """The one member's error is the whole answer."""
    driver = GroupDriver()
    request = LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("x-1"),), version=2)

    answer = driver.send(request).answer

    assert (ErrorCode.UNKNOWN_MEMBER_ID, ()) == (answer.error, answer.members)


def test_an_empty_join_phase_accepts_any_protocol():
    """The first member left in the initial delay; the next one joins with another protocol."""
    driver = GroupDriver()
    first, _ = driver.enter("a")
    driver.leave(first)
    assert State.PREPARING_REBALANCE == driver.state
    assert {} == dict(driver.group.members)

    second, waiting = driver.enter("b")
    driver.advance(2 * driver.settings.group_initial_rebalance_delay_ms)

    assert ErrorCode.NONE == waiting.error
    assert [second] == list(driver.group.members)


@pytest.mark.parametrize(("version", "asked"), [(3, False), (4, True)])
def test_a_newcomer_is_asked_to_join_with_its_id_from_version_4_on(version, asked):
    """Before that it is a member at once (KIP-394)."""
    driver = GroupDriver()
    call = driver.join("a", version=version)

    assert asked is (bool(call.answers) and ErrorCode.MEMBER_ID_REQUIRED == call.error)


def test_a_member_that_joins_a_later_rebalance_prolongs_no_initial_delay():
    """Only the first members of an empty group do."""
    driver = GroupDriver()
    driver.stable("a")

    driver.enter("b")
    driver.enter("c")

    assert State.PREPARING_REBALANCE is driver.state
    assert not driver.group.new_member_added


def test_a_rejoin_with_another_session_timeout_is_a_change():
    """One with the same timeouts is none."""
    driver = GroupDriver()
    (member_id,) = driver.stable("a")
    member = driver.group.members[member_id]
    times = (member.rebalance_timeout_ms, member.session_timeout_ms)
    longer = (member.rebalance_timeout_ms, member.session_timeout_ms + 1)

    assert driver.group is with_protocols(driver.group, member, member.protocols, times)
    changed = with_protocols(driver.group, member, member.protocols, longer)
    assert longer[1] == changed.members[member_id].session_timeout_ms
