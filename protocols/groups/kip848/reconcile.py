"""Reconcile one member by one step towards its target, with exclusive ownership.

A member revokes before it gets partitions. While it may still own partitions to revoke
(UNREVOKED_PARTITIONS), it stays at its old epoch and gets nothing. Then it moves to the target
epoch and gets the partitions that no member owns; while others own the rest, it stays in
UNRELEASED_PARTITIONS and tries again with each heartbeat. With all of its target it is STABLE.

=======================  ==========================  ==========================================
state                    condition                   result
=======================  ==========================  ==========================================
STABLE                   at the target epoch         stays; drops unsubscribed topics
STABLE                   behind the target epoch     next step
UNREVOKED_PARTITIONS     may still own some of them  stays; drops unsubscribed topics
UNREVOKED_PARTITIONS     has revoked them            next step
UNRELEASED_PARTITIONS                                next step
UNKNOWN                  reports that it owns none   next step, from the target epoch
UNKNOWN                  otherwise                   is fenced
=======================  ==========================  ==========================================

Source: ``CurrentAssignmentBuilder`` of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from immutables import Map

from assignors.java import HashTable, hash_map_order, length_of_map_copy, length_of_set_copy
from assignors.values import dataclass
from protocols.groups.kip848.group import (
    AssignedEpochs,
    CurrentAssignment,
    MemberState,
    TargetPartitions,
)
from protocols.groups.topics import topic_id_hash
from protocols.java_maps import NOTHING
from protocols.messages.errors import ErrorCode

Owned = Mapping[str, frozenset[int]]
"""Topic id to partitions that a member reports as owned."""

_FIRST_LENGTH = 16
"""Number of slots of a set of partitions that is created empty."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a member's next step, besides its current assignment."""

    target_epoch: int
    wanted: TargetPartitions
    """The member's target."""

    held: Map[str, Map[int, int]]
    """The partitions that any member of the group owns or has yet to revoke."""

    owned: Owned | None
    """The partitions the member reports as owned; None: not reported, as before."""

    subscribed: Collection[str]
    """Ids of the subscribed topics; partitions of other topics are ignored."""

    resubscribed: bool = False
    """Whether this heartbeat changed the subscription."""

    reads_nothing: bool = False
    """Whether the subscription has no topic name, not even of a topic that does not exist."""


def reconciled(current: CurrentAssignment, given: Situation) -> CurrentAssignment | ErrorCode:
    """Return a member's assignment after one step, or the error if it is fenced.

    If no step is due, return *current* itself.
    """
    match current.state:
        case MemberState.STABLE if current.epoch == given.target_epoch:
            return _without_unread(current, given) if given.resubscribed else current
        case MemberState.UNREVOKED_PARTITIONS if _may_own(current.revoking, given.owned):
            return _without_unread(current, given) if given.resubscribed else current
        case MemberState.UNKNOWN:
            if given.owned is None or given.owned:
                return ErrorCode.FENCED_MEMBER_EPOCH
            return _next(current, given.target_epoch, given)
    return _next(current, current.epoch, given)


def _next(current: CurrentAssignment, epoch: int, given: Situation) -> CurrentAssignment:
    """Revoke unwanted partitions, or else assign free ones; *epoch* is kept while revoking."""
    kept: dict[str, list[int]] = {}
    dropped: dict[str, list[int]] = {}
    added: dict[str, list[int]] = {}
    is_blocked = False
    for topic in _topics(given.wanted, current.assigned):
        wanted = given.wanted.get(topic, ()) if topic in given.subscribed else ()
        has = current.assigned.get(topic, {})
        goal = frozenset(wanted)
        kept[topic] = [number for number in has if number in goal]
        dropped[topic] = [number for number in has if number not in goal]
        holders = given.held.get(topic, NOTHING)
        returning = current.revoking.get(topic, {})
        missing = [number for number in wanted if number not in has]
        added[topic] = [one for one in missing if one not in holders or one in returning]
        is_blocked = is_blocked or len(added[topic]) < len(missing)
    if any(dropped.values()) and _may_own(dropped, given.owned):
        return CurrentAssignment(
            epoch,
            current.epoch,
            MemberState.UNREVOKED_PARTITIONS,
            _granted(current.assigned, kept, {}, epoch),
            _granted(current.assigned, dropped, {}, epoch),
        )
    return CurrentAssignment(
        given.target_epoch,
        current.epoch,
        MemberState.UNRELEASED_PARTITIONS if is_blocked else MemberState.STABLE,
        _granted(current.assigned, kept, added, given.target_epoch),
    )


def _topics(wanted: Collection[str], assigned: Collection[str]) -> list[str]:
    """Return the topics of a target and of an assignment in the order in which Kafka visits them."""
    return hash_map_order((*wanted, *assigned), topic_id_hash, length_of_set_copy(len(wanted)))


def _without_unread(current: CurrentAssignment, given: Situation) -> CurrentAssignment:
    """Revoke, or drop, the assigned partitions of topics that are no longer subscribed."""
    nothing_left = given.reads_nothing and not current.revoking
    unread = [topic for topic in current.assigned if topic not in given.subscribed]
    if not unread and not nothing_left:
        return current
    assigned = {
        topic: numbers for topic, numbers in current.assigned.items() if topic in given.subscribed
    }
    given_up = {topic: current.assigned[topic] for topic in unread}
    revoking = given_up if nothing_left else _merged(current.revoking, given_up)
    if any(revoking.values()) and _may_own(revoking, given.owned):
        state = MemberState.UNREVOKED_PARTITIONS
        return CurrentAssignment(current.epoch, current.epoch, state, assigned, revoking)
    return CurrentAssignment(current.epoch, current.epoch, current.state, assigned)


def _merged(revoking: AssignedEpochs, unread: AssignedEpochs) -> AssignedEpochs:
    """Return the partitions to revoke with those of unread topics, in the order of Kafka's maps."""
    length = length_of_map_copy(len(revoking)) if revoking else _FIRST_LENGTH
    topics: HashTable[str] = HashTable(topic_id_hash, length)
    for topic in revoking:
        topics.put(topic)
    for topic in unread:
        topics.compute_if_absent(topic)
    return {topic: _together(revoking.get(topic), unread.get(topic)) for topic in topics}


def _together(
    revoking: Mapping[int, int] | None, unread: Mapping[int, int] | None
) -> Mapping[int, int]:
    if not revoking or not unread:
        return revoking or unread or {}
    epochs = {**revoking, **unread}
    length = length_of_map_copy(len(revoking))
    return {number: epochs[number] for number in hash_map_order(epochs, _as_is, length)}


def _may_own(partitions: Mapping[str, Collection[int]], owned: Owned | None) -> bool:
    """Return whether a member may still own any of some partitions, given its report."""
    if owned is None:
        return True
    return any(
        not owned[topic].isdisjoint(numbers)
        for topic, numbers in partitions.items()
        if topic in owned
    )


def _granted(
    before: AssignedEpochs,
    kept: Mapping[str, list[int]],
    added: Mapping[str, list[int]],
    epoch: int,
) -> AssignedEpochs:
    """Return an assignment: kept partitions with their assignment epochs, added with *epoch*.

    The order is that of the maps that Kafka fills, and so of the log: kept partitions first, into
    a table that was created for the previous number of partitions. If none is kept, the table is new.
    """
    granted: dict[str, Mapping[int, int]] = {}
    topics: HashTable[str] = HashTable(topic_id_hash)
    for topic, numbers in kept.items():
        if numbers:
            topics.put(topic)
    for topic in hash_map_order(filter(added.get, added), topic_id_hash):
        topics.compute_if_absent(topic)
    for topic in topics:
        had = before.get(topic, {})
        length = length_of_map_copy(len(had)) if kept[topic] else _FIRST_LENGTH
        numbers = hash_map_order([*kept[topic], *added.get(topic, ())], _as_is, length)
        granted[topic] = {number: had.get(number, epoch) for number in numbers}
    return granted


def _as_is(number: int) -> int:
    return number
