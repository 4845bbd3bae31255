"""The assigned partitions of a consumer: positions, their phases, and their leaders.

Source: ``SubscriptionState``, ``TopicPartitionState``, ``FetchPosition``. Changed in place, like
the :class:`~protocols.consumer.fetching.Fetcher` that uses them. Phases of a position::

    INITIALIZING -> RESETTING, VALIDATING, READING
    RESETTING    -> READING
    VALIDATING   -> RESETTING, READING
    READING      -> RESETTING, VALIDATING

A position has the leader epoch of the last record before it, unless it was set without one (a
reset, a seek), and the leader when it was last compared with the metadata. After a change of the
leader or its epoch, a position with an epoch is validated before more records are read from it.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from assignors.types import TopicPartition
from protocols.consumer.saved import SavedPositions
from protocols.messages import NO_LEADER, UNKNOWN_EPOCH, EpochStart, LeaderAndEpoch
from protocols.messages.records import epoch_at

UNSET = -1
"""A position that is not known yet."""

UNKNOWN_LEADER = LeaderAndEpoch()
"""The leader of a partition without metadata."""


class Phase(enum.Enum):
    """The states of a position, by what it waits for (``FetchStates``)."""

    INITIALIZING = "its committed offset"
    RESETTING = "a response to its reset"
    VALIDATING = "its leader to confirm it"
    READING = "nothing"


READING: Final = Phase.READING
"""Named for speed: to look a member of an enum up takes five times as long as a name of a module."""


class FetchPosition(NamedTuple):
    """The next offset to read, with its leader epoch and leader."""

    offset: int
    epoch: int
    """Leader epoch of the last record before it; -1: not known."""

    current: LeaderAndEpoch
    """The leader when the position was set or compared with metadata."""


class Reading:
    """One assigned partition; changed in place."""

    __slots__ = (
        "current",
        "epochs",
        "last_ms",
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
        """The starts of leader epochs in the last records read."""

        self.current = UNKNOWN_LEADER
        self.leader = leader
        """The broker to fetch from; ``NO_LEADER`` while the leader is not confirmed."""

        self.retry_us = 0
        """When its reset or validation may be requested (again)."""

        self.why = ""
        self.last_ms: int | None = None
        """The timestamp of the last record read, to which a client may reset it; None: not known."""

    @property
    def epoch(self) -> int:
        """Leader epoch of the last record before the position; -1: not known."""
        return epoch_at(self.epochs, self.position - 1)

    def seek(self, offset: int, epoch: int, current: LeaderAndEpoch) -> None:
        """Set the position, which is then valid."""
        self.position = offset
        self.epochs = () if epoch == UNKNOWN_EPOCH else (EpochStart(epoch, -1),)
        self.current = current
        self.phase = Phase.READING
        self.retry_us = 0
        self.last_ms = None

    def await_validation(self) -> None:
        """Await validation by the leader, if the epochs of position and leader are known."""
        known = UNKNOWN_EPOCH not in {self.epoch, self.current.epoch}
        self.phase = Phase.VALIDATING if known else Phase.READING
        self.retry_us = 0

    def reset(self, why: str, last_ms: int | None) -> None:
        """Drop the position, so that it has to be reset, to this timestamp or by the policy."""
        self.position, self.last_ms = UNSET, last_ms
        self.phase = Phase.RESETTING
        self.retry_us = 0
        self.why = why

    def follow(self, known: LeaderAndEpoch) -> None:
        """Apply a new leader; a position read from another leader awaits validation."""
        if known.leader == NO_LEADER or self.position == UNSET or known == self.current:
            return
        self.current = known
        self.await_validation()

    @property
    def fetch_position(self) -> FetchPosition:
        """The position as one value, to compare with later."""
        return FetchPosition(self.position, self.epoch, self.current)


_WITHOUT_POSITION = (Phase.INITIALIZING, Phase.RESETTING)
_ASKED_FOR = (Phase.RESETTING, Phase.VALIDATING)


class Positions:
    """The assigned partitions of one consumer with their positions and leaders."""

    __slots__ = ("_all_reading", "_leaders", "behind", "by_leader", "readings")

    def __init__(self) -> None:
        self.readings: dict[TopicPartition, Reading] = {}
        """In order of assignment; partitions that returned records are moved to the end."""

        self.by_leader: dict[int, dict[TopicPartition, Reading]] = {}
        """The same partitions by the broker to fetch from."""

        self._leaders: Mapping[TopicPartition, LeaderAndEpoch] = {}
        self._all_reading: bool | None = None
        """Whether every position is valid; None: phases have changed since that was asked."""

        self.behind = False
        """The positions have not been compared with the newest leaders yet."""

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The position of every partition."""
        return {tp: reading.position for tp, reading in self.readings.items()}

    # -- assignment --------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Apply this assignment in this order; partitions held before keep their state."""
        self._all_reading = None
        held = self.readings
        self.readings = {
            tp: held[tp] if tp in held else Reading(tp, self.leader(tp).leader) for tp in partitions
        }
        self._group_by_leader()

    def _group_by_leader(self) -> None:
        self.by_leader = {}
        for tp, reading in self.readings.items():
            self.by_leader.setdefault(reading.leader, {})[tp] = reading

    @property
    def assigned(self) -> tuple[TopicPartition, ...]:
        """The assigned partitions in order; those that returned records are at the end."""
        return tuple(self.readings)

    def move_to_end(self, reading: Reading) -> None:
        """Move a partition that returned records to the end."""
        if len(self.readings) == 1:
            return
        tp = reading.partition
        del self.readings[tp]
        self.readings[tp] = reading
        of_leader = self.by_leader.get(reading.leader)
        if of_leader is not None and len(of_leader) > 1:
            del of_leader[tp]
            of_leader[tp] = reading

    # -- leaders -----------------------------------------------------------------------------

    def leader(self, partition: TopicPartition) -> LeaderAndEpoch:
        """Return the leader of *partition* that the client knows."""
        return self._leaders.get(partition, UNKNOWN_LEADER)

    @property
    def leaderless(self) -> bool:
        """Whether some assigned partition has no known leader."""
        return NO_LEADER in self.by_leader

    def update_leaders(
        self, leaders: Mapping[TopicPartition, LeaderAndEpoch], recreated: Collection[str] = ()
    ) -> None:
        """Apply the leader of each partition; the next fetches go to it.

        An older leader epoch than the known one is ignored, except for a topic that was
        *recreated*. Positions are compared with the leaders later, in :meth:`follow_leaders`.
        """
        earlier = {} if leaders is self._leaders else self._leaders
        newer = {
            tp: known
            for tp, known in earlier.items()
            if UNKNOWN_EPOCH < leaders.get(tp, UNKNOWN_LEADER).epoch < known.epoch
            and tp.topic not in recreated
        }
        self._leaders = {**leaders, **newer} if newer else leaders
        moved = False
        for tp, reading in self.readings.items():
            leader = self.leader(tp).leader
            moved = moved or reading.leader != leader
            reading.leader = leader
        if moved:
            self._group_by_leader()
        self.behind = True

    def follows(self, leaders: Mapping[TopicPartition, LeaderAndEpoch]) -> bool:
        """Return whether these leaders are known, and every position is read from them."""
        if self._leaders is not leaders and self._leaders != leaders:
            return False
        return all(
            reading.current == self.leader(tp) and reading.leader == reading.current.leader
            for tp, reading in self.readings.items()
        )

    def follow_leaders(self) -> None:
        """Compare the positions with the new leaders: those whose leader changed await validation.

        The application thread calls it inside poll (``validatePositionsOnMetadataChange``).
        """
        self.behind, self._all_reading = False, None
        for tp, reading in self.readings.items():
            reading.follow(self.leader(tp))

    def update_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """Record a leader epoch; return whether it is newer than the known one.

        If so, the leader is no longer known (``Metadata.updateLastSeenEpochIfNewer``).
        """
        known = self.leader(partition)
        if known.epoch == UNKNOWN_EPOCH or epoch <= known.epoch:
            return False
        self._leaders = {**self._leaders, partition: LeaderAndEpoch(NO_LEADER, epoch)}
        return True

    def update_leader(self, partition: TopicPartition, leader: LeaderAndEpoch) -> None:
        """Follow the leader that a broker returned with an error, if it is newer (KIP-951)."""
        if leader.leader == NO_LEADER or leader.epoch <= self.leader(partition).epoch:
            return
        self._leaders = {**self._leaders, partition: leader}
        reading = self.readings[partition]
        reading.leader = leader.leader
        reading.follow(leader)
        self._all_reading = None
        self._group_by_leader()

    def forget_leaders_at(self, broker: int) -> None:
        """Stop fetching from a broker until the next metadata update."""
        for reading in self.by_leader.get(broker, {}).values():
            reading.leader = NO_LEADER
        self._group_by_leader()

    def forget_leader(self, partition: TopicPartition) -> None:
        """Stop fetching ``partition`` until the next metadata update."""
        self.readings[partition].leader = NO_LEADER
        self._group_by_leader()

    # -- phases -----------------------------------------------------------------------------

    def in_phase(self, phase: Phase) -> tuple[TopicPartition, ...]:
        """Return the partitions whose position is in ``phase``."""
        if phase is not READING and self._all_reading:
            return ()
        return tuple(tp for tp, reading in self.readings.items() if reading.phase is phase)

    def holds(self, partition: TopicPartition, phase: Phase) -> bool:
        """Return whether ``partition`` is assigned and in ``phase``."""
        reading = self.readings.get(partition)
        return reading is not None and reading.phase is phase

    def all_reading(self) -> bool:
        """Return whether every assigned partition has a valid position."""
        known = self._all_reading
        if known is None:
            known = all(reading.phase is READING for reading in self.readings.values())
            self._all_reading = known
        return known

    def seek(self, partition: TopicPartition, offset: int, epoch: int = UNKNOWN_EPOCH) -> None:
        """Set the next offset to read; records buffered from other offsets are dropped later.

        *epoch*: of the last record before it. If it is known, the position awaits validation first.
        """
        self._all_reading = None
        reading = self.readings[partition]
        reading.seek(offset, epoch, self.leader(partition))
        reading.await_validation()

    def move_back(self, partition: TopicPartition, offset: int, epoch: int) -> None:
        """Set a position to the offset where the leader's log diverged; it is then valid."""
        self._all_reading = None
        reading = self.readings[partition]
        reading.seek(offset, epoch, reading.current)

    def complete_validation(self, partition: TopicPartition) -> None:
        """Resume reading at a position that the leader has confirmed."""
        self._all_reading = None
        reading = self.readings[partition]
        reading.phase, reading.retry_us, reading.last_ms = Phase.READING, 0, None

    def reset(
        self, partition: TopicPartition, why: str = "no offset", last_ms: int | None = None
    ) -> None:
        """Drop a position; continue where records have this timestamp, or by the reset policy."""
        self._all_reading = None
        self.readings[partition].reset(why, last_ms)

    def due(self, phase: Phase, now: int) -> tuple[TopicPartition, ...]:
        """Return the partitions whose reset or validation may be requested now."""
        if phase is not READING and self._all_reading:
            return ()
        readings = self.readings.items()
        return tuple(tp for tp, r in readings if r.phase is phase and r.retry_us <= now)

    def ask_again(self, phase: Phase, partitions: Iterable[TopicPartition], at_us: int) -> None:
        """Allow the next reset or validation of *partitions* from *at_us* on."""
        for tp in partitions:
            if self.holds(tp, phase):
                self.readings[tp].retry_us = at_us

    def next_due_us(self, now: int) -> int | None:
        """Return when (us), after *now*, the next reset or validation may be requested, if any."""
        waiting = [r.retry_us for r in self.readings.values() if r.phase in _ASKED_FOR]
        return min((when for when in waiting if when > now), default=None)

    # -- a state that comes again ------------------------------------------------------------

    def saved(self) -> SavedPositions:
        """Return the orders of all partitions, and the epochs of their last records."""
        return SavedPositions(
            tuple([(tp, each.epochs) for tp, each in self.readings.items()]),
            tuple([(leader, tuple(mine)) for leader, mine in self.by_leader.items()]),
        )

    def restore(self, saved: SavedPositions, offsets: Mapping[TopicPartition, int]) -> None:
        """Read the same partitions at these offsets, in the orders that were *saved*."""
        for tp, epochs in saved.readings:
            reading = self.readings[tp] = self.readings.pop(tp)
            reading.position, reading.epochs = offsets[tp], epochs
        for leader, order in saved.by_leader:
            self.by_leader[leader] = {tp: self.readings[tp] for tp in order}

    # -- offsets -----------------------------------------------------------------------------

    def reads_at(self, partition: TopicPartition, offset: int) -> bool:
        """Return whether ``partition`` has a position, and it is this offset."""
        reading = self.readings.get(partition)
        return reading is not None and reading.position == offset != UNSET

    def fetch_position(self, partition: TopicPartition) -> FetchPosition:
        """Return the position of an assigned partition, with its epoch and leader."""
        return self.readings[partition].fetch_position

    def valid(self) -> dict[TopicPartition, int]:
        """Return the next offset to return, for every partition with a valid position."""
        return {
            tp: reading.position
            for tp, reading in self.readings.items()
            if reading.phase is READING
        }

    def consumed(self) -> list[tuple[TopicPartition, int, int]]:
        """Return partition, offset and leader epoch of every valid position."""
        return [
            (tp, reading.position, reading.epoch)
            for tp, reading in self.readings.items()
            if reading.phase is READING
        ]

    def check(self) -> None:
        """Assert the invariants."""
        readings = self.readings.values()
        assert self._all_reading in (None, all(each.phase is READING for each in readings))
        grouped = [tp for readings in self.by_leader.values() for tp in readings]
        assert sorted(grouped) == sorted(self.readings)
        for tp, reading in self.readings.items():
            assert reading.partition == tp
            assert (reading.position == UNSET) == (reading.phase in _WITHOUT_POSITION)
            assert reading.phase is not Phase.VALIDATING or reading.epoch != UNKNOWN_EPOCH
