"""One assigned partition as its consumer reads it: its position, and what that waits for.

Follows ``SubscriptionState.TopicPartitionState`` and ``FetchPosition`` (4.4.0)::

    INITIALIZING -> RESETTING, VALIDATING, READING
    RESETTING    -> READING
    VALIDATING   -> RESETTING, READING
    READING      -> RESETTING, VALIDATING

A position has the leader epoch of the last record before it, unless it was set without one (a
reset, a seek), and remembers who led when that was last looked at. When somebody else leads, or
the same broker anew, a position with an epoch is validated before anything more is read from it.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.leader_epochs import epoch_at
from protocols.messages import NO_LEADER, UNKNOWN_EPOCH, EpochStart, LeaderAndEpoch

UNSET = -1
"""A position that is not known yet."""

NOBODY = LeaderAndEpoch()
"""Who leads a partition of which nothing is known."""


class Phase(enum.Enum):
    """What a partition's position waits for."""

    INITIALIZING = "its committed offset"
    RESETTING = "an answer to its reset"
    VALIDATING = "its leader to confirm it"
    READING = "nothing"


class FetchPosition(NamedTuple):
    """Where to read next, and on whose history that lies."""

    offset: int
    epoch: int
    """Leader epoch of the last record before it; -1: not known."""

    current: LeaderAndEpoch
    """Who leads, as of when the position was set or compared with metadata."""


class Reading:
    """One assigned partition; changed in place."""

    __slots__ = (
        "current",
        "epochs",
        "leader",
        "partition",
        "phase",
        "position",
        "retry_us",
        "why",
    )

    def __init__(self, partition: TopicPartition, leader: int) -> None:
        self.partition = partition
        self.phase = Phase.INITIALIZING
        self.position = UNSET
        self.epochs: tuple[EpochStart, ...] = ()
        """Where leader epochs begin, as far as the last records read told."""

        self.current = NOBODY
        self.leader = leader
        """Whom to fetch from; nobody while that is in doubt."""

        self.retry_us = 0
        """When its reset or its validation may be asked for (again)."""

        self.why = ""

    @property
    def epoch(self) -> int:
        """Leader epoch of the last record before the position; -1: not known."""
        return epoch_at(self.epochs, self.position - 1)

    def seek(self, offset: int, epoch: int, current: LeaderAndEpoch) -> None:
        """Set the position: it is valid."""
        self.position = offset
        self.epochs = () if epoch == UNKNOWN_EPOCH else (EpochStart(epoch, -1),)
        self.current = current
        self.phase = Phase.READING
        self.retry_us = 0

    def await_validation(self) -> None:
        """Let the leader confirm the position, if both its epoch and the leader's are known."""
        known = UNKNOWN_EPOCH not in {self.epoch, self.current.epoch}
        self.phase = Phase.VALIDATING if known else Phase.READING
        self.retry_us = 0

    def reset(self, why: str) -> None:
        """Give the position up."""
        self.position = UNSET
        self.phase = Phase.RESETTING
        self.retry_us = 0
        self.why = why

    def follow(self, known: LeaderAndEpoch) -> None:
        """Take note of who leads; a position on another leader's history awaits validation."""
        if known.leader == NO_LEADER or self.position == UNSET or known == self.current:
            return
        self.current = known
        self.await_validation()

    @property
    def fetch_position(self) -> FetchPosition:
        """The position as one value, to see later whether it has changed."""
        return FetchPosition(self.position, self.epoch, self.current)
