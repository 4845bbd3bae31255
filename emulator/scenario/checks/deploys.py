"""Check the keys of rolling restarts: names, stand-ins, readiness, canaries."""

from __future__ import annotations

from collections.abc import Container, Iterator

from emulator.scenario.checks.cluster import taken_names
from emulator.scenario.deploys import is_deployment
from emulator.scenario.model import Group, RollingRestart
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import consumer_settings
from emulator.scenario.units import format_duration

CANARY_KEYS = ("canary_for", "canary_lag", "canary_errors", "roll_back")


def deploy_key_problems(
    path: str, act: RollingRestart, group: Group, taken: Container[str]
) -> Iterator[Problem]:
    """Yield keys of a rolling restart that have no meaning together; *taken*: names of members."""
    yield from _number_problems(path, act, group)
    yield from _name_problems(path, act, group, taken)
    yield from _stand_in_problems(path, act, group)
    yield from _readiness_problems(path, act)
    yield from _canary_problems(path, act, group)


def thread_problems(group: Group) -> Iterator[Problem]:
    """Yield what a group with several members in each process cannot have."""
    path = f"group[{group.id}].threads"
    if group.autoscaler is None and len(group.members) % group.threads:
        reason = f"{len(group.members)} members do not fill processes of {group.threads}"
        yield Problem(path, reason, group.threads)


def _number_problems(path: str, act: RollingRestart, group: Group) -> Iterator[Problem]:
    no_surge = not act.surge and not (act.surge is None and is_deployment(act))
    if act.max_unavailable == 0 and no_surge:
        reason = 'Kubernetes refuses it: "may not be 0 when `maxSurge` is 0"; set "surge"'
        yield Problem(f"{path}.max_unavailable", reason, given=0)
    if isinstance(act.max_unavailable, str) and int(act.max_unavailable[:-1]) > 100:
        reason = "Kubernetes refuses it: must not be greater than 100%"
        yield Problem(f"{path}.max_unavailable", reason, act.max_unavailable)
    most = max(1, len(group.members) // group.threads)
    if isinstance(act.max_unavailable, int) and act.max_unavailable > most:
        reason = f"more than the {most} {_replaced(group)} of {group.id}"
        yield Problem(f"{path}.max_unavailable", reason + _meant(act), act.max_unavailable)


def _replaced(group: Group) -> str:
    """Return what a rolling restart of a group counts, in a message."""
    return "members" if group.threads == 1 else "processes"


def _meant(act: RollingRestart) -> str:
    """Return the percentage that a number too large is probably meant for, as the end of a message."""
    given = act.max_unavailable
    if isinstance(given, int) and given <= 100:
        return f'; did you mean "{given}%"?'
    return '; "100%" is all of them'


def _name_problems(
    path: str, act: RollingRestart, group: Group, taken: Container[str]
) -> Iterator[Problem]:
    key = "surge" if act.surge else "names"
    if act.surge or is_deployment(act):
        names = [member.name for member in group.members]
        yield from taken_names(f"{path}.{key}", names, taken, getattr(act, key))


def _stand_in_problems(path: str, act: RollingRestart, group: Group) -> Iterator[Problem]:
    if not act.stand_in:
        return
    ids = [consumer_settings(group, member).group_instance_id for member in group.members]
    if act.surge or is_deployment(act):
        key = "surge" if act.surge else "names"
        reason = f'a stand-in runs until the same member is back; leave out "{key}"'
        yield Problem(f"{path}.stand_in", reason, given=True)
    elif not all(ids):
        reason = "a stand-in runs with the group.instance.id of the member: set static = true"
        yield Problem(f"{path}.stand_in", reason, given=True)


def _readiness_problems(path: str, act: RollingRestart) -> Iterator[Problem]:
    if act.ready_after >= act.deadline:
        reason = f'not below "deadline", which is {format_duration(act.deadline)}'
        yield Problem(f"{path}.ready_after", reason, format_duration(act.ready_after))
    if "probe_every" in act.model_fields_set and act.readiness == "started" and not act.canary:
        reason = 'a running process needs one probe; set readiness = "assigned" or "canary", or leave it out'
        yield Problem(f"{path}.probe_every", reason, format_duration(act.probe_every))


def _canary_problems(path: str, act: RollingRestart, group: Group) -> Iterator[Problem]:
    number = len(group.members) if isinstance(act.order, str) else len(act.order)
    number = max(1, number // group.threads)
    if act.canary >= number:
        reason = f"not below the {number} {_replaced(group)} that are restarted: none would be left"
        yield Problem(f"{path}.canary", reason, act.canary)
    for key in CANARY_KEYS if not act.canary else ():
        given = getattr(act, key)
        if key in act.model_fields_set and given is not None and given is not False:
            yield Problem(f"{path}.{key}", 'needs "canary", the number of members to begin with')
