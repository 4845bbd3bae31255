"""A group's coordinator with a hand-moved clock and a log that obeys the test.

The log is durable at once unless ``hold`` is set; ``refuse`` makes the next append fail. After
every step the driver calls ``check()`` and holds the law of replay: what the coordinator has as
durable is what a replay of the log gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from assignors.types import TopicPartition
from protocols.classic.group import Group
from protocols.classic.states import State
from protocols.coordinator.machine import GroupCoordinator, Phase
from protocols.coordinator.replay import replayed
from protocols.coordinator.shard import Durable, Shard
from protocols.errors import ErrorCode
from protocols.facts import Fact
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
from protocols.records import GroupMetadataKey, GroupMetadataValue, Record
from protocols.settings import BrokerSettings
from protocols.step import Append, CancelTimer, Effect, Send, SetTimer, Step, Tell

from .wire import EPOCH_MS, GROUP, Call, errors_of, protocols, some, subscription

__all__ = [
    "EPOCH_MS",
    "GROUP",
    "Call",
    "GroupDriver",
    "errors_of",
    "protocols",
    "some",
    "subscription",
]


class GroupDriver:
    def __init__(
        self,
        *,
        topics: Iterable[Any] | None = None,
        epoch_ms: int = EPOCH_MS,
        new_id: Callable[[str], str] | None = None,
        **settings: Any,
    ) -> None:
        self.epoch_ms = epoch_ms
        self.new_member_id = new_id or self._new_id
        self.settings = BrokerSettings(**settings)
        self.topics = topics
        self.now_us = 0
        self.log: list[Record] = []
        self.batches: list[tuple[Record, ...]] = []
        self.timers: dict[str, int] = {}
        self.facts: list[Fact] = []
        self.effects: list[Effect] = []
        self.hold = False
        self.checks = True
        self.refuse: ErrorCode | None = None
        self._calls: dict[Header, Call] = {}
        self._ids = Counter[str]()
        self._expected = Durable()
        self.coordinator = self._made()
        self._carry_out(self.coordinator.loaded(self.now_us))

    def _made(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings,
            new_id=self.new_member_id,
            epoch_ms=self.epoch_ms,
            topics=self.topics,
        )

    def _new_id(self, prefix: str) -> str:
        self._ids[prefix] += 1
        return f"{prefix}-{self._ids[prefix]}"

    # -- what there is -----------------------------------------------------------------------

    @property
    def shard(self) -> Shard[Any]:
        return self.coordinator.state

    @property
    def group(self) -> Group:
        return self.shard.groups[GROUP]

    @property
    def state(self) -> State:
        group = self.shard.groups.get(GROUP)
        return State.ABSENT if group is None else group.state

    @property
    def now_ms(self) -> int:
        return self.epoch_ms + self.now_us // 1000

    def session_ms(self, member_id: str) -> int:
        """How long from now until a member's session runs out."""
        return (self.timers[f"heartbeat-{GROUP}-{member_id}"] - self.now_us) // 1000

    def told(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if type(fact) is kind]

    def group_records(self) -> list[GroupMetadataValue | None]:
        return [record.value for record in self.log if isinstance(record.key, GroupMetadataKey)]

    # -- what a test does --------------------------------------------------------------------

    def send(self, body: Any, client: str = "c", client_id: str | None = None) -> Call:
        header = Header(client, len(self._calls), client_id or client)
        call = self._calls[header] = Call(header)
        self._carry_out(self.coordinator.handle(Envelope(header, body), self.now_us))
        return call

    def advance(self, ms: float) -> None:
        """Let time pass; timers run out in order of deadline, then name."""
        until = self.now_us + round(ms * 1000)
        while self.timers:
            deadline, name = min((deadline, name) for name, deadline in self.timers.items())
            if deadline > until:
                break
            del self.timers[name]
            self.now_us = max(self.now_us, deadline)
            self._carry_out(self.coordinator.wake(name, self.now_us))
        self.now_us = until

    def replicate(self, log_offset: int | None = None) -> None:
        """Let the log be durable, up to an offset or all of it."""
        offset = len(self.log) if log_offset is None else log_offset
        self._carry_out(self.coordinator.durable(offset, self.now_us))

    def reject(self, log_offset: int, error: ErrorCode) -> None:
        """Let the append at an offset, and all after it, have failed."""
        del self.log[log_offset:]
        self._expected = replayed(Durable(), self.log)
        self._carry_out(self.coordinator.rejected(log_offset, error, self.now_us))

    def fail_over(self, *, kept: int | None = None, durable: int | None = None) -> None:
        """Unload, and load on another broker from the first *kept* records of the log."""
        self._carry_out(self.coordinator.unload(self.now_us))
        self.begin_load(kept=kept, durable=durable)
        self._carry_out(self.coordinator.loaded(self.now_us))

    def begin_load(self, *, kept: int | None = None, durable: int | None = None) -> None:
        del self.log[len(self.log) if kept is None else kept :]
        self._expected = replayed(Durable(), self.log)
        self.timers.clear()
        self.coordinator = self._made()
        high_watermark = len(self.log) if durable is None else durable
        self._carry_out(self.coordinator.durable(high_watermark, self.now_us))
        for log_offset, record in enumerate(self.log):
            self.coordinator.replay(record, log_offset)

    def topic_deleted(self, topic: str, topic_id: str) -> None:
        self._carry_out(self.coordinator.topic_deleted(topic, topic_id, self.now_us))

    def join(
        self,
        client: str = "c",
        member_id: str = "",
        *,
        instance: str | None = None,
        offers: tuple[Protocol, ...] | None = None,
        session_ms: int = 45_000,
        rebalance_ms: int = 300_000,
        **more: Any,
    ) -> Call:
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocols=protocols() if offers is None else offers,
            **more,
        )
        return self.send(request, client)

    def new_id(self, client: str = "c", **more: Any) -> str:
        """Get an id for a dynamic member."""
        answer = self.join(client, **more).answer

        assert ErrorCode.MEMBER_ID_REQUIRED == answer.error

        return answer.member_id

    def enter(self, client: str = "c", **more: Any) -> tuple[str, Call]:
        """Join as a dynamic member, both steps; return the id and the parked call."""
        member_id = self.new_id(client, **more)
        return member_id, self.join(client, member_id, **more)

    def sync(
        self,
        member_id: str,
        assignments: dict[str, tuple[TopicPartition, ...]] | None = None,
        *,
        generation: int | None = None,
        client: str = "c",
        **more: Any,
    ) -> Call:
        group = self.shard.groups.get(GROUP)
        names: dict[str, Any] = {
            "protocol_type": (group and group.protocol_type) or "consumer",
            "protocol_name": (group and group.protocol_name) or "range",
            **more,
        }
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation if generation is None else generation,
            member_id=member_id,
            assignments=tuple((assignments or {}).items()),
            **names,
        )
        return self.send(request, client)

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance: str | None = None
    ) -> Call:
        current = self.group.generation if generation is None else generation
        return self.send(
            HeartbeatRequest(
                group_id=GROUP,
                generation_id=current,
                member_id=member_id,
                group_instance_id=instance,
            )
        )

    def leave(self, *entries: str | LeavingMember, version: int = 5) -> Call:
        members = tuple(
            LeavingMember(entry) if isinstance(entry, str) else entry for entry in entries
        )
        return self.send(LeaveGroupRequest(group_id=GROUP, members=members, version=version))

    def commit(
        self,
        member_id: str = "",
        offsets: dict[int, int] | None = None,
        *,
        generation: int | None = None,
        topic: str = "t",
        metadata: str = "",
        **more: Any,
    ) -> Call:
        if generation is None:
            generation = self.group.generation if member_id else -1
        entries = tuple(
            OffsetToCommit(TopicPartition(topic, number), offset, metadata=metadata)
            for number, offset in ({0: 1} if offsets is None else offsets).items()
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            offsets=entries,
            **more,
        )
        return self.send(request)

    def fetch(self, *numbers: int, stable: bool = False, topic: str = "t") -> Call:
        partitions = some(*numbers, topic=topic) if numbers else None
        return self.send(
            OffsetFetchRequest(group_id=GROUP, partitions=partitions, require_stable=stable)
        )

    def committed(self, number: int = 0, topic: str = "t") -> int:
        """The durable committed offset of a partition, -1 if there is none."""
        return self.fetch(number, topic=topic).answer.offsets[0].offset

    # -- groups in a given state -------------------------------------------------------------

    def stable(self, *clients: str, **more: Any) -> list[str]:
        """Bring a new group of dynamic members to generation 1, stable; return their ids."""
        ids = [self.enter(client, **more)[0] for client in clients or ("a",)]
        return self.settle(ids)

    def settle(self, ids: list[str]) -> list[str]:
        """Let the initial delay pass and everyone sync; the first id must lead."""
        while self.state is State.PREPARING_REBALANCE:
            self.advance(self.settings.group_initial_rebalance_delay_ms)
        leader = self.group.leader_id
        assert leader is not None
        given = {member_id: some(place) for place, member_id in enumerate(ids)}
        for member_id in ids:
            self.sync(member_id, given if member_id == leader else None)
        assert self.hold or self.state is State.STABLE
        return ids

    def static(self, *instances: str, **more: Any) -> dict[str, str]:
        """Bring a new group of static members to generation 1, stable; return ids by instance."""
        for instance in instances:
            self.join(instance, instance=instance, **more)
        self.settle([self.group.static_members[instance] for instance in instances])
        return {instance: self.group.static_members[instance] for instance in instances}

    # -- how effects are carried out ---------------------------------------------------------

    def _carry_out(self, step: Step[Any]) -> None:
        appended = False
        start = len(self.log)
        for effect in step.effects:
            self.effects.append(effect)
            match effect:
                case Append(records):
                    assert not appended, "one batch a turn"
                    appended = True
                    self.log.extend(records)
                    self.batches.append(records)
                    self._expected = replayed(self._expected, records)
                case Send(to, message):
                    self._calls[to].answers.append(message)
                case SetTimer(name, deadline_us):
                    assert deadline_us >= self.now_us
                    self.timers[name] = deadline_us
                case CancelTimer(name):
                    self.timers.pop(name, None)
                case Tell(fact):
                    self.facts.append(fact)
                case _:
                    raise AssertionError(effect)
        self._hold_laws()
        if appended and self.refuse is not None:
            error, self.refuse = self.refuse, None
            self.reject(start, error)
        elif appended and not self.hold:
            self.replicate()

    def _hold_laws(self) -> None:
        if not self.checks:
            return
        self.coordinator.check()
        if self.coordinator.phase is Phase.ACTIVE:
            assert self.coordinator.next_log_offset == len(self.log)
            assert self.shard.durable == self._expected, "live durable state is replay of the log"
