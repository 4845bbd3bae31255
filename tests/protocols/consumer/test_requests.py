"""Requests in flight: numbered, timed by one timer, and found by who has let them wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from protocols.consumer.lookup import Known
from protocols.consumer.reader import NOTHING_ASKED, Listing, Reads, Validation
from protocols.consumer.requests import (
    REQUESTS,
    are_in_flight,
    fail_requests,
    on_reads,
    rearm_request_timer,
    send,
    take_number,
    timed_out_brokers,
    without_request,
)
from protocols.machine import Close, Send, SetTimer, Step
from protocols.messages import HeartbeatRequest, coordinator_node
from protocols.values import replace

REQUEST = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


COORDINATOR = Known(1)


class Flight(NamedTuple):
    broker: int
    deadline_us: int


@dataclass(frozen=True, slots=True)
class State:
    """The least a client has that asks."""

    reads: Reads = NOTHING_ASKED
    coordinator: Known = COORDINATOR
    in_flight: dict[int, Flight] = field(default_factory=dict)
    request_timer_us: int | None = None


def sent(*flights: Flight) -> Step[State]:
    """A client that has sent these requests, in this order."""
    step = Step(State())
    for flight in flights:
        step = step.then(lambda state, flight=flight: send(state, REQUEST, flight))
    return step


def test_requests_are_numbered_in_their_order():
    """Each has a number of its own, under which it is kept."""
    state = sent(Flight(1, 30), Flight(2, 40)).state

    assert {0: Flight(1, 30), 1: Flight(2, 40)} == state.in_flight
    assert 2 == take_number(state)[0]


def test_a_request_goes_to_the_coordinators_own_connection():
    """A broker is another node when it is asked as a coordinator."""
    assert Send(coordinator_node(7), REQUEST, 0) == sent(Flight(7, 30)).effects[0]


def test_the_timer_is_set_for_whatever_may_wait_least():
    """A later deadline leaves it alone, an earlier one brings it forward."""
    step = sent(Flight(1, 30), Flight(1, 40), Flight(1, 20))
    timers = [effect for effect in step.effects if isinstance(effect, SetTimer)]

    assert [SetTimer(REQUESTS, 30), SetTimer(REQUESTS, 20)] == timers
    assert 20 == step.state.request_timer_us


def test_the_timer_is_set_for_the_remaining_requests():
    """Answered requests have no timeout any more."""
    state = sent(Flight(1, 30), Flight(1, 40)).state
    step = rearm_request_timer(without_request(state, 0))

    assert (SetTimer(REQUESTS, 40),) == step.effects
    assert 40 == step.state.request_timer_us


def test_without_a_request_no_timer_is_set():
    """The next request sets it."""
    step = rearm_request_timer(without_request(sent(Flight(1, 30)).state, 0))

    assert Step(State(reads=step.state.reads)) == step
    assert step.state.request_timer_us is None


def test_brokers_that_are_late_are_named_once():
    """In the order in which they were asked; a deadline that is just over is over."""
    state = sent(Flight(2, 30), Flight(1, 20), Flight(2, 10), Flight(3, 31)).state

    assert [2, 1] == timed_out_brokers(state, 30)


def test_requests_to_a_lost_broker_fail_in_order():
    """Their connection is closed; each is settled before the next one; those to other brokers stay."""
    state = sent(Flight(2, 30), Flight(1, 20), Flight(2, 10)).state
    seen = []

    def fail(left: State, number: int) -> Step[State]:
        seen.append((number, number in left.in_flight))
        return Step(left, (SetTimer(f"retry {number}", 5),))

    step = fail_requests(state, 2, fail)

    assert [(0, False), (2, False)] == seen
    closed = Close(coordinator_node(2))
    assert (closed, SetTimer("retry 0", 5), SetTimer("retry 2", 5)) == step.effects
    assert {1: Flight(1, 20)} == step.state.in_flight


def test_a_move_that_changes_nothing_leaves_the_state_as_it_is():
    """Only its effects are taken over."""
    state = State()
    timer = SetTimer("metadata", 5)

    assert on_reads(state, lambda reads: Step(reads, (timer,))).state is state


ASKING = replace(NOTHING_ASKED, metadata=replace(NOTHING_ASKED.metadata, in_flight=7))


@pytest.mark.parametrize(
    ("state", "asks"),
    [
        (State(), False),
        (State(ASKING), True),
        (State(replace(NOTHING_ASKED, listing={7: Listing(1, ())})), True),
        (State(replace(NOTHING_ASKED, validating={7: Validation(1, {})})), True),
        (State(in_flight={7: Flight(1, 0)}), True),
    ],
)
def test_a_request_of_any_kind_is_in_flight_until_its_response(state: State, asks: bool):
    """Of metadata, of positions, or to the coordinator; fetches are none."""
    assert asks is are_in_flight(state)
