"""The replicas of one partition: leader, leader epoch, ISR, and the records lost by truncation.

The replica sets are the controller's metadata. A broker that receives nothing from the controller
uses the metadata it received last, so each replica set also stores the outdated metadata of such
brokers.

A record's *serial* is its position among all records ever appended to its partition; its offset is
its position among those that are left. An unclean election removes a run of serials, and the
records after it move up: they get offsets that removed records had before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from assignors.types import TopicPartition
from protocols.messages import EpochStart
from protocols.messages.errors import ErrorCode
from protocols.messages.records import refusal_by_epoch

NO_BROKER = -1
"""The leader of a partition that has none."""


class Belief(NamedTuple):
    """The metadata of a partition on a broker with stale metadata."""

    leader: int
    epoch: int
    until_us: int
    """The time at which it became outdated."""


def nobody_listens() -> None:
    """Do nothing."""


class ReplicaSet:
    """The replicas of one partition, its leader, its in-sync replicas."""

    __slots__ = (
        "_beliefs",
        "_on_change",
        "brokers",
        "elections",
        "epoch",
        "isr",
        "leader",
        "leaders_isr",
        "partition",
    )

    def __init__(
        self,
        partition: TopicPartition,
        brokers: tuple[int, ...],
        on_change: Callable[[], None] = nobody_listens,
    ) -> None:
        """Begin with all *brokers* in sync; *on_change* is called when metadata of it change."""
        self._on_change = on_change
        self.partition = partition
        self.brokers = brokers
        """The replicas, the preferred leader first."""

        self.leader = brokers[0]
        self.epoch = 0
        self.elections: tuple[tuple[int, int], ...] = ((0, 0),)
        """The leader epochs with a leader, and when each began."""

        self.isr = brokers
        """In the order of ``brokers``."""

        self.leaders_isr: tuple[int, ...] | None = None
        """The ISR known to a leader with stale metadata, if it differs from the controller's."""

        self._beliefs: dict[int, Belief] | None = None

    # -- what a broker knows ---------------------------------------------------------------------

    def belief(self, broker: int) -> Belief | None:
        """Return the metadata of a broker with stale metadata; None: its metadata are current."""
        return None if self._beliefs is None else self._beliefs.get(broker)

    def leader_known_to(self, broker: int) -> int:
        """Return the leader by the metadata of one broker."""
        belief = self.belief(broker)
        return self.leader if belief is None else belief.leader

    def epoch_known_to(self, broker: int) -> int:
        """Return the leader epoch by the metadata of one broker."""
        belief = self.belief(broker)
        return self.epoch if belief is None else belief.epoch

    def led_by(self, broker: int) -> bool:
        """Return whether a broker believes that it leads."""
        if self._beliefs is None:
            return self.leader == broker
        return self.leader_known_to(broker) == broker

    def refusal(self, broker: int, claimed: int) -> ErrorCode:
        """Return the error by which a broker refuses a client that believes it leads in an epoch.

        It knows of another epoch, or it does not lead (``Partition.getLocalLog``).
        """
        if self._beliefs is None and self.leader == broker and self.epoch == claimed:
            return ErrorCode.NONE
        error = refusal_by_epoch(claimed, self.epoch_known_to(broker))
        if error or self.led_by(broker):
            return error
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def freeze_beliefs(self, brokers: Iterable[int], now: int) -> None:
        """Store the present metadata for these brokers before a change."""
        self._on_change()
        for broker in brokers:
            if self._beliefs is None:
                self._beliefs = {}
            self._beliefs.setdefault(broker, Belief(self.leader, self.epoch, now))

    def inform(self, broker: int) -> None:
        """Discard a broker's stale metadata: it gets the current metadata."""
        self._on_change()
        if self._beliefs is not None:
            self._beliefs.pop(broker, None)
            self._beliefs = self._beliefs or None
        if broker == self.leader:
            self.leaders_isr = None

    # -- changes ---------------------------------------------------------------------------------

    def elect(self, leader: int, now: int, *, clean: bool) -> None:
        """Begin a new leader epoch; an unclean leader is the whole ISR."""
        self._on_change()
        self.leader = leader
        self.epoch += 1
        if leader != NO_BROKER:
            self.elections += ((self.epoch, now),)
        self.leaders_isr = None
        if not clean:
            self.isr = (leader,)

    def set_isr(self, isr: tuple[int, ...], *, leader_knows: bool) -> None:
        """Change the ISR; a leader that does not learn of it keeps the old one."""
        if leader_knows:
            self.leaders_isr = None
        elif self.leaders_isr is None:
            self.leaders_isr = self.isr
        self.isr = isr

    @property
    def isr_of_leader(self) -> tuple[int, ...]:
        """The ISR by which the leader moves its high watermark."""
        return self.isr if self.leaders_isr is None else self.leaders_isr

    @property
    def whole(self) -> bool:
        """Whether every replica is in sync."""
        return len(self.isr) == len(self.brokers)


class Readers(Protocol):
    """The consumers, as the cluster uses them: they read its logs by arithmetic."""

    def unfold(self) -> None:
        """Stop polling by arithmetic before a change of its conditions."""

    def plan_again(self) -> None:
        """Compute again when fetches in flight are answered."""

    def truncated(self, partition: TopicPartition, first: int) -> None:
        """Note that a partition has lost its records from *first* on."""


class History(NamedTuple):
    """The truncated records of a log: separate runs of serials, ascending."""

    removed: tuple[tuple[int, int], ...] = ()
    """The first serial of each run, and the first serial after it."""

    def offset(self, serial: int) -> int:
        """Return the offset of the first record in the log that has at least this serial.

        >>> log = History(((100, 130),))
        >>> [log.offset(serial) for serial in (99, 100, 115, 130, 131)]
        [99, 100, 100, 100, 101]
        """
        left = serial
        for first, following in self.removed:
            if serial <= first:
                break
            left -= min(serial, following) - first
        return left

    def serial(self, offset: int) -> int:
        """Return the serial of the record at an offset.

        >>> [History(((100, 130),)).serial(offset) for offset in (99, 100, 101)]
        [99, 130, 131]
        """
        for first, following in self.removed:
            if offset < first:
                break
            offset += following - first
        return offset

    def without(self, first: int, following: int) -> History:
        """Return the history after the removal of another run.

        >>> History(((100, 130),)).without(90, 120)
        History(removed=((90, 130),))
        """
        apart = [run for run in self.removed if run[1] < first or run[0] > following]
        touching = [run for run in self.removed if run not in apart]
        first = min([first, *(run[0] for run in touching)])
        following = max([following, *(run[1] for run in touching)])
        return History(tuple(sorted([*apart, (first, following)])))


WHOLE = History()
"""The history of a log that was never truncated."""


class Truncation(NamedTuple):
    """The records that an unclean election removed from a log."""

    first: int
    """The first removed offset; the next record gets it."""

    next_offset: int
    """The end of the removed range."""

    incarnation: int
    """The number of truncations of the log, this one included."""


class Era(NamedTuple):
    """A partition as it was until it was truncated."""

    until_us: int
    history: History
    epochs: tuple[EpochStart, ...]


class Peer(Protocol):
    """A replicated partition, of a topic or of the offsets topic, as replication uses it."""

    @property
    def replicas(self) -> ReplicaSet:
        """The replicas, the leader, the in-sync replicas."""

    @property
    def replication_us(self) -> int:
        """The time from an append to the high watermark that covers it, undisturbed."""

    def on_new_leader(
        self, complete_us: int, wrote_until_us: int, now: int, *, clean: bool
    ) -> Truncation | None:
        """Continue from the copy of a new leader, which is complete up to an append time.

        *wrote_until_us*: until when the last leader could append; of one that still can, the
        present. Return the truncated records of a topic's log, if there are any.
        """

    def copied_by(self, since_us: int, late_us: int = 0) -> int:
        """Return the append time up to which a follower has all records, fetching until then."""

    def is_behind(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower that has all records appended until then lacks records."""

    def caught_up(self, broker: int, until_us: int, now: int) -> bool:
        """Return whether a follower that has all records appended until then has caught up."""
