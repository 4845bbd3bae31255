"""The members of a group that wait for its autoscaler."""

from __future__ import annotations

from typing import Any

from emulator.scenario.short_forms import MAX_MEMBERS


def with_spare_members(group: Any) -> Any:
    """Return a group, as a file has it, with members up to ``max_replicas`` that wait for a start.

    A replica has a member for each of its threads.
    """
    scaler, members = group["autoscaler"], group.get("members")
    replicas, threads = getattr(scaler, "max_replicas", None), group.get("threads", 1)
    if isinstance(scaler, dict):
        replicas = scaler.get("max_replicas")
    named = isinstance(members, tuple) and all(
        not isinstance(each, dict) or "name" in each for each in members
    )
    if type(replicas) is not int or type(threads) is not int or not named:
        return group
    most = replicas * threads
    if most > MAX_MEMBERS:
        return group
    taken = {each["name"] if isinstance(each, dict) else each.name for each in members}
    names = (f"{group.get('id')}-{number}" for number in range(most + len(members)))
    free = (name for name in names if name not in taken)
    spare = ({"name": next(free), "start": "by act"} for _ in range(most - len(members)))
    return {**group, "members": (*members, *spare)}
