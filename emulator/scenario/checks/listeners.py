"""Check members without a rebalance listener: what needs one is refused."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.model import Group, Member
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import client_of, commit_policy, has_listener
from emulator.scenario.tables.distributions import always


def listener_problems(group: Group) -> Iterator[Problem]:
    """Yield the members that cannot do without a listener."""
    path = f"group[{group.id}]"
    for member in group.members:
        why = None if has_listener(group, member) else _needs_listener(group, member)
        if why is not None:
            own = f".member[{member.name}]" if member.has_listener is not None else ""
            yield Problem(f"{path}{own}.has_listener", f"{why}; leave it out", False)
            if not own:
                return


def _needs_listener(group: Group, member: Member) -> str | None:
    """Return why a member needs a listener; None: it does not."""
    if client_of(group, member) == "librdkafka":
        return "the bindings of librdkafka install a rebalance callback"
    if group.framework is not None:
        return f"{group.framework} decides whether there is a rebalance listener"
    if not group.is_serial:
        return "a handler with workers, or of one's own, is told in the rebalance listener"
    if group.offsets in ("zookeeper", "database"):
        return "offsets that are not in Kafka are read in the rebalance listener"
    policy = commit_policy(group, member)
    if policy.on_revoke:
        return "commit.on_revoke commits in the rebalance listener"
    if policy.retry_older_in is not None:
        return "commit.retry_older_in commits in the rebalance listener"
    if group.listener != always(0) or group.listener_partition:
        return "listener and listener_partition are times of the rebalance listener"
    return None
