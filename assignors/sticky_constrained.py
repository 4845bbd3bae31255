"""The sticky assignors when all members are subscribed to the same topics.

Each member gets *minimum* partitions, and *over* members one more. Members keep their partitions up
to their quota; the rest is dealt out in turn, on the member's own rack first where racks matter.
Source: ``AbstractStickyAssignor.ConstrainedAssignmentBuilder``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import compress
from operator import itemgetter

from assignors.claims import Owned, Target
from assignors.errors import AssignorDefectError, Defect
from assignors.java import string_order
from assignors.leader_input import LeaderInput, Racks, partitions_of
from assignors.types import TopicPartition
from assignors.values import dataclass


@dataclass(slots=True)
class _Quotas:
    """The limits of partitions per member, and the members that can get more."""

    minimum: int
    maximum: int
    over: int
    """The number of members that end above the minimum (0 if the division is even)."""

    at_maximum: int = 0
    under: list[str] = field(default_factory=list)
    """Members below the minimum."""

    exact: deque[str] = field(default_factory=deque)
    """Members at the minimum that may still get one more."""

    def one_more_at_maximum(self) -> None:
        """Count a member that reached the maximum; after the last, no member at the minimum gets more."""
        self.at_maximum += 1
        if self.at_maximum == self.over:
            self.exact.clear()


def assign_constrained(group: LeaderInput, owned: Owned, racks: Racks) -> Target:
    """Return an even assignment in which each member keeps its partitions up to its quota.

    A member's list has its kept partitions, by (partition, topic), then the new ones, as dealt.
    Raises :class:`AssignorDefectError` where Kafka's class raises.
    """
    members = len(group.subscriptions)
    minimum, over = divmod(sum(group.partition_counts.values()), members)
    quotas = _Quotas(minimum, minimum + (over > 0), over)
    maybe_revoked: dict[TopicPartition, str] = {}
    assigned = {
        member: _keep(quotas, member, partitions, maybe_revoked)
        for member, partitions in _without_mismatches(owned, racks, maybe_revoked).items()
    }
    kept = {member: len(partitions) for member, partitions in assigned.items()}

    left = unassigned_partitions(group.partition_counts, assigned.values())
    quotas.under.sort(key=string_order)
    quotas.exact = deque(sorted(quotas.exact, key=string_order))
    if racks:
        left.sort(key=racks.members_near.__getitem__)
        left = _deal_near(quotas, left, assigned, racks)
    _deal_in_turn(quotas, left, assigned)

    new = {member: partitions[kept[member] :] for member, partitions in assigned.items()}
    return Target(assigned, _transferring(new, maybe_revoked, owned.doubly_claimed))


def unassigned_partitions(
    counts: Mapping[str, int], kept: Iterable[Iterable[TopicPartition]]
) -> list[TopicPartition]:
    """Return the partitions that no member keeps, by topic and number.

    Kafka walks the sorted lists of all and of kept partitions side by side. A kept partition that
    does not exist stops that walk: all partitions behind it count as unassigned, too.
    """
    free = {topic: bytearray(b"\1") * count for topic, count in counts.items()}
    missing: list[TopicPartition] = []
    for partitions in kept:
        for topic, number in partitions:  # flags, not sets: a million of them cost a megabyte
            if 0 <= number < counts[topic]:
                free[topic][number] = 0
            else:
                missing.append(TopicPartition(topic, number))
    if missing:
        _free_behind(free, min(missing))
    return [
        partition
        for topic in sorted(counts)
        for partition in partitions_of(topic, compress(range(counts[topic]), free[topic]))
    ]


def _free_behind(free: Mapping[str, bytearray], missing: TopicPartition) -> None:
    for topic, flags in free.items():
        if topic == missing.topic:
            start = max(missing.partition, 0)
        else:
            start = 0 if topic > missing.topic else len(flags)
        flags[start:] = b"\1" * (len(flags) - start)


def _without_mismatches(
    owned: Owned, racks: Racks, maybe_revoked: dict[TopicPartition, str]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions each member can keep: on its rack and claimed once, sorted."""
    result: dict[str, list[TopicPartition]] = {}
    for member, claimed in owned.partitions.items():
        partitions = claimed
        if racks:
            far = {partition for partition in claimed if racks.mismatch(member, partition)}
            maybe_revoked.update(dict.fromkeys(far, member))
            partitions = [partition for partition in claimed if partition not in far]
        if owned.doubly_claimed:
            partitions = [one for one in partitions if one not in owned.doubly_claimed]
        # By (partition, topic): two stable sorts are faster than one that compares pairs.
        by_topic = sorted(partitions, key=itemgetter(0))
        result[member] = sorted(by_topic, key=itemgetter(1))
    return result


def _keep(
    quotas: _Quotas,
    member: str,
    partitions: list[TopicPartition],
    maybe_revoked: dict[TopicPartition, str],
) -> list[TopicPartition]:
    """Return the partitions *member* keeps; record the others, and whether it can get more."""
    if len(partitions) < quotas.minimum:
        quotas.under.append(member)
        return partitions
    quota = quotas.minimum
    if quotas.at_maximum < quotas.over:
        if len(partitions) >= quotas.maximum:
            quota = quotas.maximum
            quotas.one_more_at_maximum()
        else:
            quotas.exact.append(member)
    maybe_revoked.update(dict.fromkeys(partitions[quota:], member))
    return partitions[:quota]


def _deal_near(
    quotas: _Quotas,
    left: list[TopicPartition],
    assigned: dict[str, list[TopicPartition]],
    racks: Racks,
) -> list[TopicPartition]:
    """Assign partitions to members on their racks; return the partitions without such a member."""
    unplaced: list[TopicPartition] = []
    pointer = 0
    for partition in left:
        index = racks.first_near(quotas.under, partition, pointer)
        if index is not None:
            member = quotas.under[index]
            pointer = _fill_under(quotas, index, len(assigned[member]) + 1)
        else:
            exact = racks.first_near(quotas.exact, partition)
            if exact is None:
                unplaced.append(partition)
                continue
            member = quotas.exact[exact]
            if len(assigned[member]) + 1 == quotas.maximum:
                del quotas.exact[exact]
                quotas.one_more_at_maximum()
        assigned[member].append(partition)
    return unplaced


def _fill_under(quotas: _Quotas, index: int, size: int) -> int:
    """Count a partition for the member at *index*; return the index to search from next."""
    if size >= quotas.minimum:
        member = quotas.under.pop(index)
        if size < quotas.maximum and quotas.at_maximum < quotas.over:
            quotas.exact.append(member)
    else:
        index += 1
    return index % len(quotas.under) if quotas.under else 0


def _deal_in_turn(
    quotas: _Quotas, left: list[TopicPartition], assigned: dict[str, list[TopicPartition]]
) -> None:
    """Deal *left* to the members below the minimum, in turn, then to those that are at it.

    It deals several rounds at once: until a member reaches the minimum, each member gets every
    n-th partition. This makes a million partitions fast.
    """
    dealt = 0
    while quotas.under and dealt < len(left):
        width = len(quotas.under)
        rounds = min(quotas.minimum - len(assigned[member]) for member in quotas.under)
        batch = left[dealt : dealt + rounds * width]
        for place, member in enumerate(quotas.under):
            assigned[member] += batch[place::width]
        dealt += len(batch)
        full = [one for one in quotas.under if len(assigned[one]) == quotas.minimum]
        quotas.under = [one for one in quotas.under if len(assigned[one]) < quotas.minimum]
        quotas.exact.extend(full)

    for partition in left[dealt:]:
        if not quotas.exact:
            raise AssignorDefectError(Defect.QUOTA_NOT_MET, f"no member is left for {partition}")
        assigned[quotas.exact.popleft()].append(partition)
    if quotas.under:
        raise AssignorDefectError(
            Defect.QUOTA_NOT_MET, f"nothing is left for member {quotas.under[0]}"
        )


def _transferring(
    new: Mapping[str, list[TopicPartition]],
    maybe_revoked: Mapping[TopicPartition, str],
    doubly_claimed: set[TopicPartition],
) -> set[TopicPartition]:
    if not maybe_revoked and not doubly_claimed:
        return set()
    return {
        partition
        for member, partitions in new.items()
        for partition in partitions
        if partition in doubly_claimed or maybe_revoked.get(partition, member) != member
    }
