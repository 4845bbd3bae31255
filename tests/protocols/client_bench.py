"""A client with a hand-moved clock: its timers, its requests, its listener calls.

Metadata and lookups are answered at once while ``topics`` and ``coordinator`` say what with, and so is
the end of fetch sessions, with the fetch before it; every other request lies in ``sent`` until the test answers it. ``check()`` runs after every
step. The benches of both protocols' clients build on this; they make the ``client``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assignors.types import TopicPartition
from protocols.consumer.calls import CloseOperation
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import CLOSES_SESSION
from protocols.machine import Call, CancelTimer, Report, Return, Send, SetTimer, Step, Unheard
from protocols.messages import (
    Disconnected,
    Envelope,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Header,
    MetadataRequest,
    MetadataResponse,
    OffsetToCommit,
    TopicDescription,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.settings import ConsumerSettings
from tests.protocols.hand_clock import advance

BROKER = 1


@dataclass(slots=True)
class Sent:
    """A request on the wire."""

    node: int
    message: Any
    number: int
    at_us: int


def parts(*numbers: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in numbers)


def offsets(by_number: dict[int, int], topic: str = "t") -> tuple[OffsetToCommit, ...]:
    return tuple(OffsetToCommit(TopicPartition(topic, n), o) for n, o in by_number.items())


class Bench:
    client: Any

    def __init__(
        self, *, topics: dict[str, int], brokers: tuple[int, ...], settings: dict[str, Any]
    ) -> None:
        self.settings = ConsumerSettings(**{"auto_offset_reset": "earliest", **settings})
        self.topics = topics
        self.leaders: dict[TopicPartition, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.leader_epochs: dict[TopicPartition, int] = {}
        self.racks: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.brokers = brokers
        self.coordinator: int | None = BROKER
        self.now_us = 0
        self.timers: dict[str, int] = {}
        self.sent: list[Sent] = []
        self.history: list[Sent] = []
        self.hold_calls = False
        self.on_call: Callable[[Call], None] | None = None
        self.running: Call | None = None
        self.unheard: list[tuple[str, tuple[int, ...]]] = []
        """The calls that are not made, without a listener."""

        self.returned: list[Any] = []
        self.facts: list[Any] = []
        self.deaf: set[type] = set()
        self._effects: deque[Any] = deque()
        self._busy = False

    # -- what differs between the protocols --------------------------------------------------

    def settle(self) -> None:
        """Let the client's threads do what is to be done at this instant: nothing waits for that."""

    def note(self, call: Call) -> None:
        """Keep a listener call for the test to look at."""
        raise NotImplementedError

    # -- what there is -----------------------------------------------------------------------

    def pending(self, kind: type) -> list[Sent]:
        """Return the unanswered requests of one kind, oldest first."""
        return [sent for sent in self.sent if isinstance(sent.message, kind)]

    def one(self, kind: type) -> Any:
        """The only unanswered request of one kind."""
        (sent,) = self.pending(kind)
        return sent.message

    def emitted(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if type(fact) is kind]

    def batches(self) -> list[tuple[Handed, ...]]:
        """Return the non-empty batches that polls returned."""
        return [value for value in self.returned if isinstance(value, tuple) and value]

    def positions(self) -> dict[int, int]:
        return {tp.partition: at for tp, at in self.client.consumer.positions.valid().items()}

    # -- time --------------------------------------------------------------------------------

    def advance(self, ms: float) -> None:
        """Let time pass; timers run out in order of deadline, then name."""
        advance(self, ms, lambda name: self.carry_out(self.client.wake(name, self.now_us)))

    def advance_until(self, kind: type, limit_ms: float = 400_000) -> float:
        """Let time pass until a request of one kind is pending; return how long, in ms."""
        began = self.now_us
        while not self.pending(kind):
            assert self.timers, f"nothing will ever send {kind.__name__}"
            assert self.now_us - began < limit_ms * 1_000, f"no {kind.__name__} in {limit_ms} ms"
            self.advance(max(0, (min(self.timers.values()) - self.now_us) / 1_000))
        return (self.now_us - began) / 1_000

    # -- the network -------------------------------------------------------------------------

    def answer(self, kind: type, message: Any) -> None:
        """Answer the oldest unanswered request of one kind."""
        self.respond(self.pending(kind)[0], message)

    def respond(self, sent: Sent, message: Any) -> None:
        if sent in self.sent:
            self.sent.remove(sent)
        self._arrived(Envelope(Header("c", sent.number), message))

    def lose(self, kind: type) -> Sent:
        """Lose the oldest unanswered request of one kind on the wire."""
        sent = self.pending(kind)[0]
        self.sent.remove(sent)
        return sent

    def disconnect(self, node: int | None = None) -> None:
        """Break the connection to the coordinator, or to a node."""
        node = coordinator_node(BROKER) if node is None else node
        self.sent = [sent for sent in self.sent if sent.node != node]
        self._arrived(Envelope(Header("c", -1), Disconnected(node)))

    def _arrived(self, envelope: Envelope) -> None:
        self.carry_out(self.client.handle(envelope, self.now_us))
        if not self._busy:
            self.settle()

    # -- calls of the application ------------------------------------------------------------

    def poll(self, timeout_ms: float = 0) -> Any:
        """Poll; what it returned, or None while it waits."""
        return self.call(self.client.poll(self.now_us, round(timeout_ms * 1_000)))

    def commit_sync(self, wanted: dict[int, int] | None = None) -> Any:
        given = None if wanted is None else offsets(wanted)
        return self.call(self.client.commit_sync(self.now_us, given))

    def commit_async(self, wanted: dict[int, int] | None = None) -> Any:
        given = None if wanted is None else offsets(wanted)
        return self.call(self.client.commit_async(self.now_us, given))

    def close(
        self, timeout_ms: float = 30_000, operation: CloseOperation = CloseOperation.DEFAULT
    ) -> Any:
        return self.call(self.client.close(self.now_us, round(timeout_ms * 1_000), operation))

    def unsubscribe(self) -> Any:
        return self.call(self.client.unsubscribe(self.now_us))

    # -- how effects are carried out ---------------------------------------------------------

    def call(self, step: Step[Any]) -> Any:
        """Carry out a call of the application; return what it returned, None if it still runs."""
        before = len(self.returned)
        self.carry_out(step)
        self.settle()
        return self.returned[-1] if len(self.returned) > before else None

    def end_call(self, threw: Any = None, **more: Any) -> None:
        """Let the listener call end that is running."""
        call, self.running = self.running, None
        assert call is not None
        self.carry_out(self.client.called(call, self.now_us, threw, **more))
        if not self._busy:
            self.settle()

    def carry_out(self, step: Step[Any]) -> None:
        self._effects.extend(step.effects)
        if self._busy:
            return
        self._busy = True
        while self._effects:
            self._one_effect(self._effects.popleft())
        self._busy = False
        self.client.check()

    def _one_effect(self, effect: Any) -> None:
        match effect:
            case Send(to, message, number):
                self._sent(Sent(to, message, number, self.now_us))
            case SetTimer(name, deadline_us):
                self.timers[name] = deadline_us
            case CancelTimer(name):
                self.timers.pop(name, None)
            case Call():
                self.note(effect)
                self.running = effect
                if self.on_call is not None:
                    self.on_call(effect)
                if not self.hold_calls:
                    self.end_call()
            case Unheard():
                self.unheard.append(
                    (effect.listener, tuple(tp.partition for tp in effect.partitions))
                )
            case Return(value):
                self.returned.append(value)
            case Report(fact):
                self.facts.append(fact)

    def _sent(self, sent: Sent) -> None:
        self.history.append(sent)
        answer = None if type(sent.message) in self.deaf else self._automatic(sent.message)
        if sent.message == CLOSES_SESSION and FetchRequest not in self.deaf:
            answer = FetchResponse(sent.node, ())
        if answer is None:
            self.sent.append(sent)
        else:
            self.respond(sent, answer)

    def _automatic(self, message: Any) -> Any:
        match message:
            case MetadataRequest():
                return self.metadata(message)
            case FindCoordinatorRequest() if self.coordinator is not None:
                return FindCoordinatorResponse(node_id=self.coordinator)
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return None

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = sorted(self.topics) if request.topics is None else request.topics
        if request.topic_ids is not None:
            asked = frozenset(request.topic_ids)
            ids = ((name, self.topic_ids.get(name, f"id-{name}")) for name in sorted(self.topics))
            names = tuple(name for name, topic_id in ids if topic_id in asked)
        described = tuple(
            TopicDescription(
                name,
                self.topic_ids.get(name, f"id-{name}"),
                tuple(
                    self.leaders.get(TopicPartition(name, n), self.brokers[n % len(self.brokers)])
                    for n in range(self.topics[name])
                ),
                self.racks.get(name, ()),
                self._epochs(name),
            )
            for name in names
            if name in self.topics
        )
        return MetadataResponse(brokers=self.brokers, topics=described)

    def _epochs(self, name: str) -> tuple[int, ...]:
        """Leader epochs of a topic's partitions, if the test gives any."""
        numbers = range(self.topics[name])
        given = {n: self.leader_epochs.get(TopicPartition(name, n)) for n in numbers}
        if not any(epoch is not None for epoch in given.values()):
            return ()
        return tuple(0 if epoch is None else epoch for epoch in given.values())
