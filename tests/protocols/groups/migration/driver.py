"""A group in which members of both protocols come and go."""

from __future__ import annotations

from typing import Any

from assignors.types import Subscription, TopicPartition
from protocols.groups.classic.group import Group as ClassicGroup
from protocols.groups.classic.states import State
from protocols.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    Protocol,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode

from ..kip848.driver import GROUP, Call, ConsumerGroupDriver, topic

AGAIN = ErrorCode.REBALANCE_IN_PROGRESS


def some(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", number) for number in numbers)


class Migration(ConsumerGroupDriver):
    """A group whose classic members are ``x``, ``y``, ... by client id."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(topic(partitions=4), group_initial_rebalance_delay_ms=0, **settings)
        self.ids: dict[str, str] = {}

    @property
    def classic(self) -> ClassicGroup:
        return self.coordinator.state.groups[GROUP]

    @property
    def is_classic(self) -> bool:
        return GROUP in self.coordinator.state.groups

    def join_classic(self, client: str, *numbers: int, **more: Any) -> Call:
        """Join with an id if the client has one; it says it owns *numbers*."""
        names = more.pop("names", ("cooperative-sticky",))
        topics = more.pop("topics", ("t",))
        rack = more.pop("rack_id", None)
        asked = Subscription(topics=topics, owned_partitions=some(*numbers), rack_id=rack)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=more.pop("rebalance_timeout_ms", 20_000),
            member_id=more.pop("member_id", self.ids.get(client, "")),
            protocols=tuple(Protocol(name, asked) for name in names),
            **more,
        )
        call = self.send(request, client)
        if call.answers and call.answer.member_id:
            self.ids[client] = call.answer.member_id
        return call

    def enter(self, client: str, *numbers: int, **more: Any) -> Call:
        """Join from nothing: ask for an id, then join with it."""
        assert ErrorCode.MEMBER_ID_REQUIRED == self.join_classic(client, *numbers, **more).error
        return self.join_classic(client, *numbers, **more)

    def enter_static(self, client: str, instance: str) -> None:
        """Make a stable classic group of one static member, which owns all four partitions."""
        self.join_classic(client, group_instance_id=instance)
        self.advance(0)
        self.ids[client] = self.classic.leader_id
        self.sync(client, self.classic.generation, {client: range(4)}, group_instance_id=instance)
        assert State.STABLE is self.classic.state

    def sync(self, client: str, generation: int, given: Any = None, **more: Any) -> Call:
        assignments = tuple((self.ids[name], some(*each)) for name, each in (given or {}).items())
        more = {"protocol_name": "cooperative-sticky", **more}
        return self.send(
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=generation,
                member_id=self.ids[client],
                assignments=assignments,
                **more,
            ),
            client,
        )

    def beat_classic(self, client: str, generation: int) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation, member_id=self.ids[client]
        )
        return self.send(request, client).error

    def keep_alive(self, client: str, generation: int, *, until_ms: int) -> None:
        """Let the client send a heartbeat every second until a time, whatever the answers."""
        while self.now_us < until_ms * 1000:
            self.beat_classic(client, generation)
            self.advance(min(1_000, until_ms - self.now_us / 1000))

    def stable(self, *clients: str, given: Any = None, **more: Any) -> None:
        """A classic group in generation 1; without *given*, each client has its share of four partitions."""
        for client in clients:
            self.enter(client, **more)
        self.advance(0)
        while self.classic.state is State.PREPARING_REBALANCE:
            self.advance(20_000)
        share = 4 // len(clients)
        given = given or {
            client: tuple(range(place * share, (place + 1) * share))
            for place, client in enumerate(clients)
        }
        for client in sorted(clients, key=lambda name: self.ids[name] != self.classic.leader_id):
            self.sync(client, self.classic.generation, given)
        assert State.STABLE is self.classic.state


def convert(**settings: Any) -> Migration:
    """Two classic members with two partitions each, and C, which speaks the new protocol."""
    it = Migration(**settings)
    it.stable("x")
    it.join("C")
    return it


def consumers() -> Migration:
    """C alone in a consumer group, with everything."""
    it = Migration()
    it.join("C")
    return it


def mixed(**settings: Any) -> Migration:
    """X and C, each with half, settled."""
    it = convert(**settings)
    it.join_classic("x")
    it.sync("x", 2)
    it.beat("C")
    it.acknowledge("C")
    assert "Stable" == it.state
    return it
