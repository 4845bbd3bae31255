"""What Kafka refuses of the settings of its two group protocols, with Kafka's reasons."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.kafka_settings import (
    ONLY_CLASSIC,
    ONLY_CONSUMER,
    PROTOCOL,
    REMOTE_ASSIGNOR,
)
from emulator.scenario.model import Cluster, Group, Scenario
from emulator.scenario.problems import Problem, hint, listed
from emulator.scenario.resolution import broker_settings, consumer_settings
from protocols.settings import BrokerSettings

INSTEAD = {
    "session.timeout.ms": "group.consumer.session.timeout.ms in [cluster] settings",
    "heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms in [cluster] settings",
    "partition.assignment.strategy": f'"{REMOTE_ASSIGNOR}" here',
}
"""Where the consumer protocol has what it refuses of a consumer."""

REFUSED = {"consumer": ONLY_CLASSIC, "classic": ONLY_CONSUMER}
"""What Kafka refuses of a consumer, by the protocol it speaks."""

BOUNDED = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
"""Settings of brokers for groups of the consumer protocol that have a least and a most."""


def protocol_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield settings that do not go with the protocol of those who have them."""
    brokers = broker_settings(scenario.cluster)
    for group in scenario.group:
        yield from _refused(f"group[{group.id}].settings", group.settings, _protocols(group))
        yield from assignor_problems_of(f"group[{group.id}].settings", group.settings, brokers)
        for member in group.members:
            path = f"group[{group.id}].member[{member.name}].settings"
            protocol = consumer_settings(group, member).group_protocol
            yield from _refused(path, member.settings, {protocol})
            yield from assignor_problems_of(path, member.settings, brokers)
    yield from _bounds(scenario.cluster, brokers)


def _protocols(group: Group) -> set[str]:
    return {consumer_settings(group, member).group_protocol for member in group.members}


def _refused(path: str, given: dict[str, object], protocols: set[str]) -> Iterator[Problem]:
    both = len(protocols) > 1
    for name, value in given.items():
        for protocol in sorted(protocols):
            if name in REFUSED[protocol]:
                rest = "; the group speaks both: give it to members one by one" if both else ""
                yield Problem(f"{path}[{name}]", why_refused(name, protocol) + rest, value)


def why_refused(name: str, protocol: str) -> str:
    """Say why Kafka refuses a setting of a consumer that speaks a protocol."""
    if protocol == "classic":
        return f"Kafka refuses it with {PROTOCOL}=classic, where members run the assignor"
    return (
        f"Kafka refuses it with {PROTOCOL}=consumer, where the coordinator decides; leave it out, "
        f"and set {INSTEAD[name]}"
    )


def assignor_problems_of(
    path: str, given: dict[str, object], brokers: BrokerSettings
) -> Iterator[Problem]:
    """Yield a problem if the assignor that is asked for is none of the brokers'."""
    wanted, offered = given.get(REMOTE_ASSIGNOR), brokers.group_consumer_assignors
    if isinstance(wanted, str) and wanted not in offered:
        reason = (
            f"UNSUPPORTED_ASSIGNOR: the brokers have {listed(offered)} "
            f"(group.consumer.assignors){hint(wanted, offered)}"
        )
        yield Problem(f"{path}[{REMOTE_ASSIGNOR}]", reason, wanted)


def _bounds(cluster: Cluster, brokers: BrokerSettings) -> Iterator[Problem]:
    """Yield times outside their bounds, with which a broker does not start."""
    for name in BOUNDED:
        full = f"group.consumer.{name}"
        field = name.replace(".", "_")
        least = getattr(brokers, f"group_consumer_min_{field}")
        most = getattr(brokers, f"group_consumer_max_{field}")
        value = getattr(brokers, f"group_consumer_{field}")
        if not least <= value <= most:
            reason = (
                f"brokers start only with {least} to {most} (milliseconds), which is what "
                f"group.consumer.min.{name} and group.consumer.max.{name} say; change one of them"
            )
            yield Problem(f"cluster.settings[{full}]", reason, value)
    session = brokers.group_consumer_session_timeout_ms
    heartbeat = brokers.group_consumer_heartbeat_interval_ms
    if heartbeat >= session and cluster.settings:
        reason = f"not below group.consumer.session.timeout.ms, which is {session} (milliseconds)"
        name = "group.consumer.heartbeat.interval.ms"
        yield Problem(f"cluster.settings[{name}]", reason, heartbeat)
