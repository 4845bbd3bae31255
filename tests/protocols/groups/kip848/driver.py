"""A coordinator of consumer groups, driven by hand."""

from __future__ import annotations

from typing import Any

from assignors.types import TopicPartition
from protocols.coordinator.machine import Phase
from protocols.groups.kip848.group import AWAY_EPOCH, Group, Member, MemberState, state_of
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    Envelope,
    Header,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    TopicDescription,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode

from ...coordinator_driver import EPOCH_MS, GROUP, CoordinatorDriver

HOST = "/10.0.0.7"

IDS = {
    "t": "MqLAo9DuQMWcW0M5zgcNyw",
    "u": "5NQWC11cQ9qhnk8CMkFiZQ",
    "v": "AAAAAAAAAAAAAAAAAAAAAQ",
    "w": "AAAAAAAAAAAAAAAAAAAAAg",
}


__all__ = ["GROUP", "HOST", "IDS", "Call", "ConsumerGroupDriver", "owned", "topic"]


def topic(name: str = "t", partitions: int = 6, **more: Any) -> TopicDescription:
    return TopicDescription(name, IDS[name], (1,) * partitions, **more)


def owned(*numbers: int, of: str = "t") -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(IDS[of], numbers),) if numbers else ()


class Call:
    """A request that was sent, and its answer once there is one."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    @property
    def answer(self) -> Any:
        assert len(self.answers) == 1, self.answers
        return self.answers[0]

    @property
    def error(self) -> ErrorCode:
        return self.answer.error

    @property
    def epoch(self) -> int:
        assert ErrorCode.NONE == self.error, self.answer
        return self.answer.member_epoch

    @property
    def assignment(self) -> dict[str, set[int]] | None:
        """Topic name to partitions; None: nothing new."""
        assert ErrorCode.NONE == self.error, self.answer
        if self.answer.assignment is None:
            return None
        names = {topic_id: name for name, topic_id in IDS.items()}
        return {names[each.topic_id]: set(each.partitions) for each in self.answer.assignment}


class ConsumerGroupDriver(CoordinatorDriver):
    def __init__(
        self,
        *topics: TopicDescription,
        assignors: Any = None,
        epoch_ms: int = EPOCH_MS,
        **settings: Any,
    ) -> None:
        self._ids = 0
        self._were_classic: set[str] = set()
        more = {} if assignors is None else {"assignors": assignors}
        super().__init__(
            topics=list(topics or (topic(),)),
            epoch_ms=epoch_ms,
            settings={"group_consumer_assignment_interval_ms": 0, **settings},
            new_id=self._new_id,
            **more,
        )

    def _new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}id-{self._ids}"

    # -- what there is -----------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        return GROUP in self.coordinator.state.durable.groups

    @property
    def group(self) -> Group:
        group = self.coordinator.state.durable.groups.get(GROUP)
        assert isinstance(group, Group)
        return group

    @property
    def epochs(self) -> tuple[int, int]:
        """Group epoch and target epoch."""
        return self.group.epoch, self.group.target_epoch

    @property
    def state(self) -> str:
        return str(state_of(self.group))

    def member(self, member_id: str) -> Member:
        member = self.group.member(member_id)
        assert member is not None
        return member

    def at(self, member_id: str) -> tuple[int, int, str]:
        """Member epoch, previous epoch and state."""
        current = self.member(member_id).current
        return current.epoch, current.previous_epoch, current.state.name

    def assigned(self, member_id: str, of: str = "t") -> set[int]:
        return set(self.member(member_id).current.assigned.get(IDS[of], ()))

    def revoking(self, member_id: str, of: str = "t") -> set[int]:
        return set(self.member(member_id).current.revoking.get(IDS[of], ()))

    def target(self, member_id: str, of: str = "t") -> set[int]:
        return set(self.group.targets[member_id].get(IDS[of], ()))

    def session_ms(self, member_id: str) -> int:
        """How long from now until a member's session runs out."""
        return (self.timers[f"session-timeout-{GROUP}-{member_id}"] - self.now_us) // 1000

    @property
    def types(self) -> list[str]:
        """The record types of the last batch; a tombstone's ends in x."""
        return [
            f"{record.key.record_type}{'' if record.value is not None else 'x'}"
            for record in self.batches[-1]
        ]

    def wrote(self, call: Any) -> list[str]:
        """Do something and return the types of the records it wrote."""
        before = len(self.batches)
        call()
        return self.types if len(self.batches) > before else []

    # -- what a test does --------------------------------------------------------------------

    def send(self, body: Any, client: str = "c") -> Call:
        header = Header(client, len(self._calls), client, HOST)
        call = self._calls[header] = Call()
        self._carry_out(self.coordinator.handle(Envelope(header, body), self.now_us))
        return call

    def join(self, member_id: str, *names: str, **more: Any) -> Call:
        """Join, reading the topics of these names (``t`` if none is given)."""
        return self.beat(
            member_id,
            0,
            **{
                "topic_partitions": (),
                "rebalance_timeout_ms": 300_000,
                "subscribed_topic_names": names or ("t",),
                **more,
            },
        )

    def beat(self, member_id: str, epoch: int | None = None, **more: Any) -> Call:
        """Send a heartbeat, by default at the member's epoch and with nothing new."""
        at = self.member(member_id).current.epoch if epoch is None else epoch
        instance = more.pop("instance", None)
        request = ConsumerGroupHeartbeatRequest(
            group_id=more.pop("group", GROUP),
            member_id=member_id,
            member_epoch=at,
            instance_id=instance,
            **more,
        )
        return self.send(request, more.get("client", member_id or "c"))

    def acknowledge(self, member_id: str, **more: Any) -> Call:
        """Send a heartbeat that owns exactly what the member is assigned."""
        held = tuple(
            TopicPartitions(topic_id, tuple(sorted(numbers)))
            for topic_id, numbers in self.member(member_id).current.assigned.items()
        )
        return self.beat(member_id, topic_partitions=held, **more)

    def leave(self, member_id: str, **more: Any) -> Call:
        return self.beat(member_id, -1, **more)

    def settle(self, *member_ids: str) -> None:
        """Let members beat and acknowledge until everyone has arrived."""
        for _ in range(5):
            for member_id in member_ids:
                self.beat(member_id, instance=self.member(member_id).metadata.instance_id)
                self.acknowledge(member_id, instance=self.member(member_id).metadata.instance_id)
        assert self.state == "Stable"

    def commit(
        self, member_id: str, epoch: int, *numbers: int, of: str = "t", **more: Any
    ) -> ErrorCode:
        """Commit some offset of partitions; return the error of the first."""
        offsets = tuple(OffsetToCommit(TopicPartition(of, number), 7) for number in numbers or (0,))
        request = OffsetCommitRequest(
            group_id=GROUP, member_id=member_id, generation_id=epoch, offsets=offsets, **more
        )
        errors = self.send(request).answer.errors
        return errors[0][1]

    def fetch(self, member_id: str | None, epoch: int, **more: Any) -> ErrorCode:
        request = OffsetFetchRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, **more
        )
        return self.send(request).answer.error

    def topics_are(self, *topics: TopicDescription) -> None:
        self.topics = list(topics)
        self.coordinator.topics_changed(topics)
        self.coordinator.check()

    def topic_deleted(self, name: str) -> None:
        self._carry_out(self.coordinator.topic_deleted(name, IDS[name], self.now_us))

    def _hold_laws(self) -> None:
        super()._hold_laws()
        if self.checks and self.coordinator.phase is Phase.ACTIVE:
            self._hold_time_limits()

    def _hold_time_limits(self) -> None:
        """Check that a revoking member has a timeout, unless a failed append undid its answer.

        A classic member has other timeouts, to join again and to sync; if it changes its protocol
        while it revokes, it gets no new one.
        """
        group = self.coordinator.state.durable.groups.get(GROUP)
        members = list(group) if isinstance(group, Group) else []
        self._were_classic |= {each.member_id for each in members if each.uses_classic}
        for member in members if not self.rejections else ():
            current = member.current
            gives_up = current.state is MemberState.UNREVOKED_PARTITIONS
            limited = current.epoch != AWAY_EPOCH and member.member_id not in self._were_classic
            if gives_up and limited:
                assert f"rebalance-timeout-{GROUP}-{member.member_id}" in self.timers
