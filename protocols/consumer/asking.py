"""What clients of both protocols do alike with what they ask: number it, send it, wait for it.

Requests to the coordinator are kept until they are answered, and one timer is set for the one
that has waited longest; what a client asks any broker is kept in its ``reads``.
Source: ``InFlightRequests``, ``NetworkClient.handleTimedOutRequests``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeVar

from protocols.consumer import lookup
from protocols.consumer.lookup import Known, Unknown
from protocols.consumer.reader import Reader, Reads
from protocols.machine import Effect, Send, SetTimer, Step
from protocols.messages import Message, coordinator_node

REQUESTS = "requests"
"""Timer: the oldest request in flight may wait no longer."""


class Flight(Protocol):
    """A request to the coordinator that has no answer yet."""

    @property
    def broker(self) -> int:
        """The coordinator it went to."""
        ...

    @property
    def deadline_us(self) -> int:
        """Until when it may stay unanswered."""
        ...


class Asker(Protocol):
    """The state of a client, as far as its questions go: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def reads(self) -> Reads:
        """What it has asked any broker."""
        ...

    @property
    def coordinator(self) -> Known | Unknown:
        """The group's coordinator, or how far the search for it is."""
        ...

    @property
    def in_flight(self) -> Mapping[int, Flight]:
        """Requests to the coordinator that have no answer yet, by correlation id."""
        ...

    @property
    def request_timer_us(self) -> int | None:
        """When the timer for the oldest of them runs out; None: it is not set."""
        ...


A = TypeVar("A", bound=Asker)


def on_reads(state: A, move: Callable[[Reads], Step[Reads]]) -> Step[A]:
    """Make a move of what the client asks any broker."""
    step = move(state.reads)
    if step.state is state.reads:
        return Step(state, step.effects)
    return Step(replace(state, reads=step.state), step.effects)


def take_number(state: A) -> tuple[int, A]:
    """Return a fresh number: a correlation id, or the key of a commit."""
    number, reads = state.reads.numbered()
    return number, replace(state, reads=reads)


def look_up(state: A, reader: Reader, now: int) -> Step[A]:
    """Ask some broker for the coordinator, unless an answer is due or the back-off runs."""
    unknown = state.coordinator
    assert isinstance(unknown, Unknown), "the coordinator is known"
    number, after = take_number(state)
    step = lookup.ask(unknown, reader, state.reads.metadata.brokers, number, now)
    if step.state is unknown:
        return Step(state, step.effects)
    return Step(replace(after, coordinator=step.state), step.effects)


def send(state: A, message: Message, flight: Flight) -> Step[A]:
    """Send a request to the coordinator and remember that it is in flight."""
    number, state = take_number(state)
    effects: tuple[Effect, ...] = (Send(coordinator_node(flight.broker), message, number),)
    timer = state.request_timer_us
    if timer is None or flight.deadline_us < timer:
        timer = flight.deadline_us
        effects += (SetTimer(REQUESTS, timer),)
    flights = {**state.in_flight, number: flight}
    return Step(replace(state, in_flight=flights, request_timer_us=timer), effects)


def settled(state: A, number: int) -> A:
    """Return the state without the request ``number`` in flight."""
    left = {n: flight for n, flight in state.in_flight.items() if n != number}
    return replace(state, in_flight=left)


def lose(state: A, broker: int, fail: Callable[[A, int], Step[A]]) -> Step[A]:
    """Settle every request in flight to *broker*; *fail* does what follows, by its number."""
    step = Step(state)
    for number in [n for n, flight in state.in_flight.items() if flight.broker == broker]:
        failed = fail(settled(step.state, number), number)
        step = Step(failed.state, step.effects + failed.effects)
    return step


def overdue(state: Asker, now: int) -> list[int]:
    """Return the brokers that have left some request unanswered for too long, each once."""
    late = [flight.broker for flight in state.in_flight.values() if flight.deadline_us <= now]
    return list(dict.fromkeys(late))


def rearm(state: A) -> Step[A]:
    """Set the timer for the oldest request still in flight."""
    if not state.in_flight:
        return Step(replace(state, request_timer_us=None))
    deadline = min(flight.deadline_us for flight in state.in_flight.values())
    return Step(replace(state, request_timer_us=deadline), (SetTimer(REQUESTS, deadline),))
