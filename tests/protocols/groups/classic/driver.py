"""A coordinator of classic groups, driven by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from assignors.types import TopicPartition
from protocols.groups.classic.group import Group
from protocols.groups.classic.states import State
from protocols.groups.shard import Fix, Shard
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
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import GroupMetadataKey, GroupMetadataValue

from ...coordinator_driver import EPOCH_MS, GROUP, CoordinatorDriver
from .wire import Call, errors_of, protocols, some, subscription

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


class GroupDriver(CoordinatorDriver):
    def __init__(
        self,
        *,
        topics: Iterable[Any] | None = None,
        epoch_ms: int = EPOCH_MS,
        new_id: Callable[[str], str] | None = None,
        lacks: tuple[Fix, ...] = (),
        **settings: Any,
    ) -> None:
        self._ids = Counter[str]()
        super().__init__(
            epoch_ms=epoch_ms,
            settings=settings,
            topics=topics,
            new_id=new_id or self._new_id,
            lacks=lacks,
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

    def group_records(self) -> list[GroupMetadataValue | None]:
        return [record.value for record in self.log if isinstance(record.key, GroupMetadataKey)]

    # -- what a test does --------------------------------------------------------------------

    def send(self, body: Any, client: str = "c", client_id: str | None = None) -> Call:
        header = Header(client, len(self._calls), client_id or client)
        call = self._calls[header] = Call(header)
        self._carry_out(self.coordinator.handle(Envelope(header, body), self.now_us))
        return call

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
