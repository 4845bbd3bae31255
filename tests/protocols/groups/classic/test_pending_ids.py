"""Ids handed out to dynamic members, and members on their first join (KIP-394)."""

from __future__ import annotations

from protocols.facts import Departure, MemberRemoved
from protocols.groups.classic.states import State
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver


def test_an_id_handed_out_holds_the_join_phase_up_until_it_joins():
    """Everyone else has rejoined, yet the phase waits for the newcomer."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    b = driver.new_id("b")
    again = driver.join("a", a)

    assert not again.answered

    driver.join("b", b)

    assert 2 == again.answer.generation_id


def test_an_id_that_runs_out_lets_the_join_phase_end():
    """It lives for the session timeout of its request."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.new_id("b", session_ms=10_000)
    again = driver.join("a", a)
    driver.advance(9_999)

    assert not again.answered

    driver.advance(1)

    assert (2, 1) == (again.answer.generation_id, len(again.answer.members))


def test_an_id_that_is_never_used_does_not_disturb_a_stable_group():
    """Its timer just forgets it."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.new_id("b", session_ms=10_000)

    for _ in range(4):
        driver.advance(5_000)
        driver.heartbeat(a)

    assert (State.STABLE, 1, 0) == (
        driver.state,
        driver.group.generation,
        len(driver.group.pending_joins),
    )


def test_an_id_handed_out_survives_the_end_of_a_join_phase():
    """The join timer ends the phase without it; later it joins and begins another."""
    driver = GroupDriver()
    (a,) = driver.stable("a", rebalance_ms=5_000)
    b = driver.new_id("b")
    again = driver.join("a", a, rebalance_ms=5_000)
    driver.advance(5_000)

    assert 2 == again.answer.generation_id
    assert b in driver.group.pending_joins

    driver.join("b", b)

    assert State.PREPARING_REBALANCE == driver.state


def test_a_group_of_ids_only_becomes_empty_at_the_next_turn():
    """When the last member goes, an id handed out keeps the phase open, for no time at all."""
    driver = GroupDriver()
    (a,) = driver.stable("a")
    driver.new_id("b")
    driver.leave(a)

    assert State.PREPARING_REBALANCE == driver.state
    assert driver.now_us == driver.timers["join-g"]

    driver.advance(0)

    assert (State.EMPTY, 2) == (driver.state, driver.group.generation)


def test_ids_handed_out_are_forgotten_at_a_failover():
    """The new coordinator does not know them."""
    driver = GroupDriver()
    driver.stable("a")
    b = driver.new_id("b")

    driver.fail_over()

    assert ErrorCode.UNKNOWN_MEMBER_ID == driver.join("b", b).error


def test_a_new_member_is_dropped_after_five_minutes_of_waiting():
    """Its parked join gets UNKNOWN_MEMBER_ID; earlier members may wait longer."""
    driver = GroupDriver()
    (a,) = driver.stable("a", rebalance_ms=900_000)
    _, parked = driver.enter("b")
    for _ in range(59):
        driver.advance(5_000)
        driver.heartbeat(a)
    driver.advance(4_999)

    assert not parked.answered

    driver.advance(1)

    assert (ErrorCode.UNKNOWN_MEMBER_ID, "") == (parked.error, parked.answer.member_id)
    assert [Departure.EXPIRED] == [fact.why for fact in driver.emitted(MemberRemoved)]


def test_a_sign_of_life_replaces_the_five_minutes_of_a_new_member():
    """Guessing the old generation, a newcomer passes, and has a session from then on."""
    driver = GroupDriver()
    driver.stable("a")
    b, _ = driver.enter("b")

    assert ErrorCode.REBALANCE_IN_PROGRESS == driver.heartbeat(b, 1).error
    assert 45_000 == driver.session_ms(b)


def test_after_its_first_join_phase_a_member_has_an_ordinary_session():
    """It expires like anyone; as the last one it leaves an empty group of generation 2."""
    driver = GroupDriver()
    driver.enter("a", session_ms=10_000)
    driver.advance(3_000)
    driver.advance(9_999)

    assert State.COMPLETING_REBALANCE == driver.state

    driver.advance(1)

    record = driver.group_records()[-1]
    assert record is not None
    assert (State.EMPTY, 2, 2) == (driver.state, driver.group.generation, record.generation)
