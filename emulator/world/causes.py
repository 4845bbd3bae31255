"""What led to what: the event behind each kind of thing, as long as it can still matter."""

from __future__ import annotations


class Causes:
    """The latest event that explains what may come next, by whom it concerns."""

    def __init__(self) -> None:
        self.disturbed: dict[str, int] = {}
        """Consumer: the last fault or act on it, or its end."""

        self.dropped: dict[str, int] = {}
        """Consumer: when it last let go of the group, or was told to."""

        self.started: dict[str, int] = {}
        """Consumer: its last start."""

        self.membership: dict[str, int] = {}
        """Group: the last member that came or went."""

        self.rebalance: dict[str, int] = {}
        """Group: the rebalance under way, or the last one."""

        self.joined: dict[str, int] = {}
        """Group: the end of the last join phase."""

        self.stable: dict[str, int] = {}
        """Group: when it last got an assignment."""

        self.called: dict[str, int] = {}
        """Consumer: its last listener call."""

        self.removed: dict[str, int] = {}
        """Consumer: when it was last taken out of the group."""

        self.commits: dict[str, int] = {}
        """Commit under way: the last event about it."""

        self.refused: dict[str, int] = {}
        """Consumer: the last refusal of a commit of its."""

        self.topics: int | None = None
        """The last change of topics."""

        self.brokers: int | None = None
        """The last fault on a broker."""

    def behind_departure(self, consumer: str, why: str) -> int | None:
        """Return what made a member leave: its own doing, or what silenced it."""
        candidates = [self.disturbed.get(consumer), self.dropped.get(consumer)]
        known = [event for event in candidates if event is not None]
        if why == "did not sync in time" or not known:
            return max(known, default=self.brokers)
        return max(known)

    def behind_arrival(self, consumer: str) -> int | None:
        """Return what made a member come: its start, or its return after it had dropped out."""
        candidates = [self.started.get(consumer), self.dropped.get(consumer)]
        return max((event for event in candidates if event is not None), default=None)

    def behind_rebalance(self, group: str, reason: str) -> int | None:
        """Return what made a group rebalance: a member, or a change of topics."""
        if "re-joining" in reason and "metadata has changed" in reason:
            return self.topics
        return self.membership.get(group)

    def behind_refusal(self, consumer: str, group: str) -> int | None:
        """Return why a commit was refused: its sender was removed, or a rebalance is on."""
        candidates = [self.removed.get(consumer), self.rebalance.get(group)]
        return max((event for event in candidates if event is not None), default=None)
