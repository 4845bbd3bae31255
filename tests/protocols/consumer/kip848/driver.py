"""One client of the consumer protocol; the test is its application and its brokers (``bench``)."""

from __future__ import annotations

from typing import Any

from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.kip848.member import MemberState
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    FetchedOffset,
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode

from ...client_bench import offsets, parts
from .bench import BROKER, MEMBER, ClientBench, Sent

Beat = ConsumerGroupHeartbeatRequest


def ids(*numbers: int, topic: str = "t") -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(f"id-{topic}", numbers),) if numbers else ()


class ClientDriver(ClientBench):
    # -- the application ---------------------------------------------------------------------

    def begin_poll(self, timeout_ms: float = 0) -> None:
        """Poll, and let no thread run yet but the application's."""
        self.carry_out(self.client.poll(self.now_us, round(timeout_ms * 1_000)))

    def unsubscribe(self) -> Any:
        """Unsubscribe, and let time pass until it looks for the listener call that it needs."""
        returned = super().unsubscribe()
        if self.state.needed:
            self.advance(100)
        return returned

    def lose_coordinator(self) -> None:
        """Let the coordinator die, and the next heartbeat fail: so the client learns of it."""
        self.coordinator = None
        self.advance_until(Beat)
        self.disconnect()

    # -- answers -----------------------------------------------------------------------------

    def beaten(
        self,
        epoch: int | None = None,
        *numbers: int,
        assigned: Any = None,
        interval_ms: int = 5_000,
    ) -> None:
        """Answer the oldest heartbeat, with partition numbers or the partitions *assigned*."""
        given = ids(*numbers) if numbers else assigned
        answer = ConsumerGroupHeartbeatResponse(
            member_id=MEMBER,
            member_epoch=self.epoch if epoch is None else epoch,
            heartbeat_interval_ms=interval_ms,
            assignment=given,
        )
        self.answer(Beat, answer)

    def refused(self, error: ErrorCode) -> None:
        """Answer the oldest heartbeat with an error."""
        self.answer(Beat, ConsumerGroupHeartbeatResponse(error=error, error_message="no"))

    def committed(self, error: ErrorCode = ErrorCode.NONE) -> OffsetCommitRequest:
        """Answer the oldest OffsetCommit, each partition with *error*; return it."""
        sent = self.pending(OffsetCommitRequest)[0]
        errors = tuple((entry.partition, error) for entry in sent.message.offsets)
        self.respond(sent, OffsetCommitResponse(errors=errors))
        request: OffsetCommitRequest = sent.message
        return request

    def fetched(self, by_number: dict[int, int] | None = None, **more: Any) -> None:
        """Answer the OffsetFetch; partitions that are not given have no committed offset."""
        wanted = self.one(OffsetFetchRequest).partitions
        known = by_number or {}
        found = tuple(FetchedOffset(tp, known.get(tp.partition, -1)) for tp in wanted)
        self.answer(OffsetFetchRequest, OffsetFetchResponse(offsets=found, **more))

    def records(
        self, by_number: dict[int, int], node: int = BROKER, error: ErrorCode = ErrorCode.NONE
    ) -> None:
        """Answer the fetch of a broker: so many records of each partition, from where it asked."""
        (sent,) = (sent for sent in self.pending(FetchRequest) if sent.node == node)
        asked = {part.partition: part.offset for part in sent.message.partitions}
        given = []
        for number, count in by_number.items():
            (tp,) = parts(number)
            given.append(FetchedRecords(tp, asked[tp], asked[tp] + count, error))
        self.respond(sent, FetchResponse(node, tuple(given)))

    # -- clients in a given state ------------------------------------------------------------

    def joining(self) -> Any:
        """Bring a new client to its first heartbeat, and return that."""
        self.poll()

        assert MemberState.JOINING is self.member
        return self.one(Beat)

    def reconcile(self, epoch: int, *numbers: int) -> None:
        """Answer the heartbeat in flight with an assignment, and poll until it is acknowledged."""
        self.beaten(epoch, *numbers, assigned=())
        for _ in range(6):
            if self.pending(Beat):
                break
            if self.pending(OffsetCommitRequest):
                self.committed()
            self.poll()
        else:
            raise AssertionError("the assignment was never acknowledged")

    def stable(self, positions: dict[int, int] | None = None, epoch: int = 2) -> None:
        """Make the client a member that reads these partitions from these offsets."""
        at = {0: 0, 1: 0} if positions is None else positions
        self.joining()
        self.reconcile(epoch, *at)
        self.beaten()
        self.poll()
        if at:
            self.fetched(at)
        self.poll()
        self.quiet()

        assert MemberState.STABLE is self.member
        assert at == self.positions()

    def quiet(self) -> None:
        """Forget what was sent and called so far, but for what is in flight."""
        self.history.clear()
        self.calls.clear()
        self.returned.clear()
        self.facts.clear()

    def to_own(self, *numbers: int, epoch: int = 2) -> None:
        """Assign these partitions to the member in the next heartbeat's answer."""
        self.beat_due()
        self.beaten(epoch, *numbers, assigned=())

    def beat_due(self) -> Any:
        """Let time pass until the next heartbeat, and return it."""
        self.advance_until(Beat)
        return self.one(Beat)

    def hand(self, by_number: dict[int, int]) -> tuple[Handed, ...]:
        """Let so many records of each partition arrive, and poll them."""
        if not self.pending(FetchRequest):
            self.poll()
        self.records(by_number)
        handed: tuple[Handed, ...] = self.poll()
        return handed


__all__ = ["BROKER", "MEMBER", "Beat", "ClientDriver", "Sent", "ids", "offsets", "parts"]
