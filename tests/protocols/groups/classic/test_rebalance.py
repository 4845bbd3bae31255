"""The join phase: its delay, its end, who leads, which assignor is chosen."""

from __future__ import annotations

from itertools import pairwise

import pytest

from assignors.java import hash_map_order, java_hash
from protocols.facts import (
    Departure,
    GroupEmptied,
    JoinPhaseEnded,
    MemberRemoved,
    RebalanceStarted,
)
from protocols.groups.classic.group import select_protocol
from protocols.groups.classic.states import State
from protocols.groups.shard import Fix
from protocols.messages import JoinGroupResponse, SyncGroupResponse
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import protocols, some


def windows(driver: GroupDriver, newcomers: int) -> list[int]:
    """Lengths in ms of the windows of the initial delay, a newcomer in each of the first ones."""
    ends = [driver.now_us]
    while driver.state is State.PREPARING_REBALANCE:
        ends.append(driver.timers["join-g"])
        if newcomers:
            newcomers -= 1
            driver.join(f"n{newcomers}", version=3)
        driver.advance((ends[-1] - driver.now_us) / 1000)
    return [(later - earlier) // 1000 for earlier, later in pairwise(ends)]


@pytest.mark.parametrize(
    ("delay", "rebalance", "newcomers", "expected"),
    [
        (3_000, 300_000, 0, [3_000]),
        (3_000, 60_000, 1, [3_000, 3_000]),
        (3_000, 10_000, 9, [3_000, 3_000, 3_000, 1_000]),
        (4_000, 10_000, 9, [4_000, 4_000, 2_000]),
        (3_000, 1_000, 9, [3_000]),
        (0, 60_000, 9, [0]),
    ],
)
def test_the_initial_delay_is_a_series_of_windows(
    delay: int, rebalance: int, newcomers: int, expected: list[int]
):
    """Each with a newcomer is followed by another, up to the first member's rebalance timeout."""
    driver = GroupDriver(group_initial_rebalance_delay_ms=delay)
    driver.enter("a", rebalance_ms=rebalance)

    assert expected == windows(driver, newcomers)


def test_the_first_member_is_no_newcomer():
    """It came while the group was still empty, so its window is the only one."""
    driver = GroupDriver()
    driver.enter("a")

    assert not driver.group.new_member_added


def test_a_newcomer_noticed_too_late_grants_a_window_next_time():
    """The note that someone came survives a delay that had no time left for it."""
    driver = GroupDriver()
    a, _ = driver.enter("a", rebalance_ms=3_000)
    b, _ = driver.enter("b", rebalance_ms=3_000)

    assert [3_000] == windows(driver, 0)
    assert driver.group.new_member_added

    driver.leave(a, b)
    driver.enter("c", rebalance_ms=60_000)

    assert [3_000, 3_000] == windows(driver, 0)


def test_a_join_or_leave_never_ends_the_initial_delay():
    """Even if everyone there is has joined."""
    driver = GroupDriver()
    a, joined = driver.enter("a")
    driver.enter("b")

    driver.leave(a)

    assert (ErrorCode.UNKNOWN_MEMBER_ID, "") == (joined.error, joined.answer.member_id)
    assert State.PREPARING_REBALANCE == driver.state


def test_the_last_members_expiry_ends_the_initial_delay_at_once():
    """The group is empty again, a generation on."""
    driver = GroupDriver(group_initial_rebalance_delay_ms=600_000)
    _, joined = driver.enter("a", rebalance_ms=900_000)

    driver.advance(300_000)

    assert ErrorCode.UNKNOWN_MEMBER_ID == joined.error
    assert (State.EMPTY, 1) == (driver.state, driver.group.generation)
    assert [1] == [fact.generation for fact in driver.emitted(GroupEmptied)]
    assert "join-g" not in driver.timers


def test_before_kafka_7610_a_new_member_does_not_expire_while_it_joins():
    """Nor does the timer of its id, once it has joined."""
    driver = GroupDriver(lacks=(Fix.NEW_MEMBERS,), group_initial_rebalance_delay_ms=600_000)
    member, joined = driver.enter("a", rebalance_ms=900_000)
    assert f"heartbeat-g-{member}" not in driver.timers

    driver.advance(600_000)

    assert (ErrorCode.NONE, 1) == (joined.error, joined.answer.generation_id)
    assert 45_000 == driver.session_ms(member)


def test_an_ids_expiry_can_end_the_initial_delay():
    """If everyone else is parked, the phase completes early."""
    driver = GroupDriver(group_initial_rebalance_delay_ms=60_000)
    driver.new_id("b", session_ms=6_000)
    _, joined = driver.enter("a")

    driver.advance(6_000)

    assert 1 == joined.answer.generation_id


def test_dynamic_members_that_miss_the_join_phase_are_removed():
    """When the join timer fires, the members that have rejoined continue."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b", rebalance_ms=10_000, session_ms=60_000)
    again = driver.join("a", a, rebalance_ms=10_000)
    driver.advance(10_000)

    assert [a] == [member.member_id for member in again.answer.members]
    assert (b, Departure.DID_NOT_REJOIN) == (
        driver.emitted(MemberRemoved)[-1].member_id,
        driver.emitted(MemberRemoved)[-1].why,
    )
    assert f"heartbeat-g-{b}" not in driver.timers


def test_the_phase_waits_for_the_largest_rebalance_timeout():
    """Of the members there are when it begins; later and larger ones do not count."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b", rebalance_ms=10_000)
    driver.join("a", a, rebalance_ms=10_000)
    began = driver.timers["join-g"]

    driver.enter("c", rebalance_ms=900_000)

    assert 10_000_000 == began - driver.now_us
    assert began == driver.timers["join-g"]
    assert b in driver.group.members


def test_only_absent_static_members_keep_the_phase_open():
    """The join timer restarts until a member joins."""
    driver = GroupDriver()
    ids = driver.static("R", "S", session_ms=100_000, rebalance_ms=10_000)
    driver.leave(ids["S"])

    for _ in range(3):
        driver.advance(10_000)
        assert (State.PREPARING_REBALANCE, 1) == (driver.state, driver.group.generation)

    again = driver.join("R", ids["R"], instance="R", rebalance_ms=10_000)

    assert 2 == again.answer.generation_id


def test_absent_static_members_outlast_dynamic_ones():
    """After a leave the missing dynamic member is out, the static one holds the group."""
    driver = GroupDriver()
    dynamic, _ = driver.enter("a", session_ms=100_000, rebalance_ms=10_000)
    driver.join("s", instance="S", session_ms=100_000, rebalance_ms=10_000)
    other, _ = driver.enter("b", session_ms=100_000, rebalance_ms=10_000)
    driver.settle([dynamic, driver.group.static_members["S"], other])

    driver.leave(other)
    driver.advance(10_000)

    assert State.PREPARING_REBALANCE == driver.state
    assert [driver.group.static_members["S"]] == list(driver.group.members)
    assert driver.group.static_members["S"] == driver.group.leader_id


def test_the_session_of_an_absent_static_member_starts_at_each_generation():
    """It is kept and listed to the leader, fails by its old generation, and finally expires."""
    driver = GroupDriver()
    ids = driver.static("R", "S", session_ms=60_000, rebalance_ms=10_000)
    r, s = ids["R"], ids["S"]
    again = driver.join("R", r, instance="R", session_ms=60_000, rebalance_ms=10_000)
    driver.advance(10_000)

    assert {r, s} == {member.member_id for member in again.answer.members}
    assert 60_000 == driver.session_ms(s)
    assert s in driver.group.pending_syncs
    assert ErrorCode.ILLEGAL_GENERATION == driver.heartbeat(s, 1).error


def test_a_generation_of_its_own_for_each_completed_join_phase():
    """Nothing else moves the number: not a start, not an abandoned sync phase."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.join("a", a)
    assert 1 == driver.group.generation
    driver.join("b", b)
    assert 2 == driver.group.generation
    driver.join("b", b, offers=protocols(topics=("u",)))
    assert 2 == driver.group.generation
    driver.join("a", a)
    assert 3 == driver.group.generation


def test_a_new_rebalance_takes_the_sync_phase_back():
    """Parked SyncGroups are answered, with a fresh session; the sync timer is cancelled."""
    driver = GroupDriver()
    a, _ = driver.enter("a")
    b, _ = driver.enter("b")
    driver.advance(6_000)
    synced = driver.sync(b)
    driver.advance(2_000)

    driver.join("a", a, offers=protocols(topics=("u",)))

    assert SyncGroupResponse(error=ErrorCode.REBALANCE_IN_PROGRESS) == synced.answer
    assert (45_000, 43_000) == (driver.session_ms(b), driver.session_ms(a))
    assert "sync-g" not in driver.timers


def test_a_rebalance_in_progress_has_one_reason():
    """Later joins add none."""
    driver = GroupDriver()
    driver.stable("a")
    driver.enter("b", reason="need to re-join")
    driver.enter("c")

    assert [
        "Adding new member b-1 with group instance id null; client reason: need to re-join"
    ] == [fact.reason for fact in driver.emitted(RebalanceStarted)[1:]]


# -- who leads -------------------------------------------------------------------------------


def test_a_leader_that_rejoins_keeps_leading():
    """Across generations."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b")
    driver.join("b", b, offers=protocols(topics=("u",)))
    driver.join("a", a)

    assert [a, a] == [fact.leader for fact in driver.emitted(JoinPhaseEnded)]


def test_an_absent_leader_is_followed_by_one_who_has_joined():
    """A static leader that is away stays a member but no longer leads."""
    driver = GroupDriver()
    ids = driver.static("R", "S", session_ms=60_000, rebalance_ms=10_000)

    again = driver.join(
        "S",
        ids["S"],
        instance="S",
        offers=protocols(topics=("u",)),
        session_ms=60_000,
        rebalance_ms=10_000,
    )
    driver.advance(10_000)

    assert ids["S"] == again.answer.leader
    assert {ids["R"], ids["S"]} == {member.member_id for member in again.answer.members}


def test_a_leader_that_leaves_is_followed_in_the_order_of_the_member_map():
    """The first that Java's hash map lists, not the one that came next."""
    driver = GroupDriver()
    leader, *others = driver.stable("a", "b1", "b2", "b3", "b4")

    driver.leave(leader)

    first = hash_map_order(others, java_hash)[0]
    assert first != others[0]
    assert first == driver.group.leader_id


# -- which assignor --------------------------------------------------------------------------


def test_most_votes_win():
    """Each votes for the first name in its list that all offer."""
    driver = GroupDriver()
    driver.enter("a", offers=protocols("range", "sticky"))
    driver.enter("b", offers=protocols("sticky", "range"))
    driver.enter("c", offers=protocols("sticky", "range"))

    assert "sticky" == select_protocol(driver.group)


def test_only_names_that_all_offer_are_voted_for():
    """A favourite that one does not know is passed over."""
    driver = GroupDriver()
    driver.enter("a", offers=protocols("range", "roundrobin"))
    driver.enter("b", offers=protocols("range", "roundrobin"))
    driver.enter("c", offers=protocols("roundrobin", "sticky"))

    assert "roundrobin" == select_protocol(driver.group)


@pytest.mark.parametrize(
    ("names", "winner"),
    [
        (("sticky", "range"), "sticky"),
        (("range", "roundrobin"), "range"),
        (("roundrobin", "cooperative-sticky"), "roundrobin"),
        (("cooperative-sticky", "sticky"), "sticky"),
    ],
)
def test_a_tie_goes_to_the_first_of_javas_hash_map(names: tuple[str, str], winner: str):
    """Sticky before range before roundrobin before cooperative-sticky."""
    driver = GroupDriver()
    driver.enter("a", offers=protocols(*names))
    driver.enter("b", offers=protocols(*reversed(names)))

    assert winner == select_protocol(driver.group)


def test_answers_carry_the_metadata_of_the_chosen_protocol():
    """The leader sees what each said for that assignor."""
    driver = GroupDriver()
    offers = (
        protocols("sticky", user_data=b"s")[0],
        protocols("range", user_data=b"r")[0],
    )
    _, joined = driver.enter("a", offers=offers)
    driver.advance(3_000)

    answer: JoinGroupResponse = joined.answer
    assert ("sticky", b"s") == (answer.protocol_name, answer.members[0].metadata.user_data)


def test_a_session_of_a_parked_member_does_not_run():
    """It gets a fresh one when it is released; the one who is missing expires and ends the phase."""
    driver = GroupDriver()
    a, b = driver.stable("a", "b", session_ms=10_000)
    again = driver.join("a", a, session_ms=10_000)
    driver.advance(9_999)

    assert not again.answered

    driver.advance(1)

    assert [a] == [member.member_id for member in again.answer.members]
    assert 10_000 == driver.session_ms(a)
    assert b not in driver.group.members
    assert some(0) == driver.sync(a, {a: some(0)}).answer.assignment


def test_the_end_of_a_join_phase_says_which_assignor_was_chosen():
    """The one that all members have (``ClassicGroup.selectProtocol``)."""
    driver = GroupDriver()
    driver.stable("a", "b")

    assert {"range"} == {fact.protocol for fact in driver.emitted(JoinPhaseEnded)}
