"""The administrator: an admin client that sends a request, waits, and retries.

It is a separate party on the wire, ``admin``, on the side of the clients. Each of its calls is a
script in virtual time that ends with an answer, or with None if no conclusive answer arrived in
time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, TypeVar

import simpy

from assignors.types import TopicPartition
from emulator.scenario.resolution import ADMIN
from emulator.world.cluster.replicas import NO_BROKER
from emulator.world.network import Party
from emulator.world.world import World
from protocols.consumer.administration import Next, backoff_us, errors_of, next_step
from protocols.messages import (
    Disconnected,
    Envelope,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    Header,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode

T = TypeVar("T")
Call = Generator[simpy.Event, Any, T]
"""A script that waits for responses and returns a value."""

FIRST_INDEX: Final = 1 << 30
"""Orders the tools after all consumers at equal times."""

NO_ANSWER: Final = "REQUEST_TIMED_OUT"


def _unseen(_: int) -> None:
    """Ignore a request that is sent."""


class Administrator:
    """One run of the tool: a client with its own name that has one request in flight at a time."""

    def __init__(self, world: World, number: int, timeout_us: int) -> None:
        self.name: Final = f"{ADMIN}.{number}"
        self.party: Final = Party(ADMIN, "clients")
        self.index: Final = FIRST_INDEX + number
        self.trouble = NO_ANSWER
        """The name of the last Kafka error of the last call that returned None."""

        self._world = world
        self._run = world.run
        self._env = world.run.kernel.env
        self._timeout_us = timeout_us
        self._sent = 0
        self._node = NO_BROKER
        self._answered = self._env.event()
        self._known = list(world.brokers.numbers)
        """Brokers, in the order of metadata and coordinator requests to them."""

    # -- calls -----------------------------------------------------------------------------------

    def ask_coordinator(
        self, group: str, request: GroupRequest, sending: Callable[[int], None] = _unseen
    ) -> Call[Message | None]:
        """Ask the coordinator of a group until it gives a conclusive answer.

        *sending* is called with the correlation id of each request before it is sent.
        """
        until_us, coordinator, failures = self._until_us(), NO_BROKER, 0
        while self._run.kernel.now < until_us:
            if coordinator == NO_BROKER:
                coordinator = yield from self._find_coordinator(group, until_us)
            answer = None
            if coordinator != NO_BROKER:
                node = coordinator_node(coordinator)
                answer = yield from self._exchange(node, request, until_us, sending)
            step = next_step(answer)
            if answer is not None and step is Next.FINAL:
                return answer
            self._note(answer)
            coordinator = NO_BROKER if step is Next.LOOK_UP else coordinator
            failures += 1
            yield from self._back_off(failures, until_us)
        return None

    def find_partitions(self, topic: str) -> Call[tuple[TopicPartition, ...] | None]:
        """Ask for the partitions of a topic; return an empty tuple if there is no such topic."""
        described = yield from self._describe((topic,), self._until_us())
        if described is None:
            return None
        return tuple(
            TopicPartition(known.name, number)
            for known in described.topics
            for number in range(len(known.leaders))
        )

    def list_offsets(
        self, partitions: Iterable[TopicPartition], timestamp: int
    ) -> Call[dict[TopicPartition, int] | None]:
        """Ask the leaders for an offset of each partition; a timestamp as in ListOffsets."""
        until_us, missing, failures = self._until_us(), tuple(partitions), 0
        found = dict[TopicPartition, int]()
        while missing and self._run.kernel.now < until_us:
            for node, asked in (yield from self._leaders(missing, until_us)):
                request = ListOffsetsRequest(partitions=tuple((tp, timestamp) for tp in asked))
                answer = yield from self._exchange(node, request, until_us)
                if isinstance(answer, ListOffsetsResponse):
                    good = [each for each in answer.offsets if each.error is ErrorCode.NONE]
                    found |= {each.partition: each.offset for each in good}
            missing = tuple(tp for tp in missing if tp not in found)
            if missing:
                failures += 1
                yield from self._back_off(failures, until_us)
        if missing:
            self.trouble = NO_ANSWER
        return None if missing else found

    def close(self) -> None:
        """Disconnect the tool: it sends no more requests."""
        self._world.router.forget(self)

    # -- requests that any broker answers --------------------------------------------------------

    def _find_coordinator(self, group: str, until_us: int) -> Call[int]:
        answer = yield from self._ask_any(FindCoordinatorRequest(group_id=group), until_us)
        if not isinstance(answer, FindCoordinatorResponse):
            return NO_BROKER
        if answer.error is not ErrorCode.NONE:
            self.trouble = answer.error.name
        return answer.node_id if answer.error is ErrorCode.NONE else NO_BROKER

    def _describe(self, topics: tuple[str, ...], until_us: int) -> Call[MetadataResponse | None]:
        failures = 0
        while self._run.kernel.now < until_us:
            answer = yield from self._ask_any(MetadataRequest(topics=topics), until_us)
            if isinstance(answer, MetadataResponse):
                return answer
            failures += 1
            yield from self._back_off(failures, until_us)
        self.trouble = NO_ANSWER
        return None

    def _leaders(
        self, partitions: tuple[TopicPartition, ...], until_us: int
    ) -> Call[list[tuple[int, list[TopicPartition]]]]:
        """Return the leaders of these partitions; partitions without a leader are left out."""
        topics = tuple(dict.fromkeys(partition.topic for partition in partitions))
        described = yield from self._describe(topics, until_us)
        known = {} if described is None else {topic.name: topic for topic in described.topics}
        led = dict[int, list[TopicPartition]]()
        for topic, number in partitions:
            leaders = known[topic].leaders if topic in known else ()
            if number < len(leaders) and leaders[number] != NO_BROKER:
                led.setdefault(leaders[number], []).append(TopicPartition(topic, number))
        return sorted(led.items())

    def _ask_any(self, request: Message, until_us: int) -> Call[Message | None]:
        """Ask the broker that answered last; try the next one if it does not answer."""
        answer = yield from self._exchange(self._known[0], request, until_us)
        if answer is None:
            self._known.append(self._known.pop(0))
        return answer

    # -- one request and its response ------------------------------------------------------------

    def _exchange(
        self,
        node: int,
        request: Message,
        until_us: int,
        sending: Callable[[int], None] = _unseen,
    ) -> Call[Message | None]:
        """Send a request and wait; None: no response in time, or the connection broke."""
        self._sent += 1
        self._node, self._answered = node, self._env.event()
        sending(self._sent)
        header = Header(self.name, self._sent, ADMIN)
        self._world.router.ask(self, node, Envelope(header, request))
        left_us = max(until_us - self._run.kernel.now, 0)
        yield self._answered | self._env.timeout(left_us)
        answer: Message | None = self._answered.value if self._answered.triggered else None
        self._node = NO_BROKER
        return answer

    def receive(self, envelope: Envelope) -> None:
        """Handle a response; one that is no longer awaited is dropped."""
        header, body = envelope
        if isinstance(body, Disconnected):
            mine, answer = body.node == self._node, None
        else:
            mine, answer = header.correlation_id == self._sent, body
        if mine and self._node != NO_BROKER and not self._answered.triggered:
            self._answered.succeed(answer)

    # -- time ------------------------------------------------------------------------------------

    def _until_us(self) -> int:
        """Begin a call: return its deadline."""
        self.trouble = NO_ANSWER
        return self._run.kernel.now + self._timeout_us

    def _back_off(self, failures: int, until_us: int) -> Call[None]:
        left_us = max(until_us - self._run.kernel.now, 0)
        yield self._env.timeout(min(backoff_us(failures), left_us))

    def _note(self, answer: Message | None) -> None:
        for error in errors_of(answer) if answer is not None else ():
            self.trouble = error.name
