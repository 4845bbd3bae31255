"""The settings in force: a member's before its group's before Kafka's defaults, also after deploys."""

from __future__ import annotations

from typing import Any

from emulator.scenario.model import (
    Cluster,
    CommitPolicy,
    Distribution,
    Group,
    Member,
    RollingRestart,
    Scenario,
    Start,
)
from protocols.settings import (
    BrokerSettings,
    ConsumerSettings,
    defaults_of,
    fields_by_name,
    settings_of,
)

AUTO_COMMIT = "enable.auto.commit"
INSTANCE_ID = "group.instance.id"
RECONNECT, RECONNECT_MAX = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
REPLICATION_FACTORS = ("default.replication.factor", "offsets.topic.replication.factor")


def consumer_settings(group: Group, member: Member) -> ConsumerSettings:
    """Return the settings a member runs with.

    A static group gives each member its name as ``group.instance.id``. A commit policy other
    than ``auto`` switches ``enable.auto.commit`` off, unless the scenario sets it. A reconnect
    back-off that is set alone does not grow (``postProcessReconnectBackoffConfigs``).
    """
    given = {**group.settings, **member.settings}
    if group.static and INSTANCE_ID not in member.settings:
        given[INSTANCE_ID] = member.name
    if commit_policy(group, member).call != "auto":
        given.setdefault(AUTO_COMMIT, False)
    if RECONNECT in given:
        given.setdefault(RECONNECT_MAX, given[RECONNECT])
    return ConsumerSettings(**_fields(ConsumerSettings, given))


def broker_settings(cluster: Cluster) -> BrokerSettings:
    """Return the settings all brokers run with.

    Kafka's default replication factors are lowered to the number of brokers, which a real
    cluster of fewer brokers must do by hand.
    """
    defaults = defaults_of(BrokerSettings)
    lowered = {name: min(defaults[name], cluster.brokers) for name in REPLICATION_FACTORS}
    return BrokerSettings(**_fields(BrokerSettings, {**lowered, **cluster.settings}))


def _fields(kind: Any, given: dict[str, object]) -> dict[str, Any]:
    fields = fields_by_name(kind)
    return {fields[name]: value for name, value in given.items()}


# -- what a member does not say, its group says ----------------------------------------------


def commit_policy(group: Group, member: Member) -> CommitPolicy:
    """Return the commit policy of a member.

    Without a policy and with ``enable.auto.commit`` off, it does not commit.
    """
    if member.commit is not None:
        return member.commit
    given = {**group.settings, **member.settings}
    if "commit" not in group.model_fields_set and given.get(AUTO_COMMIT) is False:
        return CommitPolicy(call="none")
    return group.commit


def work_of(group: Group, member: Member) -> Distribution:
    """Return how long a member's work on one record takes."""
    return group.work if member.work is None else member.work


def poll_timeout_us(group: Group, member: Member) -> int:
    """Return how long a member's poll waits for records."""
    return group.poll_timeout if member.poll_timeout is None else member.poll_timeout


def subscription_of(group: Group, member: Member) -> tuple[tuple[str, ...], str | None]:
    """Return the topics and the pattern a member subscribes to; one of them is empty."""
    if member.topics is None and member.pattern is None:
        return group.topics, group.pattern
    return member.topics or (), member.pattern


def settings_in_force(settings: ConsumerSettings | BrokerSettings) -> dict[str, Any]:
    """Return Kafka's name to value of all settings, those left at their default included."""
    kind: Any = type(settings)
    return {setting.name: getattr(settings, field) for field, setting in settings_of(kind).items()}


Deploy = RollingRestart | Start
"""The acts that start members, and may give them other settings."""


def deploys_of(scenario: Scenario) -> list[Deploy]:
    """Return the acts of a scenario that start members with other settings."""
    acts = (act for act in scenario.fault if isinstance(act, RollingRestart | Start))
    return [act for act in acts if changes_settings(act)]


def changes_settings(act: Deploy) -> bool:
    """Say whether members start with what the act says, not with what they last ran with."""
    return act.settings is not None or bool(act.unset)


def deployed(group: Group, member: Member, act: Deploy) -> tuple[Group, Member]:
    """Return a group and a member with the settings that an act leaves the member with.

    *group*, *member*: as the file has them; what an earlier act changed does not count.
    """
    of_group = {name: value for name, value in group.settings.items() if name not in act.unset}
    own = {name: value for name, value in member.settings.items() if name not in act.unset}
    own |= act.settings or {}
    return (
        group.model_copy(update={"settings": of_group}),
        member.model_copy(update={"settings": own}),
    )


def started_by(act: Deploy, scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return the members that an act starts, each with its group, as written in the file."""
    return [
        (group, member)
        for group in scenario.group
        for member in group.members
        if _starts(act, group, member)
    ]


def _starts(act: Deploy, group: Group, member: Member) -> bool:
    if isinstance(act, Start):
        return member.name == act.member
    if group.id != act.group:
        return False
    return isinstance(act.order, str) or member.name in act.order


def ever_running(scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return every member with its group, and again with what each deploy makes of it."""
    written = [(group, member) for group in scenario.group for member in group.members]
    return written + [
        deployed(group, member, act)
        for act in deploys_of(scenario)
        for group, member in started_by(act, scenario)
    ]
