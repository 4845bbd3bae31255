"""An experiment as plain values: what a capture starts, when, and what it does to it.

Times are microseconds since the members are started. Kafka's settings are texts, as the programs
get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Action = Literal[
    "start",
    "sigterm",
    "sigkill",
    "sigstop",
    "sigcont",
    "hang",
    "kill",
    "restart",
    "stop",
    "cont",
    "shutdown",
    "addparts",
    "maketopic",
    "deltopic",
]
"""The words of ``meta.json``; ``kill`` to ``shutdown`` act on a broker."""

ON_BROKERS = ("kill", "restart", "stop", "cont", "shutdown")
COORDINATOR = "coord"
"""The target of an action on the broker that coordinates the group at that moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """One action."""

    action: Action
    target: str
    """A member, a topic, the number of a broker, or :data:`COORDINATOR`."""

    value: int = 0
    """``hang``: milliseconds; ``addparts``: the new number of partitions."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """``start``: Kafka's settings that replace those of the member's last run."""

    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a time."""

    us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForExit:
    """Wait until a member's process has ended; kill it if that takes longer than ``grace_us``."""

    member: str
    grace_us: int | None = None


Step = Do | Wait | WaitForExit


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One fault or act: steps one after the other, from a time or another track's moment on."""

    id: str
    between_us: tuple[int, int] = (0, 0)
    """It begins at random in this window."""

    after: tuple[str, str] | None = None
    """Another track's id and the moment (``begins`` or ``ends``) from which it counts."""

    delay_us: int = 0
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic and the records produced to it."""

    name: str
    partitions: int
    rate: float
    """Records per second and partition."""

    preload: int = 0
    record_bytes: int = 100
    replicas: int | None = None
    from_us: int = 0
    until_us: int | None = None
    late: bool = False
    """An action creates it."""

    acks: str = "all"
    retention_us: int | None = None
    """Records older than this are deleted; None: they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPlan:
    """A member and its settings."""

    id: str
    start_us: int | None
    """None: an action starts it."""

    lib: str | None = None
    """The client library, by the word of the captures; None: Java's."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    application: Mapping[str, str] = field(default_factory=dict)
    """The settings of the traced application."""

    kafka: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An experiment."""

    name: str
    brokers: int
    racks: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of all brokers."""

    topics: tuple[TopicPlan, ...]
    members: tuple[MemberPlan, ...]
    tracks: tuple[Track, ...] = ()
    length_us: int
    """Production ends then; the run lasts until all records are read."""

    text: str = ""
    """The file of the experiment."""

    def as_json(self) -> dict[str, Any]:
        """Return the ``scenario.json`` of the captures."""
        return {
            "name": self.name,
            "topics": [_topic_json(topic) for topic in self.topics],
            "members": [_member_json(member) for member in self.members],
            "actions": [
                {"track": track.id, "do": step.action, "target": step.target}
                for track in self.tracks
                for step in track.steps
                if isinstance(step, Do)
            ],
            "length_s": self.length_us / 1e6,
            "experiment": self.text,
        }


def _topic_json(topic: TopicPlan) -> dict[str, Any]:
    shown = {"name": topic.name, "partitions": topic.partitions, "rate": topic.rate}
    return {**shown, "preload": topic.preload, "late": topic.late}


def _member_json(member: MemberPlan) -> dict[str, Any]:
    return {
        "id": member.id,
        "late": member.start_us is None,
        **dict(member.application),
        "props": dict(member.kafka),
    }
