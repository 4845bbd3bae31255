"""Check members that assign partitions to themselves, and groups without a group id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.scenario.checks.cluster import unknown
from emulator.scenario.deploys import started_by
from emulator.scenario.model import Group, Member, RollingRestart, Scenario, Start, Subscribe
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import (
    AUTO_COMMIT,
    INSTANCE_ID,
    client_of,
    commit_policy,
    consumer_settings,
)
from protocols.consumer.clients import profile_of

INSTANCE_REASON = (
    "a consumer with assign() joins no group, and its commits leave the instance id out "
    "(ConsumerCoordinator.sendOffsetCommitRequest); leave it out"
)


def assign_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what ``assign()`` and consumers without a group id cannot do, with the reason."""
    for group in scenario.group:
        for member in group.members:
            path = f"group[{group.id}].member[{member.name}]"
            yield from _lookup_problems(path, group, member)
            if member.assign is not None:
                yield from _partition_problems(path, member.assign, scenario)
                yield from _member_problems(path, group, member)
            elif group.offsets == "none":
                reason = (
                    "subscribe() needs a group.id (InvalidGroupIdException), and members of a group "
                    'with offsets = "none" have none; give it "assign"'
                )
                yield Problem(path, reason)
            if group.offsets == "none":
                yield from _commit_problems(group, member)
        if all(member.assign is not None for member in group.members):
            yield from _group_problems(group)
        yield from _act_problems(group, scenario)


def _partition_problems(
    path: str, assign: Mapping[str, object], scenario: Scenario
) -> Iterator[Problem]:
    if not assign:
        yield Problem(f"{path}.assign", 'empty; name a topic, as in { orders = "all" }')
    counts = {topic.name: topic.partitions for topic in scenario.topic}
    for name, numbers in assign.items():
        yield from unknown(f"{path}.assign", name, list(counts), "topic")
        if name not in counts or not isinstance(numbers, tuple):
            continue
        for number in numbers:
            if number >= counts[name]:
                reason = f"{name} has {counts[name]} partitions, 0 to {counts[name] - 1}"
                yield Problem(f"{path}.assign.{name}", reason, number)


def _member_problems(path: str, group: Group, member: Member) -> Iterator[Problem]:
    if member.topics is not None or member.pattern is not None:
        key = "topics" if member.topics is not None else "pattern"
        reason = (
            "subscribe() and assign() are mutually exclusive (IllegalStateException); leave out one"
        )
        yield Problem(f"{path}.{key}", reason, getattr(member, key))
    instance_id = (group.settings | member.settings).get(INSTANCE_ID)
    if instance_id is not None:
        yield Problem(f"{path}.settings[{INSTANCE_ID}]", INSTANCE_REASON, instance_id)
    profile = profile_of(client_of(group, member))
    has_id = group.offsets != "none"
    reason = profile.lacks_assign_with_group if has_id else profile.lacks_assign_without_group
    if reason:
        yield Problem(f"{path}.assign", f"{profile.name} refuses it: {reason}")
    by_consumer = consumer_settings(group, member).group_protocol == "consumer"
    if by_consumer and profile.in_background:
        reason = (
            f"assign() of {profile.name} is played for the classic consumer only: set "
            '"group.protocol" = "classic" in the settings of this member; its commits are the same'
        )
        yield Problem(f"{path}.assign", reason)
    if group.offsets in ("zookeeper", "database"):
        reason = 'assign() is played with offsets in Kafka, or with offsets = "none"'
        yield Problem(f"{path}.assign", reason, group.offsets)
    if not group.is_serial:
        reason = "assign() is played with a serial handler; put the member into a group of its own"
        yield Problem(f"{path}.assign", reason)


def _lookup_problems(path: str, group: Group, member: Member) -> Iterator[Problem]:
    if member.coordinator_lookup == "again":
        return
    reason = ""
    if client_of(group, member) != "librdkafka":
        reason = (
            'this client looks the coordinator up again; only older versions of "librdkafka" do not'
        )
    elif member.assign is None:
        reason = "a member looks it up again when its heartbeats are refused; needs assign"
    if reason:
        yield Problem(f"{path}.coordinator_lookup", reason, member.coordinator_lookup)


def _commit_problems(group: Group, member: Member) -> Iterator[Problem]:
    path = f"group[{group.id}]"
    call = commit_policy(group, member).call
    if call not in ("auto", "none") or member.commit not in (None, group.commit):
        reason = "without a group.id a commit throws InvalidGroupIdException; leave it out"
        yield Problem(f"{path}.commit", reason, call)
    given = {**group.settings, **member.settings}
    if given.get(AUTO_COMMIT) is True:
        reason = "Kafka refuses it without a group.id (InvalidConfigurationException); leave it out"
        yield Problem(f"{path}.settings[{AUTO_COMMIT}]", reason, given=True)


def _group_problems(group: Group) -> Iterator[Problem]:
    """Yield what a group without a member that subscribes cannot have."""
    path = f"group[{group.id}]"
    if group.topics or group.pattern is not None:
        reason = 'no member subscribes to it, all have "assign"; leave it out'
        key = "topics" if group.topics else "pattern"
        yield Problem(f"{path}.{key}", reason, getattr(group, key))
    if group.static:
        reason = "members with assign() make no use of a group.instance.id; leave it out"
        yield Problem(f"{path}.static", reason, given=True)
    if group.autoscaler is not None:
        reason = "members that assign partitions to themselves share no work: give them to a group"
        yield Problem(f"{path}.autoscaler", reason)
    if group.monitor and group.offsets == "none":
        yield Problem(f"{path}.monitor", "there are no commits that it could see; leave it out")


def _act_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    by_hand = {member.name for member in group.members if member.assign is not None}
    for act in scenario.fault:
        if isinstance(act, RollingRestart | Start) and INSTANCE_ID in (act.settings or {}):
            started = {member.name for other, member in started_by(act, scenario) if other is group}
            if started & by_hand:
                path = f"fault[{act.id}].settings[{INSTANCE_ID}]"
                yield Problem(path, INSTANCE_REASON, (act.settings or {})[INSTANCE_ID])
        if not isinstance(act, Subscribe) or act.group != group.id or not by_hand:
            continue
        named = by_hand if isinstance(act.order, str) else by_hand.intersection(act.order)
        if named:
            reason = (
                'has "assign", and subscribe() on the same consumer throws IllegalStateException; list '
                'the other members in "order"'
            )
            yield Problem(f"fault[{act.id}].order", reason, min(named))
