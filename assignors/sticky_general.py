"""The sticky assignors when members are subscribed to different topics.

Members keep their partitions; free partitions go to the member with the fewest; then partitions
move until no move improves the balance. Kafka's class can loop for ever here or raise: both raise
:class:`AssignorDefectError`.
Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assignors.claims import Claims, Owned, Target, generation_of
from assignors.errors import AssignorDefectError, Defect
from assignors.leader_input import LeaderInput, Racks, partitions_of
from assignors.sticky_balance import Workbench, balance_score
from assignors.types import TopicPartition
from assignors.values import dataclass


class _Stale(NamedTuple):
    """The last owner of a partition before the present generation."""

    member: str
    generation: int


StaleOwners = Mapping[TopicPartition, _Stale]


@dataclass(frozen=True, slots=True)
class _Topics:
    """Topics as the general path sorts them, and their subscribers."""

    subscribers: dict[str, list[str]]
    """Known topic to its subscribers, topics with few of them first."""

    known_of: dict[str, tuple[str, ...]]
    """Member to its known topics."""

    everything: list[TopicPartition]


def stale_owners(claims: Claims, max_generation: int) -> StaleOwners:
    """Return the previous owner of each partition, by the highest of the outdated claims.

    Claims count even if the partition is unknown, owned by another member, or unsubscribed.
    """
    stale: dict[TopicPartition, _Stale] = {}
    for member, claim in claims.items():
        generation = generation_of(claim)
        if generation >= max_generation:
            continue
        for partition in claim.partitions:
            if partition not in stale or generation > stale[partition].generation:
                stale[partition] = _Stale(member, generation)
    return stale


def assign_general(group: LeaderInput, owned: Owned, stale: StaleOwners, racks: Racks) -> Target:
    """Return the target: kept partitions in the order of the claim, then new ones.

    *transferring* depends only on the subscriptions here, not on the settled claims: the
    partitions added to one member and revoked from another.
    Raises :class:`AssignorDefectError` where Kafka's class raises or never ends.
    """
    topics = _sort_topics(group)
    kept = {
        member: [
            partition
            for partition in partitions
            if partition.topic in group.topics_of[member] and not racks.mismatch(member, partition)
        ]
        for member, partitions in owned.partitions.items()
    }
    revocation = kept != owned.partitions
    bench = Workbench(kept, topics.known_of, group.partition_counts)
    unassigned = _unassigned(topics, bench)
    initializing = bench.all_empty()
    _deal(topics, bench, unassigned, racks)

    shared = {topic for topic, members in topics.subscribers.items() if len(members) > 1}
    settled = _settle(bench, shared)
    before = {member: list(partitions) for member, partitions in bench.partitions.items()}
    if not revocation:
        _reassign(bench, [one for one in unassigned if one.topic in shared], stale)
    moved = _reassign(bench, [one for one in topics.everything if one.topic in shared], stale)
    result = bench.partitions
    if not initializing and moved and bench.score() >= balance_score(map(len, before.values())):
        result = before
    return _target(group, {**result, **settled})


def _target(group: LeaderInput, partitions: dict[str, list[TopicPartition]]) -> Target:
    owned = {member: set(sub.owned_partitions) for member, sub in group.subscriptions.items()}
    added = {
        one for member, given in partitions.items() for one in given if one not in owned[member]
    }
    revoked = {
        one for member, given in partitions.items() for one in owned[member].difference(given)
    }
    return Target(partitions, added & revoked)


def _sort_topics(group: LeaderInput) -> _Topics:
    known_of = {
        member: tuple(topic for topic in topics if topic in group.partition_counts)
        for member, topics in group.topics_of.items()
    }
    subscribers: dict[str, list[str]] = {topic: [] for topic in sorted(group.partition_counts)}
    for member, topics in known_of.items():
        for topic in topics:
            subscribers[topic].append(member)
    fewest_first = dict(sorted(subscribers.items(), key=lambda item: len(item[1])))
    everything = [
        partition
        for topic in fewest_first
        for partition in partitions_of(topic, range(group.partition_counts[topic]))
    ]
    return _Topics(fewest_first, known_of, everything)


def _unassigned(topics: _Topics, bench: Workbench) -> list[TopicPartition]:
    """Return the partitions that no member keeps, in the order of all.

    Kafka walks both lists side by side: a kept partition that does not exist stops the walk, and
    all partitions behind it count as unassigned, too.
    """
    place = {topic: place for place, topic in enumerate(topics.subscribers)}

    def position(partition: TopicPartition) -> tuple[int, int]:
        return place[partition.topic], partition.partition

    missing = bench.owner.keys() - topics.everything
    stop = min(map(position, missing), default=(len(place), 0))
    return [
        partition
        for partition in topics.everything
        if partition not in bench.owner or position(partition) > stop
    ]


def _deal(
    topics: _Topics, bench: Workbench, unassigned: list[TopicPartition], racks: Racks
) -> None:
    """Assign each partition to the subscriber with the fewest, on its rack first."""
    wanted = [partition for partition in unassigned if topics.subscribers[partition.topic]]
    if racks:
        wanted = [one for one in wanted if not _give_near(topics, bench, one, racks)]
    for partition in wanted:
        member = bench.smallest(partition.topic)
        assert member is not None, "a topic with subscribers has a smallest subscriber"
        bench.give(partition, member)


def _give_near(topics: _Topics, bench: Workbench, partition: TopicPartition, racks: Racks) -> bool:
    for member in bench.members():
        if partition.topic in topics.known_of[member] and not racks.mismatch(member, partition):
            bench.give(partition, member)
            return True
    return False


def _settle(bench: Workbench, shared: set[str]) -> dict[str, list[TopicPartition]]:
    """Remove the members that can neither get nor give a partition; return their partitions."""
    fixed = [
        member
        for member, partitions in bench.partitions.items()
        if bench.is_full(member) and not any(one.topic in shared for one in partitions)
    ]
    return {member: bench.settle(member) for member in fixed}


def _reassign(bench: Workbench, candidates: list[TopicPartition], stale: StaleOwners) -> bool:
    """Move *candidates* until a pass changes nothing; return whether anything moved.

    A pass is a function of owners and movement records, so a repeated state proves that the
    passes never end. One stored state is enough, replaced after 1, 2, 4, … passes.
    """
    passes, renew_at = 0, 1
    remembered: object = None
    while _pass(bench, candidates, stale):
        passes += 1
        state = [bench.owner[one] for one in candidates], bench.movements.snapshot()
        if state == remembered:
            raise AssignorDefectError(
                Defect.ENDLESS_REASSIGNMENT, f"the state after pass {passes} has occurred before"
            )
        if passes == renew_at:
            remembered, renew_at = state, 2 * renew_at
    return passes > 0


def _pass(bench: Workbench, candidates: list[TopicPartition], stale: StaleOwners) -> bool:
    modified = False
    for partition in candidates:
        if bench.balanced():
            break
        new = _better_owner(bench, partition, stale)
        if new is not None:
            bench.move(partition, new)
            modified = True
    return modified


def _better_owner(bench: Workbench, partition: TopicPartition, stale: StaleOwners) -> str | None:
    """Return the member that *partition* should move to, None to leave it.

    A stale claimer comes first, even if it is no longer subscribed to the topic. Then Kafka looks
    for a smaller member on one of the partition's racks, and for any smaller member, but picks
    the same one in both cases: the smallest, on any rack.
    """
    size = bench.size(bench.owner[partition])
    if partition in stale:
        claimer = stale[partition].member
        if claimer not in bench.partitions:
            raise AssignorDefectError(
                Defect.SIZE_OF_FIXED_MEMBER, f"member {claimer} once had {partition}"
            )
        if size > bench.size(claimer) + 1:
            return claimer
    smallest = bench.smallest(partition.topic)
    assert smallest is not None, "a shared topic has working subscribers"
    return smallest if size > bench.size(smallest) + 1 else None
