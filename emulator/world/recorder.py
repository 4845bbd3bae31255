"""Write events: number them, link them to their causes, pass them to the sinks.

The digest covers every event except those of a detailed trace only; the same scenario and seed give
the same digest on any machine, with any hash seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from emulator.events import Event, Polled, What, values_of
from emulator.world.kernel import Kernel

Sink = Callable[[Event], None]


class Recorder:
    """Writes every event of a run."""

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
        """Whether the processing of each record is written separately."""

    def write(self, what: What, cause: int | None = None) -> int:
        """Write an event at the present time; return its id."""
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
        """The digest of all events so far, 32 hex digits."""
        return self._hash.hexdigest()


@dataclass(slots=True, eq=False)
class Causes:
    """The latest event of each kind that may be the cause of a later event."""

    disturbed: dict[str, int] = field(default_factory=dict)
    """Consumer: the last fault or act on it, or its end."""

    dropped: dict[str, int] = field(default_factory=dict)
    """Consumer: its last :class:`~emulator.events.ClientDropped`."""

    started: dict[str, int] = field(default_factory=dict)
    """Consumer: its last start."""

    membership: dict[str, int] = field(default_factory=dict)
    """Group: the last member that joined or left."""

    rebalance: dict[str, int] = field(default_factory=dict)
    """Group: the rebalance in progress, or the last one."""

    joined: dict[str, int] = field(default_factory=dict)
    """Group: the end of the last join phase."""

    stable: dict[str, int] = field(default_factory=dict)
    """Group: when it was last stable."""

    moved: dict[str, int] = field(default_factory=dict)
    """Consumer: its last reconciliation step towards the target assignment (consumer protocol)."""

    called: dict[str, int] = field(default_factory=dict)
    """Consumer: its last listener call."""

    removed: dict[str, int] = field(default_factory=dict)
    """Consumer: when it was last removed from the group."""

    commits: dict[str, int] = field(default_factory=dict)
    """Commit in flight: the last event about it."""

    refused: dict[str, int] = field(default_factory=dict)
    """Consumer: the last refusal of one of its commits."""

    administered: dict[str, int] = field(default_factory=dict)
    """Group: the last act of an administrator on its offsets."""

    topics: int | None = None
    """The last change of topics."""

    brokers: int | None = None
    """The last fault on a broker."""

    def behind_departure(self, consumer: str) -> int | None:
        """Return why a member left: its own action or last disturbance; else a broker fault."""
        own = _latest(self.disturbed.get(consumer), self.dropped.get(consumer))
        return self.brokers if own is None else own

    def behind_arrival(self, consumer: str) -> int | None:
        """Return why a member joined: its start, or its return after it dropped out."""
        return _latest(self.started.get(consumer), self.dropped.get(consumer))

    def behind_drop(self, group: str, why: str) -> int | None:
        """Return the event that removed committed offsets: a topic deletion or an admin's act."""
        if why == "deleted":
            return self.administered.get(group)
        return self.topics if "topic" in why else None

    def behind_rebalance(self, group: str, reason: str) -> int | None:
        """Return why a group rebalances: a member, or a change of topics."""
        if "re-joining" in reason and "metadata has changed" in reason:
            return self.topics
        return self.membership.get(group)

    def behind_refusal(self, consumer: str, group: str) -> int | None:
        """Return why a commit was refused: its sender's removal, or the rebalance."""
        return _latest(self.removed.get(consumer), self.rebalance.get(group))


def _latest(*events: int | None) -> int | None:
    """Return the last of the given events; None if there is none."""
    return max((event for event in events if event is not None), default=None)
