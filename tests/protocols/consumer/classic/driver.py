"""One client; the test is its application, its network and its brokers (see ``bench``)."""

from __future__ import annotations

from functools import partial
from typing import Any

from protocols.consumer.classic.state import Membership
from protocols.consumer.fetch_buffer import Handed
from protocols.messages import (
    EpochEndOffset,
    EpochStart,
    FetchedOffset,
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocols.messages.errors import ErrorCode

from ...client_bench import offsets, parts
from .bench import BROKER, ClientBench, Sent

MEMBER = "m-1"


class ClientDriver(ClientBench):
    # -- the application ---------------------------------------------------------------------

    def poll_until(self, kind: type, turns: int = 200) -> None:
        """Poll until a request of one kind is pending: a few times now, then at every tick."""
        for number in range(turns):
            if self.pending(kind):
                return
            if number > 3:
                self.tick()
            self.poll()
        raise AssertionError(f"no {kind.__name__} after {turns} polls")

    def commit(self, call: str, given: tuple[OffsetToCommit, ...]) -> Any:
        """Make a commit of just these offsets, by the name of the call."""
        return self.call(getattr(self.client, call)(self.now_us, given))

    # -- answers -----------------------------------------------------------------------------

    def joined(
        self,
        generation: int = 1,
        *,
        member: str | None = None,
        leader: str | None = None,
        members: dict[str, Any] | None = None,
        protocol: str | None = None,
        skip: bool = False,
        instances: dict[str, str] | None = None,
    ) -> None:
        """Answer the JoinGroup: a follower unless *members* are given."""
        request = self.one(JoinGroupRequest)
        member = member or request.member_id or MEMBER
        self.answer(
            JoinGroupRequest,
            JoinGroupResponse(
                generation_id=generation,
                protocol_type="consumer",
                protocol_name=protocol or request.protocols[0].name,
                leader=leader or (member if members else "m-0"),
                member_id=member,
                members=tuple(
                    JoinGroupMember(member_id, (instances or {}).get(member_id), metadata)
                    for member_id, metadata in (members or {}).items()
                ),
                skip_assignment=skip,
            ),
        )

    def join_error(self, error: ErrorCode, member: str = "") -> None:
        self.answer(JoinGroupRequest, JoinGroupResponse(error=error, member_id=member))

    def synced(self, *numbers: int, error: ErrorCode = ErrorCode.NONE, topic: str = "t") -> None:
        given = SyncGroupResponse(error=error, assignment=parts(*numbers, topic=topic))
        self.answer(SyncGroupRequest, given)

    def beaten(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.answer(HeartbeatRequest, HeartbeatResponse(error=error))

    def committed(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the oldest OffsetCommit, each partition with *error*."""
        sent = self.pending(OffsetCommitRequest)[0]
        errors = tuple((entry.partition, error) for entry in sent.message.offsets)
        self.respond(sent, OffsetCommitResponse(errors=errors))

    def fetched(
        self, by_number: dict[int, int] | None = None, epoch: int = -1, **more: Any
    ) -> None:
        """Answer the OffsetFetch; partitions that are not given have no committed offset."""
        wanted = self.one(OffsetFetchRequest).partitions
        known = by_number or {}
        found = tuple(FetchedOffset(tp, known.get(tp.partition, -1), epoch) for tp in wanted)
        self.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found, **more))

    def listed(self, by_number: dict[int, int], error: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the oldest ListOffsets."""
        wanted = self.pending(ListOffsetsRequest)[0].message.partitions
        found = tuple(ListedOffset(tp, by_number.get(tp.partition, -1), error) for tp, _ in wanted)
        self.answer(ListOffsetsRequest, ListOffsetsResponse(offsets=found))

    def records(
        self,
        by_number: dict[int, int],
        node: int = BROKER,
        error: ErrorCode = ErrorCode.NONE,
        epochs: tuple[EpochStart, ...] = (),
    ) -> None:
        """Answer the fetch of a broker: so many records of each partition, from where it asked."""
        (sent,) = (sent for sent in self.pending(FetchRequest) if sent.node == node)
        asked = {part.partition: part.offset for part in sent.message.partitions}
        given = []
        for number, count in by_number.items():
            (tp,) = parts(number)
            given.append(FetchedRecords(tp, asked[tp], asked[tp] + count, error, epochs))
        self.respond(sent, FetchResponse(node, tuple(given)))

    def ends(
        self, by_number: dict[int, tuple[int, int]], error: ErrorCode = ErrorCode.NONE
    ) -> None:
        """Answer the oldest OffsetsForLeaderEpoch: epoch and end offset of these partitions."""
        found = tuple(
            EpochEndOffset(*parts(number), epoch, end, error)
            for number, (epoch, end) in by_number.items()
        )
        self.answer(OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse(end_offsets=found))

    # -- clients in a given state ------------------------------------------------------------

    def look_up(self) -> None:
        """Bring a new client to its first JoinGroup."""
        self.poll()
        if not self.pending(JoinGroupRequest):
            self.poll()

        assert self.pending(JoinGroupRequest)

    def join(self, *numbers: int, generation: int = 1) -> None:
        """Let the client enter a generation with these partitions, which have no positions yet."""
        self.poll_until(JoinGroupRequest)
        self.joined(generation)
        self.poll(0 if self.client.consumer.profile.takes_late_joins else 1)
        self.synced(*numbers)
        self.poll()

    def stable(self, positions: dict[int, int] | None = None, generation: int = 1) -> None:
        """Bring the client into a generation, reading these partitions from these offsets."""
        at = {0: 0, 1: 0} if positions is None else positions
        self.join(*at, generation=generation)
        if at:
            self.fetched(at)
            self.poll()
        assert self.membership is Membership.STABLE
        assert self.positions() == at

    def hand(self, by_number: dict[int, int]) -> tuple[Handed, ...]:
        """Let so many records of each partition arrive, and poll them."""
        if not self.pending(FetchRequest):
            self.poll()
        self.records(by_number)
        handed: tuple[Handed, ...] = self.poll()
        return handed

    def learn(self, error: ErrorCode = ErrorCode.REBALANCE_IN_PROGRESS) -> None:
        """Let the next heartbeat be answered with *error*, and the heartbeat thread read it."""
        if not self.pending(HeartbeatRequest):
            self.advance_until(HeartbeatRequest)
        self.beaten(error)
        self.tick()


def member(**settings: Any) -> ClientDriver:
    """Return a stable member that reads t-0 and t-1; its listener calls are not in ``calls``."""
    driver = ClientDriver(**settings)
    driver.stable()
    driver.calls.clear()
    return driver


manual_member = partial(member, enable_auto_commit=False)
"""The same, which commits only when it is asked to."""


def assigned(*numbers: int, **settings: Any) -> ClientDriver:
    """Return a member whose partitions have no positions yet; poll waits for the OffsetFetch."""
    driver = ClientDriver(**{"enable_auto_commit": False, **settings})
    driver.join(*(numbers or (0, 1)))
    driver.poll(100_000)
    return driver


__all__ = [
    "BROKER",
    "MEMBER",
    "ClientDriver",
    "Sent",
    "assigned",
    "manual_member",
    "member",
    "offsets",
    "parts",
]
