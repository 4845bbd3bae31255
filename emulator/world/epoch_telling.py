"""What the coordinator tells of a group of the consumer protocol, as events with causes.

Such a group has no join phase that ends for all at once: its epoch rises, a target is computed,
and each member walks there by itself. When the last has arrived the group is stable.
Members of the classic protocol may be among them, while a group goes over from one to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from emulator import events
from protocols import facts
from protocols.groups import kip848

if TYPE_CHECKING:
    from emulator.world.cluster.hosts import Host
    from emulator.world.run import Run

TOPICS_CHANGED = "subscribed topics changed"
"""Why the group side raises an epoch when a topic came, went or grew."""


class EpochEventWriter:
    """Turns facts about epochs into events; *consumer* names who has a member id."""

    def __init__(self, run: Run, consumer: Callable[[str], str]) -> None:
        self._run = run
        self._causes = run.causes
        self._consumer = consumer
        self._stable: dict[str, int] = {}
        """Group: the epoch in which it was last told to be stable."""

        self._assigned: dict[str, tuple[TopicPartition, ...]] = {}
        """Member id: what it had after its last step."""

    def epoch_raised(self, _: Host, fact: facts.GroupEpochRaised) -> None:
        """Write that a new target is due: the beginning of a rebalance."""
        raised = events.GroupEpochRaised(
            group=fact.group,
            epoch=fact.epoch,
            reason=fact.reason,
            consumer=self._consumer(fact.member_id),
        )
        causes = self._causes
        by_topics = fact.reason == TOPICS_CHANGED or not fact.member_id
        cause = causes.topics if by_topics else causes.membership.get(fact.group)
        causes.rebalance[fact.group] = self._run.recorder.write(raised, cause)

    def target_computed(self, _: Host, fact: facts.TargetComputed) -> None:
        """Write who shall have what from now on."""
        computed = events.TargetComputed(
            group=fact.group,
            epoch=fact.epoch,
            assignor=fact.assignor,
            changed=tuple((self._consumer(member), given) for member, given in fact.changed),
        )
        cause = self._causes.rebalance.get(fact.group)
        self._causes.joined[fact.group] = self._run.recorder.write(computed, cause)
        for consumer, _given in computed.changed:
            self._run.triggers.reached_later(consumer, "target computed")

    def member_moved(self, host: Host, fact: facts.MemberMoved) -> None:
        """Write a member's step, and that the group is stable if it was the last one."""
        consumer = self._consumer(fact.member_id)
        self._assigned[fact.member_id] = fact.assigned
        moved = events.MemberMoved(
            group=fact.group,
            consumer=consumer,
            epoch=fact.epoch,
            state=fact.state,
            assigned=fact.assigned,
            revoking=fact.revoking,
        )
        cause = self._causes.joined.get(fact.group)
        self._causes.moved[consumer] = self._run.recorder.write(moved, cause)
        if fact.revoking:
            self._run.triggers.reached_later(consumer, "asked to revoke")
        self._write_if_stable(host, fact.group)

    def converted(self, _: Host, fact: facts.GroupConverted) -> None:
        """Write that a group went over to the other protocol; what moved members before is past."""
        run, causes = self._run, self._causes
        came = fact.client.rpartition(".")[0]
        converted = events.GroupConverted(
            group=fact.group,
            protocol=fact.protocol,
            generation=fact.generation,
            consumer=came or self._consumer(fact.member_id),
            members=tuple(self._consumer(member) for member, _ in fact.assignment),
        )
        went = causes.membership.get(fact.group)
        run.recorder.write(converted, causes.behind_arrival(came) if came else went)
        self._stable.pop(fact.group, None)
        self._assigned |= dict(fact.assignment)
        for consumer in run.consumers.of_group(fact.group):
            causes.moved.pop(consumer, None)

    def _write_if_stable(self, host: Host, group_id: str) -> None:
        group = kip848.shard.group_in(host.coordinator.state, group_id)
        if group is None or kip848.group.state_of(group) is not kip848.group.GroupState.STABLE:
            return
        if self._stable.get(group_id) == group.epoch:
            return
        self._stable[group_id] = group.epoch
        stable = events.GroupStabilised(
            group=group_id,
            generation=group.epoch,
            assignment=tuple(
                (self._consumer(member.member_id), self._assigned.get(member.member_id, ()))
                for member in group
            ),
        )
        cause = self._causes.joined.get(group_id)
        self._causes.stable[group_id] = self._run.recorder.write(stable, cause)
        for consumer, _given in stable.assignment:
            self._run.triggers.reached_later(consumer, "group stable")
