"""Clients and their coordinator on a network that the test moves message by message.

Each member has one connection to the coordinator, on which everything keeps its order. Between
connections there is none. When one breaks, requests on it are lost, or handled later without
an answer to the client. The clock of a paused member does not move; it receives nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from assignors.types import TopicPartition
from protocols.consumer.calls import Closed
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.threads import Outside
from protocols.coordinator.dispatch import reject_unavailable
from protocols.machine import Send
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    FetchRequest,
    Header,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from protocols.messages.errors import ErrorCode

from ...groups.kip848.driver import GROUP, IDS, Call, ConsumerGroupDriver
from ...groups.kip848.search.parties import by_name
from .driver import ClientDriver, Sent

STEP_MS = 250

_OF_INSTANCES = {ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID}


class Member(ClientDriver):
    """One process: its client, its application, and its end of the connection."""

    def __init__(self, name: str, topics: dict[str, int], **settings: Any) -> None:
        super().__init__(member_id=name, topics=topics, subscribe=tuple(topics), **settings)
        self.topic_ids = {topic: IDS[topic] for topic in topics}
        self.name = name
        self.requests: deque[Sent] = deque()
        self.handled: deque[tuple[Sent, Call]] = deque()
        self.paused = False
        self.busy = False
        self.over = False
        self.unsaid: frozenset[TopicPartition] = frozenset()
        """What it was to own and did not name when it last listed what it owns."""

    @property
    def is_gone(self) -> bool:
        """Whether it was closed, or died because another process has its instance id."""
        died = self.state.fatal_error
        assert died is None or died.error in _OF_INSTANCES, f"{self.name} died of {died}"
        return self.over or died is not None

    @property
    def owns(self) -> frozenset[TopicPartition]:
        return frozenset(self.state.assignment)

    @property
    def expects(self) -> frozenset[TopicPartition]:
        """Return the partitions it owns, is assigned, or is about to own."""
        member = self.state.member
        taking = getattr(member.reconciling, "assigned", ())
        return self.owns.union(by_name(member.target.partitions), taking)

    def omits(self, request: Any) -> None:
        """Note what a list of owned partitions leaves out."""
        listed = getattr(request, "topic_partitions", None)
        if listed is not None:
            self.unsaid |= self.expects - by_name(listed)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read other topics from now on."""
        self.call(self.client.subscribe(self.now_us, topics))

    def works(self) -> None:
        """Let the application go on: it polls again, and its listener returns."""
        if self.running is not None:
            self.end_call()
        if isinstance(self.state.app, Outside) and not self.is_gone:
            self.poll(100)

    def _sent(self, sent: Sent) -> None:
        super()._sent(sent)
        if sent in self.sent and not isinstance(sent.message, FetchRequest):
            self.requests.append(sent)
            self.omits(sent.message)

    def _automatic(self, message: Any) -> Any:
        if isinstance(message, ListOffsetsRequest):
            assert all(timestamp == EARLIEST_TIMESTAMP for _, timestamp in message.partitions)
            found = tuple(ListedOffset(tp, 0) for tp, _ in message.partitions)
            return ListOffsetsResponse(offsets=found)
        return super()._automatic(message)

    def carry_out(self, step: Any) -> None:
        super().carry_out(step)
        self.unsaid &= self.expects
        self.over = self.over or Closed() in self.returned


class Wired:
    """The group, its members, and what is on the wires between them."""

    def __init__(self, *topics: Any, **settings: Any) -> None:
        self.group = ConsumerGroupDriver(*topics, **settings)
        self.topics = {each.name: len(each.leaders) for each in topics}
        self.members: dict[str, Member] = {}
        self.strays: deque[tuple[str, Any]] = deque()
        """Requests of connections that broke, which may still be handled."""

    def start(self, name: str, **settings: Any) -> Member:
        member = Member(name, self.topics, **settings)
        member.now_us = self.group.now_us
        self.members[name] = member
        return member

    # -- the wire ------------------------------------------------------------------------------

    def handle(self, member: Member) -> None:
        """Let the oldest request of a member arrive."""
        if member.requests:
            sent = member.requests.popleft()
            member.handled.append((sent, self.group.send(sent.message, member.name)))

    def hear(self, member: Member) -> None:
        """Let the oldest answer to a member arrive, if there is one."""
        if not member.paused and member.handled and member.handled[0][1].answers:
            sent, call = member.handled.popleft()
            member.respond(sent, call.answer)

    def break_connection(self, member: Member, *, lost: bool) -> None:
        """Break a connection; its requests are *lost*, or handled without an answer later."""
        if not lost:
            self.strays.extend((member.name, sent.message) for sent in member.requests)
        member.requests.clear()
        member.handled.clear()
        member.disconnect()

    def handle_stray(self) -> None:
        """Handle a request whose connection is broken."""
        if self.strays:
            name, request = self.strays.popleft()
            self.group.send(request, name)
            if name in self.members:
                self.members[name].omits(request)

    def fail_over(self) -> None:
        """Move the coordinator; what is on its way to the old one is sent elsewhere."""
        self.group.hold = False
        self.group.replicate()
        self.group.fail_over()
        for member in self.members.values():
            while member.requests:
                sent, call = member.requests.popleft(), Call()
                effects = reject_unavailable(Header("c", 0), sent.message, None, loading=False)
                call.answers += [each.message for each in effects if isinstance(each, Send)]
                member.handled.append((sent, call))

    # -- time ----------------------------------------------------------------------------------

    def pass_time(self, ms: float) -> None:
        """Let time pass, for the coordinator and for all members that are not paused."""
        self.group.advance(ms)
        for member in self.members.values():
            if not member.paused:
                member.advance((self.group.now_us - member.now_us) / 1_000)

    def calm(self, ms: float, step_ms: float = STEP_MS) -> None:
        """Let time pass without faults: messages arrive at once, applications work."""
        for _ in range(round(ms / step_ms)):
            self.pass_time(step_ms)
            for member in self.members.values():
                if not member.paused:
                    member.works()
                    self.flush(member)

    def flush(self, member: Member) -> None:
        """Let everything arrive that is on its way to or from a member."""
        while member.requests or member.handled:
            self.handle(member)
            assert member.handled[0][1].answers, "the log delays no answer"
            self.hear(member)

    # -- laws ----------------------------------------------------------------------------------

    def check(self) -> None:
        """No partition has two current owners; who was removed, unknowingly, is none."""
        owners: dict[TopicPartition, str] = {}
        for name, member in self.members.items():
            placed = self.group.group.member(name) if self.group.exists else None
            if placed is None or not member.state.member.state.in_group:
                continue
            owned = member.owns - member.unsaid
            given = by_name(placed.current.assigned.items())
            given |= by_name(placed.current.revoking.items())
            assert owned <= given, f"{name} owns {sorted(owned - given)}, which it was not given"
            for partition in owned:
                other = owners.setdefault(partition, name)
                assert other == name, f"{partition} is owned by {other} and by {name}"

    def come_to_rest(self, limit_ms: float) -> None:
        """Let time pass without faults until every living member owns its assignment.

        Every session and revocation timeout of the dead expires within *limit_ms*.
        """
        until_us = self.group.now_us + limit_ms * 1_000
        while self.unrest() is not None and self.group.now_us < until_us:
            self.calm(1_000, step_ms=1_000)
        assert self.unrest() is None

    def unrest(self) -> str | None:
        """Say what is missing till every partition has its owner and nothing moves, if anything is."""
        living = [member for member in self.members.values() if not member.is_gone]
        for member in living:
            if member.member is not MemberState.STABLE:
                return f"{member.name} is {member.member.name}"
        if self.group.exists and self.group.state != ("Stable" if living else "Empty"):
            return f"the group is {self.group.state}"
        owned = sorted(tp for member in living for tp in member.owns)
        read = {topic for member in living for topic in member.state.subscribed or ()}
        expected = sorted(TopicPartition(t, n) for t in read for n in range(self.topics[t]))
        return None if owned == expected else f"owned are {owned}"


__all__ = ["GROUP", "Member", "Wired"]
