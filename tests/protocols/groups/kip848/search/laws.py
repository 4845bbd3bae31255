"""Laws for every state of the small world (invariants of KIP-848 as a model)."""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from protocols.consumer.kip848.member import MemberState
from protocols.groups.kip848.group import MemberState as Reached

from .coordinator import Coordinated, Placed
from .process import Client

Partitions = frozenset[TopicPartition]


def wrong_of_owners(
    group: Coordinated, clients: Mapping[str, Client], unsaid: Mapping[str, Partitions]
) -> str | None:
    """Return the members that own a partition not assigned to them, or owned by another.

    A removed member that has not learned of it does not count. Nor does a partition that a member
    was about to own and left out when it listed what it owns: it counts as revoked, by Kafka's
    rules, though the member learns of it late (``test_left_out.py``).
    """
    owners: dict[TopicPartition, str] = {}
    for name, client in clients.items():
        member = group.members.get(name)
        if member is None or not client.state.in_group or not client.owns:
            continue
        owned = client.owns - unsaid[name]
        stolen = owned - member.assigned - member.revoking
        if stolen:
            return f"{name} owns {_told(stolen)}, which it was not given"
        for partition in owned:
            if owners.setdefault(partition, name) != name:
                return f"{partition} is owned by {owners[partition]} and by {name}"
    return None


def wrong_of_group(group: Coordinated) -> str | None:
    """Say what is wrong with a target, or with a member at its epoch."""
    targets = sorted(tp for member in group.members.values() for tp in member.target)
    if group.members and group.target_epoch == group.epoch and tuple(targets) != group.read:
        return f"the target gives {_told(targets)}: not every partition once"
    for name, member in group.members.items():
        if member.epoch == group.target_epoch and not member.assigned <= member.target:
            return f"{name} is at the target epoch and has what belongs to another"
        if group.state == "Stable" and _is_moving(member, group):
            return f"the group is Stable, and {name} is on its way"
    return None


def _is_moving(member: Placed, group: Coordinated) -> bool:
    arrived = member.state is Reached.STABLE and member.epoch == group.epoch
    return not arrived or bool(member.revoking)


def wrong_of_step(old: Coordinated, new: Coordinated) -> str | None:
    """Say which epoch fell from one state of the coordinator to the next."""
    if new.epoch < old.epoch or new.target_epoch < old.target_epoch:
        return f"the epochs fell from {old[:2]} to {new[:2]}"
    for name, member in old.members.items():
        if name in new.members and new.members[name].epoch < member.epoch:
            return f"{name}'s epoch fell from {member.epoch} to {new.members[name].epoch}"
    return None


def is_settled(group: Coordinated, clients: Mapping[str, Client]) -> bool:
    """Say whether every member lives, has what it shall have, and every partition an owner."""
    living = {name: client for name, client in clients.items() if not client.is_over}
    if set(group.members) != set(living):
        return False
    if not living:
        return True
    owned = sorted(tp for client in living.values() for tp in client.owns)
    still = all(
        client.state is MemberState.STABLE and client.assigned == client.owns
        for client in living.values()
    )
    return still and tuple(owned) == group.read and group.state == "Stable"


def _told(partitions: Partitions | list[TopicPartition]) -> str:
    return ", ".join(str(tp) for tp in sorted(partitions)) or "nothing"
