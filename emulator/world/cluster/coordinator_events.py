"""Write facts of coordinators as events: with consumers' names for member ids, and with causes.

A group of the consumer protocol has no join phase that ends for all members at once: its epoch
rises, a target is computed, and each member reconciles by itself. The group is stable when the last
member has reached the target. While a group migrates, it may have members of the classic protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from assignors.types import TopicPartition
from emulator import events
from emulator.world.cluster.offsets_log.leader_log import LeaderLog
from emulator.world.run import Run
from protocols import facts
from protocols.coordinator.machine import GroupCoordinator
from protocols.groups import kip848
from protocols.groups.responses import client_error
from protocols.machine import Send, Step
from protocols.messages import Envelope, JoinGroupRequest, SyncGroupRequest
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.group_rules import GroupState
from protocols.values import recorded

Given = tuple[str, tuple[TopicPartition, ...]]
"""A member and its partitions."""

TOPICS_CHANGED = "subscribed topics changed"
"""The group coordinator's reason for a new epoch when a topic was created, deleted or extended."""


class Coordinator(Protocol):
    """The host of a coordinator, as its events use it."""

    broker: int
    log: LeaderLog
    coordinator: GroupCoordinator

    @property
    def log_end(self) -> int:
        """The log offset of the next record."""

    @property
    def log_partition(self) -> int:
        """The number of the offsets partition."""

    @property
    def replaced_broker(self) -> int:
        """Its broker, if another one has been elected and it has not learned that; or -1."""


def commit_name(process: str, correlation_id: int) -> str:
    """Return the name of a commit in events."""
    return f"{process}#{correlation_id}"


def consumer_of(client: str) -> str:
    """Return the consumer of a client id: the id without the incarnation number."""
    return client.rpartition(".")[0]


def not_appended(fact: facts.CommitAccepted, error: ErrorCode) -> facts.CommitRefused:
    """Return the refusal of a commit whose records could not be appended."""
    return facts.CommitRefused(
        group=fact.group,
        client=fact.client,
        correlation_id=fact.correlation_id,
        member_id=fact.member_id,
        generation=fact.generation,
        error=client_error(error).name,
        offsets=fact.offsets,
    )


class CoordinatorEvents:
    """Writes the events of coordinators."""

    def __init__(
        self,
        run: Run,
        is_running: Callable[[str], bool],
        consumers_of: Callable[[str], list[str]],
    ) -> None:
        """Begin without events.

        *is_running*: whether a process, by its name, still exists. *consumers_of*: the consumers of
        a group.
        """
        self._run = run
        self._causes = run.causes
        self._is_running = is_running
        self._consumers_of = consumers_of
        self._consumer = run.consumer
        self._stable: dict[str, int] = {}
        """Group: the epoch of its last :class:`~emulator.events.GroupStabilised`."""

        self._assigned: dict[str, tuple[TopicPartition, ...]] = {}
        """Member id: its partitions after its last reconciliation step."""

        self._writers: dict[type, Callable[[Coordinator, Any], None]] = {
            facts.MemberAdded: self._member_added,
            facts.MemberRemoved: self._member_removed,
            facts.RebalanceStarted: self._rebalance_started,
            facts.JoinPhaseEnded: self._join_phase_ended,
            facts.GroupStabilised: self._stabilised,
            facts.GroupEmptied: self._emptied,
            facts.CommitAccepted: self._accepted,
            facts.CommitRefused: self._refused,
            facts.OffsetsDropped: self._offsets_dropped,
            facts.GroupConverted: self._converted,
            facts.GroupEpochRaised: self._epoch_raised,
            facts.TargetComputed: self._target_computed,
            facts.MemberMoved: self._member_moved,
        }

    def write(self, host: Coordinator, fact: facts.Fact) -> None:
        """Write a fact of a coordinator, if it is an event."""
        writer = self._writers.get(type(fact))
        if writer is not None:
            writer(host, fact)

    def _write(self, what: events.ControlEvent, cause: int | None = None) -> int:
        return self._run.recorder.write(what, cause)

    def handled(self, envelope: Envelope, step: Step[Any]) -> None:
        """Count a parked JoinGroup or SyncGroup as a step that a fault may wait for."""
        triggers = self._run.triggers
        if triggers.idle or not isinstance(envelope.body, JoinGroupRequest | SyncGroupRequest):
            return
        if any(
            isinstance(effect, Send) and effect.to == envelope.header for effect in step.effects
        ):
            return
        kind = type(envelope.body).__name__.removesuffix("Request")
        triggers.reached_later(consumer_of(envelope.header.client), f"{kind} parked")

    def assignor_ran(
        self, fact: facts.TargetComputed, members: int, partitions: int, us: int
    ) -> None:
        """Write that the coordinator's assignor computes for *us*."""
        ran = events.AssignorRan(
            group=fact.group,
            generation=fact.epoch,
            assignor=fact.assignor,
            members=members,
            partitions=partitions,
            takes_us=us,
        )
        self._write(ran, self._causes.rebalance.get(fact.group))

    def _member_added(self, host: Coordinator, fact: facts.MemberAdded) -> None:
        consumer = consumer_of(fact.client)
        self._run.consumers[fact.member_id] = consumer
        added = recorded(fact, consumer=consumer, replaced_broker=host.replaced_broker)
        event = self._write(added, self._causes.behind_arrival(consumer))
        self._causes.membership[fact.group] = event

    def _member_removed(self, host: Coordinator, fact: facts.MemberRemoved) -> None:
        consumer = self._consumer(fact.member_id)
        replaced = host.replaced_broker
        removed = recorded(fact, consumer=consumer, why=str(fact.why), replaced_broker=replaced)
        event = self._write(removed, self._causes.behind_departure(consumer))
        self._causes.removed[consumer] = event
        self._causes.membership[fact.group] = event

    def _rebalance_started(self, host: Coordinator, fact: facts.RebalanceStarted) -> None:
        consumer = self._consumer(fact.member_id)
        started = recorded(fact, consumer=consumer, replaced_broker=host.replaced_broker)
        cause = self._causes.behind_rebalance(fact.group, fact.reason)
        self._causes.rebalance[fact.group] = self._write(started, cause)

    def _join_phase_ended(self, host: Coordinator, fact: facts.JoinPhaseEnded) -> None:
        consumers = tuple(map(self._consumer, fact.members))
        ended = recorded(
            fact,
            leader=self._consumer(fact.leader),
            consumers=consumers,
            replaced_broker=host.replaced_broker,
        )
        cause = self._causes.rebalance.get(fact.group)
        self._causes.joined[fact.group] = self._write(ended, cause)
        for consumer in consumers:
            self._run.triggers.reached_later(consumer, "join phase ended")

    def _stabilised(self, host: Coordinator, fact: facts.GroupStabilised) -> None:
        given = self._by_consumer(fact.assignment)
        self._write_stable(recorded(fact, assignment=given, replaced_broker=host.replaced_broker))

    def _write_stable(self, stable: events.GroupStabilised) -> None:
        cause = self._causes.joined.get(stable.group)
        self._causes.stable[stable.group] = self._write(stable, cause)
        for consumer, _given in stable.assignment:
            self._run.triggers.reached_later(consumer, "group stable")

    def _by_consumer(self, given: Iterable[Given]) -> tuple[Given, ...]:
        """Return the assignments of members by the names of their consumers."""
        return tuple((self._consumer(member), partitions) for member, partitions in given)

    def _emptied(self, host: Coordinator, fact: facts.GroupEmptied) -> None:
        emptied = recorded(fact, replaced_broker=host.replaced_broker)
        self._write(emptied, self._causes.membership.get(fact.group))

    def _accepted(self, host: Coordinator, fact: facts.CommitAccepted) -> None:
        name = commit_name(fact.client, fact.correlation_id)
        accepted = recorded(
            fact,
            consumer=consumer_of(fact.client),
            commit=name,
            log_offset=host.log_end,
            high_watermark=host.log.high_watermark,
            leader_epoch=host.log.epoch,
            broker=host.broker,
            log_partition=host.log_partition,
        )
        self._run.recorder.write_data(accepted, self._causes.commits.get(name))
        if not self._is_running(fact.client):
            self._causes.commits.pop(name, None)
        self._run.triggers.reached_later(accepted.consumer, "commit appended")

    def _refused(self, _: Coordinator, fact: facts.CommitRefused) -> None:
        self.refused(fact)

    def refused(self, fact: facts.CommitRefused) -> None:
        """Write that a commit was refused, by a coordinator or by a broker without one."""
        name = commit_name(fact.client, fact.correlation_id)
        consumer = consumer_of(fact.client)
        refused = recorded(fact, consumer=consumer, commit=name)
        cause = self._causes.behind_refusal(consumer, fact.group)
        event = self._write(refused, cause or self._causes.commits.get(name))
        self._causes.refused[consumer] = event
        self._remember(fact.client, name, event)

    def _remember(self, client: str, commit: str, event: int) -> None:
        if not self._is_running(client):
            self._causes.commits.pop(commit, None)
        else:
            self._causes.commits[commit] = event

    def _offsets_dropped(self, host: Coordinator, fact: facts.OffsetsDropped) -> None:
        dropped = recorded(fact, members=_members(host, fact.group))
        self._write(dropped, self._causes.behind_drop(fact.group, fact.why))

    # -- groups of the consumer protocol ---------------------------------------------------------

    def _epoch_raised(self, host: Coordinator, fact: facts.GroupEpochRaised) -> None:
        """Write that a new target is due: the beginning of a rebalance."""
        causes = self._causes
        by_topics = fact.reason == TOPICS_CHANGED or not fact.member_id
        cause = causes.topics if by_topics else causes.membership.get(fact.group)
        consumer = self._consumer(fact.member_id)
        raised = recorded(fact, consumer=consumer, replaced_broker=host.replaced_broker)
        causes.rebalance[fact.group] = self._write(raised, cause)

    def _target_computed(self, host: Coordinator, fact: facts.TargetComputed) -> None:
        computed = recorded(
            fact,
            changed=self._by_consumer(fact.changed),
            member_ids=self._ids_of_shared_names(host, fact),
            replaced_broker=host.replaced_broker,
        )
        cause = self._causes.rebalance.get(fact.group)
        self._causes.joined[fact.group] = self._write(computed, cause)
        for consumer, _given in computed.changed:
            self._run.triggers.reached_later(consumer, "target computed")

    def _ids_of_shared_names(
        self, host: Coordinator, fact: facts.TargetComputed
    ) -> tuple[str, ...]:
        """Return the ids of the changed members if one consumer has several members, else none."""
        group = host.coordinator.state.groups.get(fact.group)
        changed = tuple(member for member, _ in fact.changed)
        members = {*changed, *(() if group is None else group.members)}
        is_shared = len(members) > len({self._consumer(member) for member in members})
        return changed if is_shared else ()

    def _member_moved(self, host: Coordinator, fact: facts.MemberMoved) -> None:
        """Write a member's step, and that the group is stable if it was the last one."""
        consumer = self._consumer(fact.member_id)
        self._assigned[fact.member_id] = fact.assigned
        cause = self._causes.joined.get(fact.group)
        moved = recorded(fact, consumer=consumer, replaced_broker=host.replaced_broker)
        self._causes.moved[consumer] = self._write(moved, cause)
        if fact.revoking:
            self._run.triggers.reached_later(consumer, "asked to revoke")
        self._write_if_stable(host, fact.group)

    def _converted(self, host: Coordinator, fact: facts.GroupConverted) -> None:
        """Write that a group migrated; its members' steps so far are no longer causes."""
        causes, came = self._causes, consumer_of(fact.client)
        converted = recorded(
            fact,
            consumer=came or self._consumer(fact.member_id),
            members=tuple(self._consumer(member) for member, _ in fact.assignment),
            replaced_broker=host.replaced_broker,
        )
        went = causes.membership.get(fact.group)
        self._write(converted, causes.behind_arrival(came) if came else went)
        self._stable.pop(fact.group, None)
        self._assigned |= dict(fact.assignment)
        for consumer in self._consumers_of(fact.group):
            causes.moved.pop(consumer, None)

    def _write_if_stable(self, host: Coordinator, group_id: str) -> None:
        group = kip848.shard.group_in(host.coordinator.state, group_id)
        if group is None or kip848.group.state_of(group) is not GroupState.STABLE:
            return
        if self._stable.get(group_id) == group.epoch:
            return
        self._stable[group_id] = group.epoch
        assigned = ((m.member_id, self._assigned.get(m.member_id, ())) for m in group)
        self._write_stable(
            events.GroupStabilised(
                group=group_id,
                generation=group.epoch,
                assignment=self._by_consumer(assigned),
                replaced_broker=host.replaced_broker,
            )
        )


def _members(host: Coordinator, group: str) -> int:
    """Return the number of members of a group; 0 if it does not exist."""
    known = host.coordinator.state.groups.get(group)
    return 0 if known is None else len(known.members)
