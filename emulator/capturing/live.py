"""The state of a run while it lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.capturing.admin import Admin
from emulator.capturing.cluster import Cluster
from emulator.capturing.members import Members, prefix_of
from emulator.capturing.noise import Probe
from emulator.capturing.plan import Plan, TopicPlan
from emulator.capturing.production import Producer, Stream
from emulator.capturing.steps import Player

OnProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A captured run."""

    path: Path
    error: str | None = None
    """Why it cannot be used; None if it is complete."""

    noisy: bool = False
    """Whether the machine disturbed it."""


@dataclass(slots=True, kw_only=True)
class LiveRun:
    """The state of a run while it lasts."""

    plan: Plan
    number: int
    seed: int
    cluster: Cluster
    admin: Admin
    group: str
    members: Members
    producer: Producer
    player: Player
    meta: dict[str, Any]
    """``meta.json``, as far as it is known."""

    probe: Probe = field(default_factory=Probe)
    error: str | None = None
    """Why the run is no use."""

    partitions: dict[str, int] = field(default_factory=dict)
    """The number of partitions of each topic that exists."""

    streams: dict[str, Stream] = field(default_factory=dict)
    """By the name that ``meta.json`` has: the topic, with ``+`` for added partitions."""

    created_us: dict[str, int] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """The prefix of the real names of topics."""
        return prefix_of(self.group)

    def topic(self, name: str) -> TopicPlan:
        """Return the plan of a topic."""
        return next(topic for topic in self.plan.topics if topic.name == name)
