"""Fetches as arithmetic: one event when the answer arrives, none at the broker (spec 1.4).

A broker answers a fetch when there is enough to answer, or after ``fetch.max.wait.ms`` (F3).
When that will be is known as soon as the fetch is sent, because arrivals are arithmetic; it is
worked out again for what is under way whenever something stops or changes hands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from emulator.world.arrivals import NEVER
from emulator.world.kernel import Rank
from emulator.world.network import Party, broker_name
from emulator.world.topics import Topics
from protocols.errors import ErrorCode
from protocols.fetch_session import FetchSession
from protocols.messages import (
    Disconnected,
    Envelope,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    Header,
)

if TYPE_CHECKING:
    from emulator.world.process import Process
    from emulator.world.services import Services

_NO_HEADER = Header("", -1)


class _UnderWay:
    """One fetch, from when it was sent to when its answer arrives."""

    __slots__ = ("arrives_us", "asked_us", "broker", "process", "ready_us", "request")

    def __init__(self, process: Process, broker: int, request: FetchRequest, asked_us: int) -> None:
        self.process = process
        self.broker = broker
        self.request = request
        self.asked_us = asked_us
        self.ready_us = NEVER
        self.arrives_us = NEVER


class Fetches:
    """All fetches under way, and the fetch sessions of the brokers."""

    def __init__(self, services: Services, topics: Topics) -> None:
        self._services = services
        self._topics = topics
        self._under_way: dict[tuple[str, int], _UnderWay] = {}
        self._sessions: dict[tuple[str, int], FetchSession] = {}

    def send(self, process: Process, broker: int, request: FetchRequest) -> None:
        """Take a fetch on its way to ``broker``."""
        now = self._services.kernel.now
        party = Party(broker_name(broker), "brokers")
        delay = self._services.wire.delay(process.party, party, now)
        fetch = _UnderWay(process, broker, request, now + delay)
        self._under_way[process.name, broker] = fetch
        self._plan(fetch, now)

    def _plan(self, fetch: _UnderWay, now: int) -> None:
        """Work out when the broker can answer, and let the answer arrive."""
        fetch.ready_us = self._ready(fetch, max(fetch.asked_us, now))
        if fetch.ready_us >= NEVER:
            fetch.arrives_us = NEVER
            self._time_out_later(fetch)
            return
        party = Party(broker_name(fetch.broker), "brokers")
        delay = self._services.wire.delay(party, fetch.process.party, fetch.ready_us)
        fetch.arrives_us = max(now, fetch.ready_us + delay)

        def arrive(_: Any) -> None:
            self._arrive(fetch)

        index = fetch.process.blueprint.index
        self._services.kernel.at(fetch.arrives_us, Rank.AT_CLIENT, index, arrive)

    def _time_out_later(self, fetch: _UnderWay) -> None:
        """Let the connection break when nothing has come back for ``request.timeout.ms`` (N8)."""
        services = self._services
        settings = fetch.process.blueprint.settings
        when = max(services.kernel.now, fetch.asked_us + settings.request_timeout_ms * 1_000)

        def late(_: Any) -> None:
            key = (fetch.process.name, fetch.broker)
            if self._under_way.get(key) is fetch and fetch.arrives_us >= NEVER:
                del self._under_way[key]
                fetch.process.receive(Envelope(_NO_HEADER, Disconnected(fetch.broker)))

        services.kernel.at(when, Rank.CLIENT_TIMER, fetch.process.blueprint.index, late)

    def _ready(self, fetch: _UnderWay, earliest: int) -> int:
        """Return when the broker answers; ``NEVER`` if nobody knows yet."""
        services = self._services
        brokers = services.brokers
        if not brokers.answers(fetch.broker) or not self._reachable(fetch):
            return NEVER
        settings = fetch.process.blueprint.settings
        limit = max(fetch.asked_us + settings.fetch_max_wait_ms * 1_000, earliest)
        soonest = limit
        enough = settings.fetch_min_bytes
        for part in fetch.request.partitions:
            log = self._topics.find(part.partition)
            if log is None or log.leader != fetch.broker or not log.start <= part.offset:
                return earliest
            if part.offset > log.end(earliest):
                return earliest
            wanted = part.offset + max(0, -(-enough // log.record_size) - 1)
            soonest = min(soonest, log.visible_at(wanted, earliest))
            if soonest <= earliest:
                return earliest
        return soonest

    def _reachable(self, fetch: _UnderWay) -> bool:
        wire = self._services.wire
        here, there = fetch.process.blueprint.name, broker_name(fetch.broker)
        return wire.passes(here, there) and wire.passes(there, here)

    def _arrive(self, fetch: _UnderWay) -> None:
        key = (fetch.process.name, fetch.broker)
        if self._under_way.get(key) is not fetch or fetch.arrives_us != self._services.kernel.now:
            return
        del self._under_way[key]
        response = self._response(fetch)
        fetch.process.receive(Envelope(_NO_HEADER, response))

    # -- what an answer holds --------------------------------------------------------------------

    def _response(self, fetch: _UnderWay) -> FetchResponse:
        session = self._sessions.get((fetch.process.name, fetch.broker))
        if session is None:
            session = self._sessions[fetch.process.name, fetch.broker] = FetchSession()
        settings = fetch.process.blueprint.settings
        room = settings.fetch_max_bytes
        found: list[FetchedRecords] = []
        for part in session.in_order(fetch.request.partitions):
            answer, size = self._read(part, fetch, room, first=not found)
            if answer is not None:
                room -= size
                found.append(answer)
        session.answered(tuple(answer.partition for answer in found))
        return FetchResponse(fetch.broker, tuple(found))

    def _read(
        self, part: FetchPartition, fetch: _UnderWay, room: int, *, first: bool
    ) -> tuple[FetchedRecords | None, int]:
        """Return one partition's records as of when the broker answered, and their bytes."""
        log = self._topics.find(part.partition)
        if log is None:
            return _error(part.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 0
        if log.leader != fetch.broker:
            return _error(part.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER), 0
        if not log.start <= part.offset <= log.end(fetch.ready_us):
            return _error(part.partition, ErrorCode.OFFSET_OUT_OF_RANGE), 0
        settings = fetch.process.blueprint.settings
        most = min(settings.max_partition_fetch_bytes, room) // log.record_size
        if first:
            most = max(most, 1)
        count = min(log.high_watermark(fetch.ready_us) - part.offset, most)
        if count <= 0:
            return None, 0
        return FetchedRecords(part.partition, part.offset, part.offset + count), (
            count * log.record_size
        )

    # -- disturbances ----------------------------------------------------------------------------

    def plan_again(self) -> None:
        """Something stopped, went on, or changed hands: answers come at other times now."""
        now = self._services.kernel.now
        for key in sorted(self._under_way):
            fetch = self._under_way[key]
            if fetch.ready_us > now:
                self._plan(fetch, now)

    def forget(self, process: Process) -> None:
        """A process ended, and its connections with it."""
        for kept in (self._under_way, self._sessions):
            for key in [key for key in kept if key[0] == process.name]:
                del kept[key]

    def broken(self, broker: int) -> list[Process]:
        """A broker died: return the processes whose fetch to it has failed."""
        keys = [key for key in sorted(self._under_way) if key[1] == broker]
        lost = [self._under_way.pop(key).process for key in keys]
        for key in [key for key in self._sessions if key[1] == broker]:
            del self._sessions[key]
        return lost

    def drop(self, process: Process, broker: int) -> None:
        """Forget the fetch of one process to one broker: its connection broke."""
        self._under_way.pop((process.name, broker), None)


def _error(partition: TopicPartition, error: ErrorCode) -> FetchedRecords:
    return FetchedRecords(partition, -1, -1, error)
