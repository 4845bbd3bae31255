"""What reports say of groups that are no plain poll loops: framework, autoscaler, workers."""

from __future__ import annotations

from emulator.report.subject import OWN_HANDLER
from emulator.report.wording import counted
from emulator.scenario.model import Group, OwnHandler


def handler_facts(group: Group) -> dict[str, str]:
    """Return the descriptions of a group's framework, handler and autoscaler, by the name of the fact."""
    return {
        "framework": _describe_framework(group),
        "handler": _describe_handler(group),
        "autoscaler": _describe_autoscaler(group),
    }


PLACES = {"topic", "partition", "offset", "every", "share", "key"}  # of a rule of failing records


def _describe_framework(group: Group) -> str:
    """Return the framework of a group with what it sets, or its batch listener; empty without them."""
    if group.framework is None:
        return "" if group.handler is None or not group.is_serial else "batch listener"
    from emulator.scenario.clients.frameworks import FRAMEWORKS, summary  # noqa: PLC0415  few groups have one

    rules = tuple(rule.model_dump(include=PLACES, exclude_none=True) for rule in group.poison)
    own = {"id": group.id, "topics": group.topics, "members": group.members}
    own |= {"poison": rules} if "poison" in FRAMEWORKS[group.framework] else {}
    bare = Group.model_validate({**own, "framework": group.framework})
    replaced = {key for key in Group.model_fields if getattr(group, key) != getattr(bare, key)}
    return summary(group.framework, replaced if rules else replaced | {"poison"})


def _describe_autoscaler(group: Group) -> str:
    """Return the autoscaler of a group in words; empty without one."""
    scaler = group.autoscaler
    if scaler is None:
        return ""
    from emulator.scenario.estimates.lifetimes import first_members  # noqa: PLC0415  few groups need it

    first = len(first_members(group))
    static = "static " if group.static else ""
    of_each = "" if group.threads == 1 else f", {group.threads} in each process,"
    return (
        f"{first} {static}members{of_each} and an autoscaler ({scaler.kind}, {scaler.min_replicas} to "
        f"{scaler.max_replicas} replicas, one for a lag of {scaler.lag_threshold:,})"
    )


def _describe_handler(group: Group) -> str:
    if isinstance(group.handler, OwnHandler):
        return f"{OWN_HANDLER} {group.handler.code}"
    pool = group.pool
    if pool is None:
        return ""
    order = {"partition": "by partition", "key": "by key", "none": "in any order"}[pool.order]
    drain = {"none": "", "running": ", drained", "all": ", drained with their queue"}[pool.drain]
    more = " and continued after a revocation" if pool.revoked == "continue" else ""
    return f"{counted(pool.workers, 'worker')} {order}{drain}{more}"
