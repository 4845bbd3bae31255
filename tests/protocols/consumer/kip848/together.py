"""Clients of the consumer protocol and their coordinator, on a wire without delay.

Time passes in small steps, for the coordinator and for every living client; a client whose
application polls does so again whenever poll has returned. No partition is owned twice, ever.
"""

from __future__ import annotations

from typing import Any

from protocols.consumer.kip848.threads import Outside
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    ConsumerGroupHeartbeatRequest,
    FetchRequest,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
)

from ...groups.kip848.driver import IDS, ConsumerGroupDriver
from .driver import ClientDriver

STEP_MS = 10


class Together:
    def __init__(self, **settings: Any) -> None:
        self.group = ConsumerGroupDriver(**settings)
        self.members: dict[str, Member] = {}

    def start(self, name: str, **settings: Any) -> Member:
        member = Member(self.group, name, **settings)
        member.now_us = self.group.now_us
        self.members[name] = member
        return member

    def run(self, ms: float) -> None:
        """Let time pass for all."""
        for _ in range(round(ms / STEP_MS)):
            self.group.advance(STEP_MS)
            for member in list(self.members.values()):
                member.live(STEP_MS)
            self._check_single_owners()

    def crash(self, name: str) -> None:
        del self.members[name]

    def _check_single_owners(self) -> None:
        owned = [tp for m in self.members.values() if m.belongs for tp in m.state.assignment]
        assert len(owned) == len(set(owned)), f"owned twice: {sorted(owned)}"

    def owned(self) -> dict[str, list[int]]:
        return {name: member.owned() for name, member in sorted(self.members.items())}


class Member(ClientDriver):
    """A client whose requests the coordinator answers at once."""

    def __init__(self, group: ConsumerGroupDriver, name: str, **settings: Any) -> None:
        super().__init__(member_id=name, topics={"t": 6}, **settings)
        self.topic_ids = dict(IDS)
        self.polls = True
        self._group = group
        self._name = name

    @property
    def belongs(self) -> bool:
        """Whether the coordinator still counts it among its members."""
        return self._group.exists and self._group.group.member(self._name) is not None

    def live(self, ms: float) -> None:
        """Let time pass for this one; its application polls, if it does."""
        self.advance(ms)
        if self.polls and isinstance(self.state.app, Outside) and self.state.subscribed is not None:
            self.poll(100)

    def _automatic(self, message: Any) -> Any:
        match message:
            case ConsumerGroupHeartbeatRequest() | OffsetCommitRequest() | OffsetFetchRequest():
                return self._group.send(message, self._name).answer
            case ListOffsetsRequest(partitions=partitions):
                assert all(timestamp == EARLIEST_TIMESTAMP for _, timestamp in partitions)
                return ListOffsetsResponse(
                    offsets=tuple(ListedOffset(tp, 0) for tp, _ in partitions)
                )
        return super()._automatic(message)

    def reads(self, by_number: dict[int, int]) -> None:
        """Let so many records of each partition arrive; the application takes them."""
        assert self.pending(FetchRequest), "it asks for nothing"
        self.records(by_number)
        self.live(0)
