"""Which settings are in force: a member's over its group's over Kafka's defaults."""

from __future__ import annotations

from typing import Any

from emulator.scenario.model import Cluster, CommitPolicy, Distribution, Group, Member
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
    """Return who commits for a member, and when.

    Where nothing is said of it and ``enable.auto.commit`` is off, nobody does.
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
