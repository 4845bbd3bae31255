"""What holds of a coordinator's state at all times; asserted by ``GroupCoordinator.check``."""

from __future__ import annotations

from protocols.classic import invariants as classic
from protocols.coordinator.kinds import AnyShard
from protocols.kip848 import invariants as kip848
from protocols.kip848.on_shard import group_in


def check(shard: AnyShard) -> None:
    """Assert the invariants of a shard that is being served."""
    logged = shard.durable.groups
    assert set(shard.durable.offsets) <= set(logged.entries), "offsets belong to groups"
    classic.check(shard)
    for group_id in logged.entries:
        group = group_in(shard, group_id)
        if group is not None:
            assert group.group_id == group_id
            assert group_id not in shard.groups, "a group is of one type"
            kip848.check(group)
    assert set(shard.soft) <= set(logged.entries), "nothing is known of groups that are gone"
