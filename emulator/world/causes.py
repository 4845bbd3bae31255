"""What led to what: the event behind each kind of thing, as long as it can still matter."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Causes:
    """The latest event that explains what may come next, by whom it concerns."""

    disturbed: dict[str, int] = field(default_factory=dict)
    """Consumer: the last fault or act on it, or its end."""

    dropped: dict[str, int] = field(default_factory=dict)
    """Consumer: when it last let go of the group, or was told to."""

    started: dict[str, int] = field(default_factory=dict)
    """Consumer: its last start."""

    membership: dict[str, int] = field(default_factory=dict)
    """Group: the last member that came or went."""

    rebalance: dict[str, int] = field(default_factory=dict)
    """Group: the rebalance under way, or the last one."""

    joined: dict[str, int] = field(default_factory=dict)
    """Group: the end of the last join phase."""

    stable: dict[str, int] = field(default_factory=dict)
    """Group: when it last got an assignment."""

    moved: dict[str, int] = field(default_factory=dict)
    """Consumer: its last step towards what its group's target gives it (consumer protocol)."""

    called: dict[str, int] = field(default_factory=dict)
    """Consumer: its last listener call."""

    removed: dict[str, int] = field(default_factory=dict)
    """Consumer: when it was last taken out of the group."""

    commits: dict[str, int] = field(default_factory=dict)
    """Commit under way: the last event about it."""

    refused: dict[str, int] = field(default_factory=dict)
    """Consumer: the last refusal of a commit of its."""

    administered: dict[str, int] = field(default_factory=dict)
    """Group: the last act of an administrator on its offsets."""

    topics: int | None = None
    """The last change of topics."""

    brokers: int | None = None
    """The last fault on a broker."""

    def behind_departure(self, consumer: str) -> int | None:
        """Return what made a member leave: its own doing, or what silenced it; else a broker."""
        own = _latest(self.disturbed.get(consumer), self.dropped.get(consumer))
        return self.brokers if own is None else own

    def behind_arrival(self, consumer: str) -> int | None:
        """Return what made a member come: its start, or its return after it had dropped out."""
        return _latest(self.started.get(consumer), self.dropped.get(consumer))

    def behind_drop(self, group: str, why: str) -> int | None:
        """Return who took committed offsets away: a topic's end, or an administrator."""
        if why == "deleted":
            return self.administered.get(group)
        return self.topics if "topic" in why else None

    def behind_rebalance(self, group: str, reason: str) -> int | None:
        """Return what made a group rebalance: a member, or a change of topics."""
        if "re-joining" in reason and "metadata has changed" in reason:
            return self.topics
        return self.membership.get(group)

    def behind_refusal(self, consumer: str, group: str) -> int | None:
        """Return why a commit was refused: its sender was removed, or a rebalance is on."""
        return _latest(self.removed.get(consumer), self.rebalance.get(group))


def _latest(*events: int | None) -> int | None:
    """Return the last of the events that there are."""
    return max((event for event in events if event is not None), default=None)
