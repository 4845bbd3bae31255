"""Queries of a coordinator's state for its host, and the invariants that ``check`` asserts."""

from __future__ import annotations

from protocols.groups import classic, kip848
from protocols.groups.shard import AnyShard, is_classic


def recurs(shard: AnyShard) -> bool:
    """Return whether only requests and timers can change the groups, whatever the time."""
    return all(
        is_classic(group) or kip848.heartbeat.recurs(group)
        for group in shard.durable.groups.entries.values()
    )


def generation_of(shard: AnyShard, group_id: str) -> int:
    """Return a group's generation, or its group epoch; -1 if there is no such group."""
    group = shard.groups.get(group_id)
    if group is not None:
        generation: int = group.generation
        return generation
    if shard.durable.is_classic(group_id):
        return -1
    consumers = kip848.shard.group_in(shard, group_id)
    return -1 if consumers is None else consumers.epoch


def target_size(shard: AnyShard, group_id: str) -> tuple[int, int]:
    """Return the members of a consumer group, and the partitions of its target assignment."""
    group = kip848.shard.group_in(shard, group_id)
    if group is None:
        return 0, 0
    sizes = (len(numbers) for target in group.targets.values() for numbers in target.values())
    return len(group.members), sum(sizes)


def check(shard: AnyShard) -> None:
    """Assert the invariants of an active shard."""
    logged = shard.durable.groups
    classic.invariants.check(shard)
    for group_id in logged.entries:
        if shard.durable.is_classic(group_id):
            continue
        group = kip848.shard.group_in(shard, group_id)
        assert group is not None, "a group of an unknown type"
        assert group.group_id == group_id
        assert group_id not in shard.groups, "a group of two types"
        kip848.invariants.check(group)
