"""Room in the group: ``group.max.size`` (KIP-389)."""

from __future__ import annotations

from protocols.facts import Departure, MemberRemoved
from protocols.groups.classic.states import State
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver


def test_a_full_group_refuses_the_one_too_many_while_it_forms():
    """As many as fit are parked; the next one is turned away without an id."""
    driver = GroupDriver(group_max_size=10)
    for name in range(10):
        driver.join(str(name), version=3)

    refused = driver.join("x", version=3)

    assert (ErrorCode.GROUP_MAX_SIZE_REACHED, "") == (refused.error, refused.answer.member_id)
    assert 10 == len(driver.group.members)


def test_an_empty_group_hands_out_any_number_of_ids():
    """The surplus is refused at the second step, and again in the sync phase."""
    driver = GroupDriver(group_max_size=10)
    ids = [driver.new_id(str(name)) for name in range(11)]

    for place, member_id in enumerate(ids[:10]):
        driver.join(str(place), member_id)
    assert ErrorCode.GROUP_MAX_SIZE_REACHED == driver.join("10", ids[10]).error
    assert ids[10] not in driver.group.pending_joins

    while driver.state is State.PREPARING_REBALANCE:
        driver.advance(3_000)
    assert ErrorCode.GROUP_MAX_SIZE_REACHED == driver.join("10", ids[10]).error


def test_static_members_need_room_too():
    """Also one that restarts at full capacity is taken for someone new and refused."""
    driver = GroupDriver(group_max_size=2)
    driver.static("R", "S")

    assert ErrorCode.GROUP_MAX_SIZE_REACHED == driver.join("T", instance="T").error
    assert ErrorCode.GROUP_MAX_SIZE_REACHED == driver.join("S", instance="S").error


def test_a_parked_member_may_join_again_at_full_capacity():
    """The newer request replaces the older one, which is never answered."""
    driver = GroupDriver(group_max_size=2)
    a, first = driver.enter("a")
    driver.enter("b")

    second = driver.join("a", a)
    while driver.state is State.PREPARING_REBALANCE:
        driver.advance(3_000)

    assert not first.answered
    assert 1 == second.answer.generation_id


def test_the_last_to_rejoin_an_oversized_group_are_evicted():
    """They leave the group, but only the join timer ends the phase."""
    driver = GroupDriver()
    ids = driver.stable("a", "b", "c", rebalance_ms=20_000)
    small = GroupDriver(group_max_size=2)
    small.log = driver.log
    small.begin_load()
    small._carry_out(small.coordinator.loaded(small.now_us))

    assert State.PREPARING_REBALANCE == small.state

    a, b, c = ids
    first = small.join("a", a, rebalance_ms=20_000)
    small.join("b", b, rebalance_ms=20_000)
    evicted = small.join("c", c, rebalance_ms=20_000)

    assert ErrorCode.GROUP_MAX_SIZE_REACHED == evicted.error
    assert Departure.GROUP_FULL == small.emitted(MemberRemoved)[-1].why
    assert not first.answered
    small.advance(20_000)
    assert (2, 2) == (first.answer.generation_id, len(small.group.members))
