"""Groups of the consumer protocol in the situations of the verdict tables, driven by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from protocols.coordinator.machine import GroupCoordinator
from protocols.groups.kip848.group import AWAY_EPOCH, Group, Member
from protocols.machine import Append, Send
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    Envelope,
    Header,
    TopicDescription,
    TopicPartitions,
)
from protocols.settings import BrokerSettings

GROUP, SENDER, INSTANCE = "billing", "A", "billing-1"
IDS = {"orders": "MqLAo9DuQMWcW0M5zgcNyw", "refunds": "5NQWC11cQ9qhnk8CMkFiZQ"}
PARTITIONS = 6


class Cluster:
    """A coordinator whose log is durable at once."""

    def __init__(self, **settings: Any) -> None:
        ids = count(1)
        self._correlation = count()
        self.coordinator = GroupCoordinator(
            BrokerSettings(group_consumer_assignment_interval_ms=0, **settings),
            new_id=lambda prefix: f"{prefix}id-{next(ids)}",
            topics=[TopicDescription(name, IDS[name], (1,) * PARTITIONS) for name in IDS],
        )
        self._written = 0
        self._done(self.coordinator.loaded(0).effects)

    def ask(self, body: Any) -> Any:
        """Send a request and return its answer."""
        header = Header("client", next(self._correlation), "client", "/10.0.0.7")
        (answer,) = self._done(self.coordinator.handle(Envelope(header, body), 0).effects)
        return answer

    def _done(self, effects: Sequence[Any]) -> list[Any]:
        answers = [each.message for each in effects if isinstance(each, Send)]
        records = sum(len(each.records) for each in effects if isinstance(each, Append))
        if records:
            self._written += records
            answers += self._done(self.coordinator.durable(self._written, 0).effects)
        return answers

    def member(self, member_id: str) -> Member | None:
        """Return a member, or None if it or its group does not exist."""
        group = self.coordinator.state.durable.groups.get(GROUP)
        return group.member(member_id) if isinstance(group, Group) else None

    def join(self, member_id: str, instance: str | None = None) -> None:
        """Let a member join."""
        self.ask(replace(heartbeat(member_id, 0), instance_id=instance))

    def beat(self, *member_ids: str) -> None:
        """Let members send heartbeats that report exactly what they are assigned."""
        for member_id in member_ids:
            member = self.member(member_id)
            assert member is not None
            owned = owned_by(member)
            request = heartbeat(member_id, member.current.epoch, owned)
            self.ask(replace(request, instance_id=member.metadata.instance_id))


def heartbeat(
    member_id: str, epoch: int, owned: tuple[TopicPartitions, ...] | None = None
) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat; with epoch 0 that of a new member."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id=member_id, member_epoch=epoch, topic_partitions=owned
    )
    if epoch:
        return request
    topics = ("orders",)
    return replace(
        request, topic_partitions=(), rebalance_timeout_ms=300_000, subscribed_topic_names=topics
    )


def owned_by(member: Member) -> tuple[TopicPartitions, ...]:
    """Return the partitions that a member is assigned, as it reports them."""
    assigned = member.current.assigned
    return tuple(TopicPartitions(topic, tuple(sorted(assigned[topic]))) for topic in assigned)


class Situation(NamedTuple):
    """A cluster, and the sender of the next request in it."""

    cluster: Cluster
    sender: str = SENDER
    epoch: int = 3
    """Its current epoch; 3 also for a sender that is not a member."""

    previous: int | None = 2
    """Its previous epoch, if there was one."""


def absent() -> Situation:
    """Return a cluster without the group."""
    return Situation(Cluster())


def empty() -> Situation:
    """Return a group whose only member has left."""
    cluster = Cluster()
    cluster.join(SENDER)
    cluster.ask(heartbeat(SENDER, -1))
    return Situation(cluster)


def stable(instance: str | None = None, **settings: Any) -> Situation:
    """Return A at epoch 3 with the half that it has had since epoch 2; B has the other half."""
    cluster = Cluster(**settings)
    cluster.join(SENDER, instance)
    cluster.join("B")
    for _ in range(3):
        cluster.beat(SENDER, "B")
    return situation_of(cluster, SENDER)


def situation_of(cluster: Cluster, sender: str) -> Situation:
    """Return a cluster with the epochs of one of its members."""
    member = cluster.member(sender)
    assert member is not None
    current = member.current
    previous = None if current.previous_epoch == current.epoch else current.previous_epoch
    return Situation(cluster, sender, current.epoch, previous)


def stranger(**settings: Any) -> Situation:
    """Return a group with two members, and a sender that is none of them."""
    return stable(**settings)._replace(sender="X")


def unrevoked() -> Situation:
    """Return A, which must give a partition to C and has not confirmed it."""
    cluster = stable().cluster
    cluster.join("C")
    cluster.ask(heartbeat(SENDER, 3))
    return situation_of(cluster, SENDER)


def unreleased() -> Situation:
    """Return C, which has the partition of A and waits for that of B."""
    cluster = unrevoked().cluster
    cluster.beat(SENDER, "C")
    return situation_of(cluster, "C")


def away() -> Situation:
    """Return A, which was at epoch 3 and left temporarily."""
    before = stable(INSTANCE)
    before.cluster.ask(replace(heartbeat(SENDER, AWAY_EPOCH), instance_id=INSTANCE))
    return before
