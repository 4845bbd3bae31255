"""Carry messages between processes and brokers, and answer requests that any broker can answer.

Requests to coordinators go to shards; a request that is lost, cut off or sent to a dead broker ends
as on a real network: without a response, or with a broken connection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from assignors.types import TopicPartition
from emulator.events import MessageLost, RequestsCounted
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.replicas import NO_BROKER
from emulator.world.cluster.shards import OffsetsTopic
from emulator.world.cluster.topics import Topics, end_offsets
from emulator.world.connections import JOINS, Connection, Connections
from emulator.world.consumer.polling.fetch_in_flight import Reader
from emulator.world.consumer.polling.fetches import Fetches, SentBefore
from emulator.world.kernel import Rank
from emulator.world.network import Caller, Party, broker_party
from emulator.world.run import Run
from emulator.world.triggers import Chosen, ChosenMessages
from protocols.machine import Send
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Envelope,
    FetchRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Header,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Message,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    OffsetsForLeaderEpochRequest,
    broker_of,
    coordinator_node,
)
from protocols.messages.errors import ErrorCode
from protocols.settings.consumer import READ_COMMITTED


def kind_of(message: Message) -> str:
    """Return the kind of a message: ``JoinGroup`` for its request and its response."""
    return _without_suffix(type(message).__name__)


@cache
def _without_suffix(form: str) -> str:
    return form.removesuffix("Request").removesuffix("Response")


class Carried:
    """The arrival of a request or response: the action of an event."""

    __slots__ = ("_deliver", "envelope", "is_request")

    def __init__(
        self, envelope: Envelope, deliver: Callable[[Envelope], None], *, is_request: bool
    ) -> None:
        self.envelope, self.is_request, self._deliver = envelope, is_request, deliver

    def __call__(self, _: object) -> None:
        """Deliver the message."""
        self._deliver(self.envelope)


class Router:
    """Carries all messages except responses to fetches."""

    def __init__(
        self,
        run: Run,
        *,
        brokers: Brokers,
        controller: Controller,
        topics: Topics,
        offsets_topic: OffsetsTopic,
        fetches: Fetches,
    ) -> None:
        self._run = run
        self._brokers = brokers
        self._controller = controller
        self._topics = topics
        self._offsets_topic = offsets_topic
        self._fetches = fetches
        self.connections = Connections(run.kernel, run.wire, brokers, self._handle)
        self._processes: dict[str, Reader] = {}
        """The processes that exist, by name."""

        self._chosen = ChosenMessages()
        self._tools: dict[str, Caller] = {}
        """Administrators' tools that are running, by name."""

        self._answers: dict[type, Callable[[Any, int], Message]] = {
            MetadataRequest: self._metadata,
            FindCoordinatorRequest: self._coordinator,
            ListOffsetsRequest: self._offsets,
            OffsetsForLeaderEpochRequest: self._end_offsets,
        }
        self.counts: Counter[str] = Counter()
        self.counted_since_us = 0

    def connect(self, process: Reader) -> None:
        """Carry responses to a process from now on."""
        self._processes[process.name] = process

    def disconnect(self, process: Reader) -> None:
        """Stop carrying messages to a process: it has ended."""
        self._processes.pop(process.name, None)
        self.connections.forget(process)

    def is_connected(self, process: str) -> bool:
        """Return whether a process, by its name, exists."""
        return process in self._processes

    @property
    def is_undisturbed(self) -> bool:
        """Whether no fault waits for a message."""
        return not self._chosen.waits

    # -- requests --------------------------------------------------------------------------------

    def send(self, process: Reader, effect: Send) -> None:
        """Carry a request of a process."""
        node = effect.to
        assert isinstance(node, int), "a client sends to a node"
        broker = broker_of(node)
        message = effect.message
        if type(message) is FetchRequest:
            self.counts["Fetch"] += 1
            self._send_fetch(process, broker, message)
            return
        kind = kind_of(message)
        if type(message) is OffsetFetchRequest and process.blueprint.group.id in self._run.stores:
            store = self._run.stores[process.blueprint.group.id]
            if store.fetch(process, effect.correlation_id, message):
                return
        self.counts[kind] += 1
        settings = process.blueprint.settings
        header = Header(
            process.name, effect.correlation_id, settings.client_id or process.blueprint.name
        )
        joins = kind in JOINS and process.blueprint.profile.joins_apart
        self._carry(process, node, Envelope(header, message), kind, joins=joins)
        triggers = self._run.triggers
        if not triggers.idle:
            step = "commit sent" if kind == "OffsetCommit" else f"sent {kind}"
            triggers.reached(process.blueprint.name, step)

    def ask(self, tool: Caller, node: int, envelope: Envelope) -> None:
        """Carry a request of an administrator's tool; responses reach it until :meth:`forget`."""
        self._tools[tool.name] = tool
        kind = kind_of(envelope.body)
        self.counts[kind] += 1
        self._carry(tool, node, envelope, kind)

    def forget(self, tool: Caller) -> None:
        """Stop carrying messages to a tool that has finished."""
        self._tools.pop(tool.name, None)
        self.connections.forget(tool)

    def _send_fetch(self, process: Reader, broker: int, request: FetchRequest) -> None:
        if self._brokers.up(broker):
            self._fetches.send(process, broker, request)
        else:
            self.connections.refuse(process, broker)

    def _carry(
        self, process: Caller, node: int, envelope: Envelope, kind: str, *, joins: bool = False
    ) -> None:
        """Carry a request to the broker of a node; *joins*: over a connection for joins."""
        run = self._run
        broker = broker_of(node)
        now = run.kernel.now
        here, there = process.party, broker_party(broker)
        if not self._brokers.up(broker):
            self.connections.refuse(process, node)
            return
        interference = self._chosen.interference(kind, "request", here.name, now)
        grouped = node != broker
        dropped = interference.loses or not run.wire.passes(here.name, there.name)
        if dropped or (grouped and run.wire.loses(here, there, now)):
            self._lost(kind, here.name, there.name, envelope.header, interference.fault)
            self._report(envelope, here, there, None)
            return
        arrival = now + run.wire.delay(here, there, now) + interference.late_us
        arrival = run.wire.in_order(process.name, there.name, node, arrival)
        self._report(envelope, here, there, arrival)

        if grouped:
            connection = self.connections.of(process, broker, joins=joins)
            arrive = partial(self._arrive_at_coordinator, connection=connection)
        else:
            fetch = self._before(process, broker, envelope)
            arrive = partial(self._arrive, broker=broker, fetch=fetch)
        carried = Carried(envelope, arrive, is_request=True)
        run.kernel.at(arrival, Rank.AT_BROKER, process.index, carried).recurs = kind in _RECURRING

    def _before(self, process: Caller, broker: int, envelope: Envelope) -> SentBefore | None:
        """Return the fetch that was sent before a request over the same connection, if it waits for that."""
        reader = self._processes.get(process.name)
        if reader is None or not isinstance(envelope.body, _BEHIND_FETCHES):
            return None
        return self._fetches.before(reader, broker)

    def on_broker_died(self, broker: int) -> None:
        """Drop the connections to a broker, and break those of tools."""
        self.connections.break_all(broker)
        for tool in self._tools.values():
            self.connections.break_off(tool, broker)
            self.connections.break_off(tool, coordinator_node(broker))

    def _lost(
        self, kind: str, sender: str, receiver: str, header: Header, fault: int | None
    ) -> None:
        """Write that a message is lost; ``fault``: the event of the fault that chose it."""
        commit = f"{header.client}#{header.correlation_id}" if kind == "OffsetCommit" else ""
        lost = MessageLost(kind=kind, sender=sender, receiver=receiver, commit=commit)
        cause = self._run.causes.commits.get(commit) if fault is None else fault
        event = self._run.recorder.write(lost, cause)
        if commit:
            self._run.causes.commits[commit] = event

    def _report(
        self, envelope: Envelope, sender: Party, receiver: Party, arrives_us: int | None
    ) -> None:
        """Pass a message to the trace of the run, if there is one."""
        carried, header, message = self._run.replay.carried, envelope.header, envelope.body
        if carried is None:
            return
        from emulator.events.messages import MessageCarried  # noqa: PLC0415  a plain run has no trace

        error = getattr(message, "error", ErrorCode.NONE)
        carried(
            MessageCarried(
                kind=kind_of(message),
                is_request=sender.kind != "brokers",
                sender=sender.name,
                receiver=receiver.name,
                request=f"{header.client}#{header.correlation_id}",
                sent_us=self._run.kernel.now,
                arrives_us=arrives_us,
                error="" if error == ErrorCode.NONE else ErrorCode(error).name,
            )
        )

    def _arrive(self, envelope: Envelope, broker: int, fetch: SentBefore | None) -> None:
        """Handle a request that any broker answers; *fetch*: its answer comes behind that of this one."""
        brokers = self._brokers
        if not brokers.up(broker):
            return
        if brokers.hold(broker, lambda: self._arrive(envelope, broker, fetch)):
            return
        request: Any = envelope.body
        give, header = self._answers[type(request)], envelope.header

        def answer() -> None:
            self.answer(broker, header, give(request, broker))

        self._fetches.answer_behind(fetch, answer)

    def _arrive_at_coordinator(self, envelope: Envelope, connection: Connection) -> None:
        """Handle a group request, or keep it behind those of its connection that are not answered."""
        broker, again = (
            connection.broker,
            partial(self._arrive_at_coordinator, envelope, connection),
        )
        if not self._brokers.up(broker) or self._brokers.hold(broker, again):
            return
        if connection.is_busy:
            connection.keep(envelope)
        else:
            self._handle(envelope, connection)

    def _handle(self, envelope: Envelope, connection: Connection) -> None:
        self.connections.begin(connection, envelope.header)
        self._offsets_topic.handle(envelope, connection.broker)

    # -- responses -------------------------------------------------------------------------------

    def answer(self, broker: int, header: Header, message: Message) -> None:
        """Send a response to the sender of the request, if it still exists."""
        if not self._brokers.up(broker):
            return
        if self._brokers.hold(broker, partial(self.answer, broker, header, message)):
            return
        self.connections.answered(header)
        process: Caller | None = self._processes.get(header.client) or self._tools.get(
            header.client
        )
        if process is None:
            return
        run = self._run
        now = run.kernel.now
        here, there = broker_party(broker), process.party
        envelope = Envelope(header, message)
        kind = kind_of(message)
        interference = self._chosen.interference(kind, "response", there.name, now)
        dropped = interference.loses or not run.wire.passes(here.name, there.name)
        if dropped or (kind in _GROUP_KINDS and run.wire.loses(here, there, now)):
            self._lost(kind, here.name, there.name, header, interference.fault)
            self._report(envelope, here, there, None)
            return
        arrival = now + run.wire.delay(here, there, now) + interference.late_us
        connection = coordinator_node(broker) if kind in _GROUP_KINDS else broker
        arrival = run.wire.in_order(here.name, process.name, connection, arrival)
        self._report(envelope, here, there, arrival)

        carried = Carried(envelope, process.receive, is_request=False)
        run.kernel.at(arrival, Rank.AT_CLIENT, process.index, carried).recurs = kind in _RECURRING

    # -- requests that any broker answers --------------------------------------------------------

    def metadata(self, request: MetadataRequest, broker: int) -> MetadataResponse | None:
        """Return a broker's response if it were asked now; None: it would not respond."""
        return self._metadata(request, broker) if self._brokers.answers(broker) else None

    def _metadata(self, request: MetadataRequest, broker: int) -> MetadataResponse:
        topics = self._topics.describe(self._topics.requested(request), broker)
        return MetadataResponse(brokers=self._controller.alive(broker), topics=topics)

    def _coordinator(self, request: FindCoordinatorRequest, broker: int) -> Message:
        leader = self._offsets_topic.shard_of(request.group_id).replicas.leader_known_to(broker)
        if leader == NO_BROKER:
            return FindCoordinatorResponse(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(node_id=leader)

    def _offsets(self, request: ListOffsetsRequest, broker: int) -> Message:
        committed = request.isolation_level == READ_COMMITTED
        found = tuple(
            self._listed(tp, when, broker, committed=committed) for tp, when in request.partitions
        )
        return ListOffsetsResponse(offsets=found)

    def _end_offsets(self, request: OffsetsForLeaderEpochRequest, broker: int) -> Message:
        return end_offsets(request, broker, self._topics, self._run.kernel.now)

    def _listed(
        self, tp: TopicPartition, timestamp: int, broker: int, *, committed: bool
    ) -> ListedOffset:
        now = self._run.kernel.now
        log = self._topics.shown_by(broker, tp, committed=committed)
        if log is None:
            return ListedOffset(tp, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not log.led_by(broker):
            return ListedOffset(tp, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if timestamp == EARLIEST_TIMESTAMP:
            return ListedOffset(tp, log.start)
        if timestamp == LATEST_TIMESTAMP:
            return ListedOffset(tp, max(log.start, log.high_watermark(now)))
        instant = (timestamp - self._run.epoch_ms) * 1_000
        return ListedOffset(tp, log.first_at_or_after(instant, now))

    def write_counts(self) -> None:
        """Write the number of requests since the last count."""
        counted = RequestsCounted(
            since_us=self.counted_since_us, counts=tuple(sorted(self.counts.items()))
        )
        self._run.recorder.write(counted)
        self.counts.clear()
        self.counted_since_us = self._run.kernel.now

    def choose(self, chosen: Chosen) -> None:
        """Lose or delay one future message."""
        self._chosen.add(chosen)


_RECURRING = frozenset({"OffsetCommit", "Heartbeat"})
"""The messages that may be on their way where a period begins (:mod:`emulator.world.periods`)."""

_BEHIND_FETCHES = (FindCoordinatorRequest, ListOffsetsRequest, OffsetsForLeaderEpochRequest)
"""Requests over the connection of the fetches. Metadata are left out: their refresh is arithmetic
(:mod:`emulator.world.periods.upkeep`)."""

_GROUP_KINDS = frozenset(
    {
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "ConsumerGroupHeartbeat",
        "OffsetCommit",
        "OffsetFetch",
        "OffsetDelete",
        "DeleteGroups",
        "DescribeGroup",
    }
)
