"""A client of the consumer protocol with a hand-moved clock: the test is everything around it.

Metadata and lookups are answered at once while ``topics`` and ``coordinator`` say what with;
every other request lies in ``sent`` until the test answers it. Jitter is in the middle of its
range, so a back-off of 100 ms is 100 ms; threads run as soon as ``lags`` say, at once by
default. ``check()`` runs after every step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from assignors.types import TopicPartition
from protocols.errors import ErrorCode
from protocols.facts import ClientStateChanged
from protocols.fetching import Handed
from protocols.kip848.client.machine import Client
from protocols.kip848.client.membership import MemberState
from protocols.kip848.client.threads import Lag
from protocols.kip848.client.values import ClientState, Consumer
from protocols.messages import (
    Disconnected,
    Envelope,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Header,
    MetadataRequest,
    MetadataResponse,
    TopicDescription,
    coordinator_node,
)
from protocols.settings import ConsumerSettings
from protocols.step import Call, CancelTimer, Return, Send, SetTimer, Step, Tell

BROKER = 1
MEMBER = "member-1"


@dataclass(slots=True)
class Sent:
    """A request on the wire."""

    node: int
    message: Any
    number: int
    at_us: int


class ClientBench:
    def __init__(
        self,
        *,
        topics: dict[str, int] | None = None,
        subscribe: Iterable[str] = ("t",),
        matches: Callable[[str], bool] | None = None,
        regex: str | None = None,
        brokers: tuple[int, ...] = (BROKER,),
        server_assignor: str | None = None,
        listener: bool = True,
        member_id: str = MEMBER,
        **settings: Any,
    ) -> None:
        self.settings = ConsumerSettings(**{"auto_offset_reset": "earliest", **settings})
        self.topics = {"t": 4} if topics is None else topics
        self.leaders: dict[TopicPartition, int] = {}
        self.topic_ids: dict[str, str] = {}
        self.brokers = brokers
        self.coordinator: int | None = BROKER
        self.lags: dict[Lag, int] = {}
        self.now_us = 0
        self.timers: dict[str, int] = {}
        self.sent: list[Sent] = []
        self.history: list[Sent] = []
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.hold_calls = False
        self.on_call: Callable[[Call], None] | None = None
        self.running: Call | None = None
        self.returned: list[Any] = []
        self.facts: list[Any] = []
        self._effects: deque[Any] = deque()
        self._busy = False
        patterned = matches is not None or regex is not None
        self.client = Client(
            Consumer(
                name="c",
                group_id="g",
                member_id=member_id,
                settings=self.settings,
                topics=None if patterned else tuple(subscribe),
                matches=matches,
                regex=regex,
                server_assignor=server_assignor,
                listener=listener,
                jitter=lambda _what, _when: 0.5,
                lags=self.lag_us,
                epoch_ms=1_700_000_000_000,
                brokers=brokers,
            )
        )

    def lag_us(self, lag: Lag, now: int) -> int:
        """How long a thread takes to run, in microseconds."""
        del now
        return self.lags.get(lag, 0)

    # -- what there is -----------------------------------------------------------------------

    @property
    def state(self) -> ClientState:
        return self.client.state

    @property
    def member(self) -> MemberState:
        return self.state.member.state

    @property
    def epoch(self) -> int:
        return self.state.member.epoch

    def pending(self, kind: type) -> list[Sent]:
        """The requests of one kind that nobody has answered, oldest first."""
        return [sent for sent in self.sent if isinstance(sent.message, kind)]

    def one(self, kind: type) -> Any:
        """The only unanswered request of one kind."""
        (sent,) = self.pending(kind)
        return sent.message

    def ever(self, kind: type) -> list[Any]:
        """All requests of one kind that were ever sent."""
        return [sent.message for sent in self.history if isinstance(sent.message, kind)]

    def told(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if type(fact) is kind]

    def ways(self) -> list[str]:
        """The states it has been in, as its log would tell."""
        return [fact.after for fact in self.told(ClientStateChanged)]

    def owned(self) -> list[int]:
        return [tp.partition for tp in self.state.assignment]

    def positions(self) -> dict[int, int]:
        return {tp.partition: at for tp, at in self.client.consumer.positions.valid().items()}

    def batches(self) -> list[tuple[Handed, ...]]:
        """What polls returned, but for nothing."""
        return [value for value in self.returned if isinstance(value, tuple) and value]

    # -- time --------------------------------------------------------------------------------

    def advance(self, ms: float) -> None:
        """Let time pass; timers run out in order of deadline, then name."""
        until = self.now_us + round(ms * 1_000)
        while self.timers:
            deadline, name = min((deadline, name) for name, deadline in self.timers.items())
            if deadline > until:
                break
            del self.timers[name]
            self.now_us = max(self.now_us, deadline)
            self.carry_out(self.client.wake(name, self.now_us))
        self.now_us = until

    def advance_until(self, kind: type, limit_ms: float = 400_000) -> float:
        """Let time pass until a request of one kind is pending; return how long, in ms."""
        began = self.now_us
        while not self.pending(kind):
            assert self.timers, f"nothing will ever send {kind.__name__}"
            assert self.now_us - began < limit_ms * 1_000, f"no {kind.__name__} in {limit_ms} ms"
            self.advance(max(0, (min(self.timers.values()) - self.now_us) / 1_000))
        return (self.now_us - began) / 1_000

    def settle(self) -> None:
        """Let both threads do what is to be done at this instant."""
        self.advance(0)

    # -- the network -------------------------------------------------------------------------

    def answer(self, kind: type, message: Any) -> None:
        """Answer the oldest unanswered request of one kind."""
        self.respond(self.pending(kind)[0], message)

    def respond(self, sent: Sent, message: Any) -> None:
        if sent in self.sent:
            self.sent.remove(sent)
        envelope = Envelope(Header("c", sent.number), message)
        self.carry_out(self.client.handle(envelope, self.now_us))
        if not self._busy:
            self.settle()

    def lose(self, kind: type) -> Sent:
        """Lose the oldest unanswered request of one kind on the wire."""
        sent = self.pending(kind)[0]
        self.sent.remove(sent)
        return sent

    def disconnect(self, node: int | None = None) -> None:
        """Break the connection to the coordinator, or to a node."""
        node = coordinator_node(BROKER) if node is None else node
        self.sent = [sent for sent in self.sent if sent.node != node]
        gone = Envelope(Header("c", -1), Disconnected(node))
        self.carry_out(self.client.handle(gone, self.now_us))
        self.settle()

    # -- how effects are carried out -----------------------------------------------------------

    def call(self, step: Step[Any]) -> Any:
        """Carry out a call of the application; return what it returned, None if it still runs."""
        before = len(self.returned)
        self.carry_out(step)
        self.settle()
        return self.returned[-1] if len(self.returned) > before else None

    def end_call(self, threw: Any = None) -> None:
        """Let the listener call return that is running."""
        call, self.running = self.running, None
        assert call is not None
        self.carry_out(self.client.called(call, self.now_us, threw))
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
            case Call(listener, partitions):
                self.calls.append((listener, tuple(tp.partition for tp in partitions)))
                self.running = effect
                if self.on_call is not None:
                    self.on_call(effect)
                if not self.hold_calls:
                    self.end_call()
            case Return(value):
                self.returned.append(value)
            case Tell(fact):
                self.facts.append(fact)

    def _sent(self, sent: Sent) -> None:
        self.history.append(sent)
        answer = self._automatic(sent.message)
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
        described = tuple(
            TopicDescription(
                name,
                self.topic_ids.get(name, f"id-{name}"),
                tuple(
                    self.leaders.get(TopicPartition(name, n), self.brokers[n % len(self.brokers)])
                    for n in range(self.topics[name])
                ),
            )
            for name in names
            if name in self.topics
        )
        return MetadataResponse(brokers=self.brokers, topics=described)
