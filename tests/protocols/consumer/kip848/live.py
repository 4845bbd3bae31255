"""A consumer at work: brokers that answer fetches from logs that grow, an application that works.

Only what decides the race of automatic commits is here: when records arrive, when poll is called,
and how long the threads take. The group is calm: heartbeats and commits are accepted at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from protocols.consumer.kip848.threads import Lag, measured
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Envelope,
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    Header,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from protocols.messages.errors import ErrorCode

from .driver import MEMBER, ClientDriver, Sent

WIRE_US = 500
FETCH_WAIT_US = 500_000


class Live(ClientDriver):
    """One member that reads *partitions* partitions of three brokers.

    *backlog*: records that each partition holds at first; *every_ms*: time between two more,
    0 for none; *work_ms*: of a record; *median_us*: of a thread's wake-up.
    """

    def __init__(
        self,
        partitions: int,
        *,
        backlog: int = 0,
        every_ms: int = 50,
        work_ms: float = 10,
        median_us: int = 1_400,
        **settings: Any,
    ) -> None:
        super().__init__(topics={"t": partitions}, brokers=(1, 2, 3), **settings)
        self._lags = measured(_draw, median_us)
        self.backlog = backlog
        self.every_us = every_ms * 1_000
        self.work_us = round(work_ms * 1_000)
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.count = 0
        self.working = False
        self.returned_to = dict.fromkeys(range(partitions), 0)
        self.before = dict(self.returned_to)
        """What polls before the one under way have returned: all of that is worked off."""

        self.ahead = 0
        self.commits = 0
        self.stable(self.returned_to)

    def lag_us(self, lag: Lag, now: int) -> int:
        return self._lags(lag, now) if self.working else 0

    # -- time ------------------------------------------------------------------------------------

    def at(self, when_us: int, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.queue, (when_us, self.count, action))

    def live(self, seconds: float) -> None:
        """Let the consumer work for so long."""
        until = self.now_us + round(seconds * 1_000_000)
        self.working = True
        for sent in self.sent:
            self._sent(sent)
        self.at(self.now_us, self._poll)
        while True:
            timer = min(self.timers.values(), default=until)
            event = self.queue[0][0] if self.queue else until
            if min(timer, event) >= until:
                break
            if event <= timer:
                self.now_us = max(self.now_us, event)
                heapq.heappop(self.queue)[2]()
            else:
                self.advance((timer - self.now_us) / 1_000)

    def settle(self) -> None:
        """Once it works, the loop lets timers run out."""
        if not self.working:
            super().settle()

    # -- the application -------------------------------------------------------------------------

    def _poll(self) -> None:
        self.before = dict(self.returned_to)
        self.carry_out(self.client.poll(self.now_us, 100_000))

    def _one_effect(self, effect: Any) -> None:
        super()._one_effect(effect)
        if self.working and type(effect).__name__ == "Return":
            records = sum(part.next_offset - part.first for part in effect.value)
            for part in effect.value:
                self.returned_to[part.partition.partition] = part.next_offset
            self.at(self.now_us + records * self.work_us, self._poll)

    # -- the brokers -----------------------------------------------------------------------------

    def _sent(self, sent: Sent) -> None:
        match sent.message:
            case _ if not self.working:
                super()._sent(sent)
            case FetchRequest():
                self.at(self._answers_us(sent), lambda: self._fetch(sent))
            case ConsumerGroupHeartbeatRequest():
                self.at(self.now_us + 2 * WIRE_US, lambda: self._beat(sent))
            case OffsetCommitRequest(offsets=offsets):
                self.commits += 1
                self.ahead += any(
                    entry.offset > self.before[entry.partition.partition] for entry in offsets
                )
                self.at(self.now_us + 2 * WIRE_US, lambda: self._commit(sent))
            case _:
                super()._sent(sent)

    def _end(self, now: int) -> int:
        return self.backlog + (now // self.every_us if self.every_us else 0)

    def _answers_us(self, sent: Sent) -> int:
        """Return when the answer to a fetch arrives: with the first record that there is."""
        now = self.now_us + WIRE_US
        waits = []
        for part in sent.message.partitions:
            if part.offset < self._end(now):
                return now + WIRE_US
            if self.every_us:
                shift = part.partition.partition * self.every_us // 7
                waits.append((part.offset - self.backlog + 1) * self.every_us + shift)
        return min([now + FETCH_WAIT_US, *waits]) + WIRE_US

    def _fetch(self, sent: Sent) -> None:
        now = self.now_us - WIRE_US
        found = []
        for part in sent.message.partitions:
            shift = part.partition.partition * self.every_us // 7
            end = max(part.offset, min(self._end(now - shift), part.offset + 1_000))
            found.append(FetchedRecords(part.partition, part.offset, end))
        self._hear(sent, FetchResponse(sent.node, tuple(found)))

    def _beat(self, sent: Sent) -> None:
        answer = ConsumerGroupHeartbeatResponse(
            member_id=MEMBER, member_epoch=2, heartbeat_interval_ms=1_000
        )
        self._hear(sent, answer)

    def _commit(self, sent: Sent) -> None:
        errors = tuple((entry.partition, ErrorCode.NONE) for entry in sent.message.offsets)
        self._hear(sent, OffsetCommitResponse(errors=errors))

    def _hear(self, sent: Sent, message: Any) -> None:
        self.carry_out(self.client.handle(Envelope(Header("c", sent.number), message), self.now_us))


def _draw(what: str, when: int) -> float:
    z = (when * 0x9E3779B97F4A7C15 + sum(what.encode()) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53
