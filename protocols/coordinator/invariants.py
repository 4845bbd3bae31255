"""What holds of a coordinator's state at all times; asserted by ``GroupCoordinator.check``."""

from __future__ import annotations

from protocols.groups import kip848
from protocols.groups.classic import invariants as classic
from protocols.groups.kinds import AnyShard


def check(shard: AnyShard) -> None:
    """Assert the invariants of a shard that is being served."""
    logged = shard.durable.groups
    assert set(shard.durable.offsets) <= set(logged.entries), "offsets belong to groups"
    classic.check(shard)
    for group_id in logged.entries:
        if shard.durable.is_classic(group_id):
            continue
        group = kip848.on_shard.group_in(shard, group_id)
        assert group is not None, "a group is of a type that is served"
        assert group.group_id == group_id
        assert group_id not in shard.groups, "a group is of one type"
        kip848.invariants.check(group)
    assert set(shard.soft) <= set(logged.entries), "nothing is known of groups that are gone"
