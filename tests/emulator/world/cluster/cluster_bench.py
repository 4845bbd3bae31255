"""A cluster without consumers: brokers, a group's offsets partition, and requests by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from assignors.types import Subscription, TopicPartition
from emulator.events import Event
from emulator.scenario.load import loads
from emulator.world.build import build, create_topics, make_shards
from emulator.world.cluster.hosts import Host
from emulator.world.cluster.shards import Shard
from emulator.world.kernel import Rank
from emulator.world.network import Party
from emulator.world.run import new_run
from protocols.coordinator.machine import Phase
from protocols.messages import (
    Envelope,
    Header,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    Protocol,
    SyncGroupRequest,
)

MS = 1_000
SECOND = 1_000 * MS
REPLICATION = 10 * MS
"""So that there is room between the two halves of it."""

HALFWAY = 3 * MS
"""After an append: the followers do not have it yet."""

COPIED = 7 * MS
"""The followers have it, and the leader does not know."""

LATENCY = 100
LOAD = 50 * MS
BROKER_SESSION_US = 9 * SECOND
"""``broker.session.timeout.ms``."""

TEXT = """
title = "bench"
run_for = "1d"
network = {{ latency = "100us" }}

[cluster]
replication = "10ms"
load = "50ms"
{cluster}

[cluster.settings]
"group.initial.rebalance.delay.ms" = 0
{settings}

[[topic]]
name = "t"
partitions = 3
rate = "10/s"

[[group]]
id = "g"
coordinator = 1
topics = ["t"]
member = [{{ name = "by-hand", start = "by act" }}]

{more}
"""

T0 = TopicPartition("t", 0)


class Call:
    """A request, and what came of it."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.at_us = -1

    @property
    def error(self) -> str:
        """The error of the answer, or of what it says of its first partition."""
        assert self.answer is not None, "not answered"
        errors = getattr(self.answer, "errors", None)
        return (self.answer.error if errors is None else errors[0][1]).name


class Clerk:
    """All clients in one: sends requests and keeps the answers."""

    name = "clerk.1"
    party = Party("clerk", "clients")
    blueprint = SimpleNamespace(index=0)
    index = 0

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._calls: dict[int, Call] = {}

    def open(self, number: int) -> Call:
        call = self._calls[number] = Call()
        return call

    def receive(self, envelope: Envelope) -> None:
        call = self._calls[envelope.header.correlation_id]
        call.answer, call.at_us = envelope.body, self._bench.now


class Bench:
    """One run, moved by hand."""

    def __init__(self, *, cluster: str = "", settings: str = "", more: str = "") -> None:
        self.events: list[Event] = []
        text = TEXT.format(cluster=cluster, settings=settings, more=more)
        sinks = (self.events.append,)
        self.world = build(new_run(loads(text), 0, sinks))
        self.brokers = self.world.brokers
        create_topics(self.world)
        make_shards(self.world)
        self.clerk = Clerk(self)
        self.world.router.connect(self.clerk)  # type: ignore[arg-type]
        self._asked = 0

    # -- time ------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.world.run.kernel.now

    def wait(self, length_us: int) -> None:
        """Let time go by, that instant included."""
        kernel = self.world.run.kernel
        end = kernel.at(self.now + length_us, Rank.SAMPLE, 0, lambda _: None)
        kernel.env.run(until=end)
        for shard in self.world.offsets_topic:
            shard.check()

    def settle(self) -> None:
        """Let everything that is under way come to an end."""
        self.wait(SECOND)

    # -- the cluster -----------------------------------------------------------------------------

    @property
    def shard(self) -> Shard:
        (shard,) = self.world.offsets_topic
        return shard

    @property
    def leader(self) -> int:
        return self.shard.leader

    @property
    def isr(self) -> tuple[int, ...]:
        return self.shard.replicas.isr

    def host(self, broker: int | None = None) -> Host:
        """Return the coordinator on a broker, on the leader if none is named."""
        return self.shard.hosts[self.leader if broker is None else broker]

    def group(self, broker: int | None = None) -> Any:
        """Return the group as a coordinator has it, None if it has none."""
        return self.host(broker).coordinator.state.groups.get("g")

    def group_state(self) -> tuple[str, int, tuple[str, ...]]:
        """Return the group's state, its generation, and who is in it."""
        group = self.group()
        return group.state.name, group.generation, tuple(sorted(group.members))

    def cut(self, *parties: str) -> Any:
        """Let nothing pass between each of two sides; return what heals."""
        wire = self.world.run.wire
        one, other = parties
        cuts = [wire.cut([one], [other]), wire.cut([other], [one])]
        self.brokers.on_network_change(0)

        def heal() -> None:
            for each in cuts:
                wire.heal(each)
            self.brokers.on_network_change(0)

        return heal

    def fail_over(self) -> None:
        """Kill the coordinator's broker and wait until another one has loaded the group."""
        died_us, dead = self.now, self.leader
        self.brokers.crash(dead, 0)
        self.wait(BROKER_SESSION_US + LOAD)
        assert died_us + BROKER_SESSION_US + LOAD == self.now
        assert dead != self.leader
        assert Phase.ACTIVE is self.host().coordinator.phase

    def written(self, kind: type, **fields: Any) -> list[Any]:
        """Return the events of a kind, with these fields."""
        return [
            event.what
            for event in self.events
            if isinstance(event.what, kind)
            and all(getattr(event.what, name) == value for name, value in fields.items())
        ]

    # -- requests --------------------------------------------------------------------------------

    def ask(self, request: Any, broker: int | None = None) -> Call:
        """Hand a request in at a broker, at its leader if none is named."""
        self._asked += 1
        call = self.clerk.open(self._asked)
        header = Header(self.clerk.name, self._asked, "c")
        self.shard.handle(Envelope(header, request), self.leader if broker is None else broker)
        return call

    def commit(self, offset: int, broker: int | None = None, **who: Any) -> Call:
        """Commit an offset of one partition, without a member by default."""
        offsets = (OffsetToCommit(T0, offset),)
        return self.ask(OffsetCommitRequest(group_id="g", offsets=offsets, **who), broker)

    def committed(self, broker: int | None = None) -> int:
        """Return the offset that a coordinator has on its log, safe or not; -1: none."""
        durable = self.host(broker).coordinator.state.durable
        value = durable.offset("g", T0.topic, T0.partition)
        return -1 if value is None else value.offset

    def fetch(self, broker: int | None = None, *, require_stable: bool = False) -> Call:
        """Ask for the committed offset."""
        request = OffsetFetchRequest(group_id="g", partitions=(T0,), require_stable=require_stable)
        return self.ask(request, broker)

    def heartbeat(self, member: str, generation: int = 1, broker: int | None = None) -> Call:
        request = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member)
        return self.ask(request, broker)

    def join(self, member: str = "", broker: int | None = None) -> Call:
        wanted = Protocol("range", Subscription(topics=("t",)))
        request = JoinGroupRequest(
            group_id="g",
            member_id=member,
            session_timeout_ms=6_000,
            rebalance_timeout_ms=60_000,
            protocols=(wanted,),
        )
        return self.ask(request, broker)

    def sync(self, member: str, generation: int, *given: str) -> Call:
        """Sync; the leader sends an assignment with one partition for each named member."""
        request = SyncGroupRequest(
            group_id="g",
            generation_id=generation,
            member_id=member,
            protocol_name="range",
            assignments=tuple(
                (one, (TopicPartition("t", number),)) for number, one in enumerate(given)
            ),
        )
        return self.ask(request)

    def leave(self, member: str) -> Call:
        return self.ask(LeaveGroupRequest(group_id="g", members=(LeavingMember(member),)))

    def new_id(self) -> str:
        """Get a member id."""
        call = self.join()
        self.settle()
        assert "MEMBER_ID_REQUIRED" == call.error
        return str(call.answer.member_id)

    def form(self) -> tuple[str, str]:
        """Form a stable group of two in generation 2; return its leader and its other member."""
        one, two = self.new_id(), self.new_id()
        self.join(one)
        self.settle()
        self.sync(one, 1, one)
        self.settle()
        joined = [self.join(two), self.join(one)]
        self.settle()
        leader = str(joined[0].answer.leader)
        other = two if leader == one else one
        self.sync(other, 2)
        self.sync(leader, 2, leader, other)
        self.settle()
        assert ("STABLE", 2, tuple(sorted((one, two)))) == self.group_state()
        return leader, other
