"""Real clients and a real coordinator on one wire, in plain virtual time.

A connection keeps the order of its messages; messages of different connections overtake each
other as their delays have it. Messages may be lost, clients cut off, crash and come back, the
coordinator may be made anew from its log. What always holds is asserted after every event.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from typing import Any

from assignors.types import TopicPartition
from protocols.coordinator.machine import GroupCoordinator
from protocols.facts import EpochOpened
from protocols.groups.classic.states import State
from protocols.machine import Send
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    Disconnected,
    Envelope,
    FetchedRecords,
    FetchRequest,
    FetchResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Header,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    TopicDescription,
    broker_of,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record

from ...groups.classic.driver import GroupDriver
from ...hand_clock import MAX_AT_ONCE, EndlessTimersError
from .process import Process

TOPIC = "t"
GROUP = "g"
BROKERS = (1, 2)
FETCH_WAIT_US = 500_000


class Cluster:
    def __init__(self, partitions: int, delays_us: list[int], **broker_settings: Any) -> None:
        self.partitions = tuple(TopicPartition(TOPIC, n) for n in range(partitions))
        self.ends = dict.fromkeys(self.partitions, 0)
        self.delays_us = delays_us
        self.now_us = 0
        self.group = GroupDriver(**broker_settings)
        self.at_broker = 1
        """Who coordinates."""

        self.processes: dict[str, Process] = {}
        self.cut: set[str] = set()
        self.to_lose: dict[tuple[str, str], int] = {}
        self.owners: dict[tuple[int, TopicPartition], str] = {}
        self.heard = Counter[str]()
        self.acknowledged: dict[TopicPartition, int] = {}
        self._drawn = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._last: dict[tuple[str, int, bool], int] = {}
        self._asked: dict[Header, tuple[Header, int, int]] = {}
        self._seen = 0

    # -- time --------------------------------------------------------------------------------

    def at(self, when_us: int, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (max(when_us, self.now_us), self._count, action))

    def run(self, ms: float) -> None:
        """Let time pass: messages arrive, timers run out, work ends."""
        until = self.now_us + round(ms * 1_000)
        at_once = 0
        for when in iter(self._next_us, None):
            if when > until:
                break
            at_once = at_once + 1 if when <= self.now_us else 0
            if at_once == MAX_AT_ONCE:
                raise EndlessTimersError(f"{self.now_us} us")
            self.now_us = max(self.now_us, when)
            self._step()
        self.now_us = until
        self.group.advance((until - self.group.now_us) / 1_000)
        self._forward()

    def _next_us(self) -> int | None:
        times = list(self.group.timers.values())
        times += [deadline for p in self.alive() for deadline in p.timers.values()]
        times += [self._queue[0][0]] if self._queue else []
        return min(times, default=None)

    def _step(self) -> None:
        self.group.advance((self.now_us - self.group.now_us) / 1_000)
        self._forward()
        while self._queue and self._queue[0][0] <= self.now_us:
            heapq.heappop(self._queue)[2]()
        for process in self.alive():
            process.wake_due()

    def alive(self) -> list[Process]:
        return [p for _, p in sorted(self.processes.items()) if p.alive]

    # -- the wire ----------------------------------------------------------------------------

    def _delay_us(self) -> int:
        self._drawn += 1
        return self.delays_us[self._drawn % len(self.delays_us)]

    def _carry(self, name: str, node: int, outward: bool, kind: str, action: Any) -> None:
        """Bring a message across, unless it is lost; behind those sent before it."""
        grouped = node != broker_of(node)
        if name in self.cut and grouped:
            return
        if grouped and self.to_lose.get((name, kind), 0):
            self.to_lose[name, kind] -= 1
            return
        key = (name, node, outward)
        when = max(self.now_us + self._delay_us(), self._last.get(key, 0))
        self._last[key] = when
        self.at(when, action)

    def send(self, process: Process, effect: Send) -> None:
        assert isinstance(effect.to, int)
        node, message = effect.to, effect.message
        header = Header(process.name, effect.correlation_id, process.name)
        kind = type(message).__name__
        if isinstance(message, OffsetFetchRequest):
            process.floor = dict(self.acknowledged)
        self._carry(process.name, node, True, kind, lambda: self._arrive(header, node, message))

    def _arrive(self, header: Header, node: int, message: Any) -> None:
        broker = broker_of(node)
        match message:
            case FetchRequest():
                self._fetch(header.client, broker, message, self.now_us + FETCH_WAIT_US)
            case MetadataRequest():
                self._answer(header, node, self._metadata())
            case FindCoordinatorRequest():
                self._answer(header, node, FindCoordinatorResponse(node_id=self.at_broker))
            case ListOffsetsRequest():
                self._answer(header, node, self._listed(message))
            case _ if broker != self.at_broker:
                self._refuse(header, node)
            case _:
                self._ask_coordinator(header, node, message)

    def _answer(self, header: Header, node: int, message: Any) -> None:
        kind = type(message).__name__
        envelope = Envelope(header, message)
        self._carry(header.client, node, False, kind, lambda: self._deliver(envelope))

    def _deliver(self, envelope: Envelope) -> None:
        process = self.processes.get(envelope.header.client)
        if process is not None and process.alive:
            process.receive(envelope)

    def _refuse(self, header: Header, node: int) -> None:
        """Close the connection: that broker is not a coordinator any more."""
        gone = Envelope(Header(header.client, -1), Disconnected(node))
        self._carry(header.client, node, False, "Disconnected", lambda: self._deliver(gone))

    # -- the coordinator ---------------------------------------------------------------------

    def _ask_coordinator(self, header: Header, node: int, message: Any) -> None:
        self.group.now_us = self.now_us
        call = self.group.send(message, header.client, header.client_id)
        self._asked[call.header] = (header, node, len(self.group.log))
        self._remember_commit(header, message)
        self._forward()

    def _remember_commit(self, header: Header, message: Any) -> None:
        if isinstance(message, OffsetCommitRequest):
            self.processes[header.client].commits[header.correlation_id] = message.offsets

    def _forward(self) -> None:
        """Send on what the coordinator has answered."""
        new, self._seen = self.group.effects[self._seen :], len(self.group.effects)
        for effect in new:
            if isinstance(effect, Send) and isinstance(effect.to, Header):
                asked = self._asked.pop(effect.to, None)
                if asked is not None:
                    header, node, _ = asked
                    self._answer(header, node, effect.message)

    def move_coordinator(self) -> None:
        """Another broker takes the group over from the durable part of the log."""
        self.group.now_us = self.now_us
        durable = self.group.coordinator.high_watermark
        self.group.fail_over(kept=durable, durable=durable)
        self._forward()
        self._asked.clear()
        before, self.at_broker = self.at_broker, BROKERS[2 - self.at_broker]
        node = coordinator_node(before)
        for process in self.alive():
            self._refuse(Header(process.name, -1), node)

    def slow_log(self, *, slow: bool) -> None:
        """Let nothing that is appended be durable, or all of it again."""
        self.group.now_us = self.now_us
        self.group.hold = slow
        if not slow:
            self.group.replicate()
            self._forward()

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.group.coordinator

    # -- records -----------------------------------------------------------------------------

    def _leader(self, tp: TopicPartition) -> int:
        return BROKERS[tp.partition % len(BROKERS)]

    def _metadata(self) -> MetadataResponse:
        leaders = tuple(self._leader(tp) for tp in self.partitions)
        return MetadataResponse(brokers=BROKERS, topics=(TopicDescription(TOPIC, "id", leaders),))

    def _listed(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        found = tuple(
            ListedOffset(tp, 0 if when == EARLIEST_TIMESTAMP else self.ends[tp])
            for tp, when in request.partitions
        )
        return ListOffsetsResponse(offsets=found)

    def _fetch(self, client: str, broker: int, request: FetchRequest, until_us: int) -> None:
        given = [
            FetchedRecords(part.partition, part.offset, self.ends[part.partition])
            for part in request.partitions
            if self.ends[part.partition] > part.offset
        ]
        if given or self.now_us >= until_us:
            response = FetchResponse(broker, tuple(given))
            self._answer(Header(client, 0), broker, response)
            return
        later = min(until_us, self.now_us + 50_000)
        self.at(later, lambda: self._fetch(client, broker, request, until_us))

    def produce(self, number: int, count: int) -> None:
        self.ends[self.partitions[number % len(self.partitions)]] += count

    # -- what processes tell -------------------------------------------------------------------

    def assigned(self, process: Process) -> None:
        """Check law 1: no other member got any of these partitions in this generation."""
        generation = process.client.state.generation.id
        for tp in process.client.state.assignment:
            owner = self.owners.setdefault((generation, tp), process.owner)
            assert owner == process.owner, f"{tp} has two owners in generation {generation}"

    def acked(self, process: Process, envelope: Envelope) -> None:
        """Law 2: an acknowledged commit is in the durable part of the log, to stay."""
        body = envelope.body
        if not isinstance(body, OffsetCommitResponse):
            return
        offsets = process.commits.pop(envelope.header.correlation_id, ())
        accepted = {tp for tp, error in body.errors if error is ErrorCode.NONE}
        for entry in offsets:
            if entry.partition in accepted:
                place = self._durable_place(entry.partition, entry.offset)
                assert place >= 0, f"{entry} was acknowledged and is not in the log"
                latest = self.acknowledged.get(entry.partition, -1)
                self.acknowledged[entry.partition] = max(latest, place)

    def started(self, process: Process, position: EpochOpened) -> None:
        """Law 2: a member starts from nothing older than what was acknowledged before it asked."""
        floor = process.floor.get(position.partition, -1)
        if position.source == "committed":
            place = self._durable_place(position.partition, position.offset)
            assert place >= max(floor, 0), f"{position} is older than what was acknowledged"
        elif position.why == "no offset":
            assert floor < 0, f"{position}, but a commit was acknowledged"

    def _durable_place(self, tp: TopicPartition, offset: int) -> int:
        """Return the last position of this offset in the durable log, -1 for none."""
        for place in range(self.coordinator.high_watermark - 1, -1, -1):
            match self.group.log[place]:
                case Record(OffsetCommitKey() as key, OffsetCommitValue() as value):
                    if (key.topic, key.partition) == tp and value.offset == offset:
                        return place
        return -1

    # -- where things stand --------------------------------------------------------------------

    def settled(self) -> bool:
        """Say whether the group is calm: all alive are stable members of its generation."""
        group = self.group.shard.groups.get(GROUP)
        if group is None or group.state is not State.STABLE:
            return not self.alive()
        members = {p.client.state.generation.member_id for p in self.alive()}
        return members == set(group.members) and all(p.calm for p in self.alive())

    def check(self) -> None:
        """Law 1, second half: in a calm group every partition has its one reader."""
        if not self.alive() or not self.settled():
            return
        owned = [tp for p in self.alive() for tp in p.client.state.assignment]
        assert sorted(owned) == sorted(self.partitions), owned
