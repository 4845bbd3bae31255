"""Settings of groups of the consumer protocol.

Source: ``GroupCoordinatorConfig`` of Kafka 4.4.0.
"""

from __future__ import annotations

from typing import Final

from protocols.settings.kinds import Kind, Setting

UNIFORM_THEN_RANGE: Final = ("uniform", "range")
"""The coordinator's own assignors; the first is the default of a group."""

MIGRATION_POLICIES: Final = ("bidirectional", "upgrade", "downgrade", "disabled")


def _time(name: str, meaning: str, minimum: int = 1) -> Setting:
    return Setting(name, Kind.TIME_MS, meaning, minimum=minimum)


SESSION_TIMEOUT: Final = _time(
    "group.consumer.session.timeout.ms",
    "Silence after which a member of the consumer protocol is removed.",
)
MIN_SESSION_TIMEOUT: Final = _time(
    "group.consumer.min.session.timeout.ms", "Shortest session timeout a group may set for itself."
)
MAX_SESSION_TIMEOUT: Final = _time(
    "group.consumer.max.session.timeout.ms", "Longest session timeout a group may set for itself."
)
HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.heartbeat.interval.ms",
    "How often members of the consumer protocol are told to send heartbeats.",
)
MIN_HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.min.heartbeat.interval.ms",
    "Shortest heartbeat interval a group may set for itself.",
)
MAX_HEARTBEAT_INTERVAL: Final = _time(
    "group.consumer.max.heartbeat.interval.ms",
    "Longest heartbeat interval a group may set for itself.",
)
MAX_SIZE: Final = Setting(
    "group.consumer.max.size",
    Kind.COUNT,
    "Most members of a group of the consumer protocol.",
    minimum=1,
)
ASSIGNORS: Final = Setting(
    "group.consumer.assignors",
    Kind.NAMES,
    "The coordinator's assignors a member may ask for; the first is the default.",
)
MIGRATION_POLICY: Final = Setting(
    "group.consumer.migration.policy",
    Kind.CHOICE,
    "Which way groups with members may change between the protocols.",
    choices=MIGRATION_POLICIES,
)
ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.assignment.interval.ms",
    "Least time between two computations of a group's target; 0: at every heartbeat.",
    minimum=0,
)
MIN_ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.min.assignment.interval.ms",
    "Shortest assignment interval a group may set for itself.",
    minimum=0,
)
MAX_ASSIGNMENT_INTERVAL: Final = _time(
    "group.consumer.max.assignment.interval.ms",
    "Longest assignment interval a group may set for itself.",
    minimum=0,
)
REGEX_REFRESH_INTERVAL: Final = _time(
    "group.consumer.regex.refresh.interval.ms",
    "How often a group's patterns are matched against the topics anew.",
    minimum=10_000,
)
