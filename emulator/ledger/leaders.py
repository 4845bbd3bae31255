"""Who leads each offsets partition, who only believes so, and how long a load took.

Known from the events of the brokers; a history without them (a real Kafka's) tells of commits
alone, and then nobody is found stale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from emulator.events import (
    Appended,
    BrokerDown,
    BrokerUp,
    CommitAccepted,
    CoordinatorLoaded,
    CoordinatorUnloaded,
    Event,
    LeaderChanged,
)
from emulator.ledger.entries import Link

OFFSETS_TOPIC = "__consumer_offsets"
NOBODY = -1


@dataclass(slots=True, eq=False)
class Coordinators:
    """The leader of one offsets partition, and those it has replaced."""

    leader: int = NOBODY
    """The broker that leads, as the controller has it; ``NOBODY``: nobody, or not known."""

    epoch: int = 0
    unclean: Link | None = None
    """The newest election of a replica that was not in sync."""

    loaded: Link | None = None
    """The newest load that was finished."""

    load_us: int = 0
    """How long that took, waiting included."""

    stale: dict[int, Link] = field(default_factory=dict)
    """Brokers that go on coordinating, each with the election of its successor."""

    def replaced(self, what: CommitAccepted) -> Link | None:
        """Return the election after which a commit was taken by the leader before."""
        return self.stale.get(what.broker) if what.leader_epoch < self.epoch else None

    @property
    def split(self) -> Link | None:
        """The newest election whose loser goes on coordinating; None: there is one at most."""
        return max(self.stale.values(), default=None)


NO_COORDINATOR = Coordinators()
"""Of a group whose coordinator the events do not tell."""


class Leaders:
    """The coordinators of all groups."""

    __slots__ = ("_down", "_handlers", "_number_of", "_partitions")

    def __init__(self) -> None:
        self._partitions: dict[int, Coordinators] = {}
        self._number_of: dict[str, int] = {}
        """Group: its offsets partition."""

        self._down: set[int] = set()
        self._handlers: dict[type, Callable[[Event, Any], None]] = {
            Appended: self._appended,
            LeaderChanged: self._changed,
            CoordinatorLoaded: self._loaded,
            CoordinatorUnloaded: self._unloaded,
            BrokerDown: self._broker_down,
            BrokerUp: self._broker_up,
        }

    def of(self, group: str) -> Coordinators:
        """Return who coordinates a group, or believes so."""
        return self._partitions.get(self._number_of.get(group, NOBODY), NO_COORDINATOR)

    def follow(self, event: Event) -> None:
        """Take in what an event tells of coordinators, if it does."""
        handler = self._handlers.get(type(event.what))
        if handler is not None:
            handler(event, event.what)

    def _at(self, number: int) -> Coordinators:
        return self._partitions.setdefault(number, Coordinators())

    def _appended(self, _: Event, what: Appended) -> None:
        """Learn which offsets partition a group has, and who leads it at first."""
        if what.group not in self._number_of:
            self._number_of[what.group] = what.log_partition
            known = self._at(what.log_partition)
            if known.leader == NOBODY and not known.epoch:
                known.leader = what.broker

    def _changed(self, event: Event, what: LeaderChanged) -> None:
        """Take in an election; whoever led goes on until it is heard to have stepped down."""
        if what.partition.topic != OFFSETS_TOPIC:
            return
        known = self._at(what.partition.partition)
        text = f"broker {what.broker} elected to lead {what.partition} in epoch {what.epoch}"
        link = Link(event.id, event.at_us, text if what.clean else f"{text}, not in sync")
        if what.broker != NOBODY:
            if known.leader not in (NOBODY, what.broker) and known.leader not in self._down:
                known.stale[known.leader] = link
            known.stale.pop(what.broker, None)
            known.leader = what.broker
        known.epoch = what.epoch
        known.unclean = known.unclean if what.clean else link

    def _loaded(self, event: Event, what: CoordinatorLoaded) -> None:
        """Take in that a broker has loaded a partition."""
        known = self._at(what.log_partition)
        known.load_us = what.waited_us + what.loaded_us
        seconds = f"{known.load_us / 1e6:.1f} s"
        text = f"broker {what.broker} loaded {OFFSETS_TOPIC}-{what.log_partition} in {seconds}"
        known.loaded = Link(event.id, event.at_us, text)

    def _unloaded(self, _: Event, what: CoordinatorUnloaded) -> None:
        """Take in that a broker has stepped down."""
        self._at(what.log_partition).stale.pop(what.broker, None)

    def _broker_down(self, _: Event, what: BrokerDown) -> None:
        """Take in that a broker does not run: it is no coordinator beside another."""
        self._down.add(what.broker)
        for known in self._partitions.values():
            known.stale.pop(what.broker, None)

    def _broker_up(self, _: Event, what: BrokerUp) -> None:
        self._down.discard(what.broker)
