"""Writes events: numbers them, links them to their causes, passes them to the sinks.

The digest is taken over every event but those that only a detailed trace has; the same
scenario and seed give the same digest on any machine, under any hash seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.events import Event, Polled, What, values_of
from emulator.world.kernel import Kernel

Sink = Callable[[Event], None]


class Recorder:
    """The one way by which anything in a run becomes an event."""

    def __init__(
        self, kernel: Kernel, sinks: tuple[Sink, ...], *, polls: bool, by_record: bool = False
    ) -> None:
        self._kernel = kernel
        self._sinks = sinks
        self._hash = hashlib.blake2b(digest_size=16)
        self._next = 0
        self.polls = polls
        """Whether each poll is written too."""

        self.by_record = by_record
        """Whether the work on each record is written by itself."""

    def write(self, what: What, cause: int | None = None) -> int:
        """Write what happens now; return the event's id."""
        number = self._next
        event = Event(number, self._kernel.now, cause, what)
        if type(what) is not Polled:
            self._next = number + 1
            values = tuple(values_of(what).values())
            text = f"{event.at_us}|{cause}|{type(what).__name__}|{values!r}\n"
            self._hash.update(text.encode())
        for sink in self._sinks:
            sink(event)
        return number

    @property
    def digest(self) -> str:
        """The digest of everything written so far, 32 hex digits."""
        return self._hash.hexdigest()


@dataclass(slots=True, eq=False)
class Causes:
    """The latest event of each kind that may be the cause of a later one."""

    disturbed: dict[str, int] = field(default_factory=dict)
    """Consumer: the last fault or act on it, or its end."""

    dropped: dict[str, int] = field(default_factory=dict)
    """Consumer: its last :class:`~emulator.events.ClientDropped`."""

    started: dict[str, int] = field(default_factory=dict)
    """Consumer: its last start."""

    membership: dict[str, int] = field(default_factory=dict)
    """Group: the last member that came or went."""

    rebalance: dict[str, int] = field(default_factory=dict)
    """Group: the rebalance in progress, or the last one."""

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
    """Commit in flight: the last event about it."""

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
        """Return the event that removed committed offsets: a topic deletion, or an administrator's act."""
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
