"""What the coordinator counts as owned by each member of the consumer protocol (KIP-848)."""

from __future__ import annotations

from assignors.types import TopicPartition
from emulator import events as ev


class Grants:
    """Follows which partitions the coordinator gives to members and takes from them.

    A heartbeat lists what the member owned when it was sent. Meanwhile the coordinator may have given it
    a partition, and computes a target without it: the partition is not in the list, so the coordinator
    takes it without a revocation (``CurrentAssignmentBuilder.ownsRevokedPartitions``, KIP-848). But the
    member may own it by now (``AbstractMembershipManager.maybeReconcile``).
    """

    def __init__(self) -> None:
        self._granted: dict[tuple[str, str], frozenset[TopicPartition]] = {}
        self._revoked: set[tuple[str, str, TopicPartition]] = set()
        """What a member has stopped reading since it was granted."""

        self._taken: set[tuple[str, str, TopicPartition]] = set()
        """What was taken from a member that has not stopped reading it since."""

    def move(self, what: ev.MemberMoved) -> None:
        """Note what the coordinator gives to a member and takes from it."""
        group, name = what.group, what.consumer
        before = self._granted.get((group, name), frozenset[TopicPartition]())
        now = self._granted[group, name] = frozenset((*what.assigned, *what.revoking))
        given = {(group, name, partition) for partition in now - before}
        gone = {(group, name, partition) for partition in before - now}
        self._taken = (self._taken | (gone - self._revoked)) - given
        self._revoked -= given | gone

    def close(self, what: ev.EpochClosed) -> None:
        """Note that a member has stopped reading a partition."""
        one = (what.group, what.consumer, what.partition)
        self._taken.discard(one)
        self._revoked.add(one)

    def remove(self, what: ev.MemberRemoved) -> None:
        """Forget what a member had."""
        self._granted.pop((what.group, what.consumer), None)

    def is_taken(self, group: str, consumer: str, partition: TopicPartition) -> bool:
        """Return whether the coordinator took a partition from a member that has not stopped reading it."""
        return (group, consumer, partition) in self._taken
