"""One group during a run: its members, the progress of its partitions, and waits of its rebalances.

Progress shows partitions that are stuck or stalled, and growing lag. A classic rebalance waits until
every member has called poll() and joined again, and then until every member has sent SyncGroup
(GroupCoordinator's DelayedJoin and DelayedSync).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import pairwise
from typing import Final, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.verdicts.interruptions import Interruptions
from emulator.verdicts.switching import Switching

OWNERS_IN_A_ROW: Final = 4
"""So many owners that started at one offset make a partition stuck."""

CHECKPOINT_US: Final = 10_000_000
MAX_CHECKPOINTS: Final = 256
"""When there are more, every second one is dropped, and the distance doubles."""

QUARTERS: Final = 4
MIN_GROWTH: Final = 0.01
"""The share of what arrives in a quarter of a window by which lag has to grow in it."""

MIN_RECORDS: Final = 100
"""The growth of lag over a window below which it may be chance."""


class Stuck(NamedTuple):
    """A partition whose owners all started at the same offset."""

    partition: TopicPartition
    offset: int
    owners: int
    behind: int
    """Records from that offset to the end of the log, at the last sample of lag."""


class Stalled(NamedTuple):
    """A partition without progress until the end, although records waited."""

    partition: TopicPartition
    offset: int
    since_us: int
    behind: int
    worked_us: int
    """When its owner last processed records of any partition, at most a checkpoint too late."""


REPEATED_WITHIN_US: Final = 5_000_000
"""A refused commit that is followed by another one within this time was repeated."""


@dataclass(slots=True)
class Refusals:
    """Refused commits of one consumer that named one deleted topic: the longest series of repetitions."""

    error: str
    began_us: int
    last_us: int
    times: int = 0
    longest_us: int = 0
    most: int = 0
    """Refusals in the longest series."""

    def add(self, at_us: int) -> None:
        """Add a refusal to the series, or begin another one."""
        if at_us - self.last_us > REPEATED_WITHIN_US:
            self.began_us, self.times = at_us, 0
        self.last_us = at_us
        self.times += 1
        if at_us - self.began_us >= self.longest_us:
            self.longest_us, self.most = at_us - self.began_us, self.times


class Growth(NamedTuple):
    """Lag that grew in every quarter of a window before the end."""

    since_us: int
    arrived: int
    before: int
    after: int


class Checkpoint(NamedTuple):
    """The records of a group's topics at one instant."""

    at_us: int
    produced: int
    processed: int

    @property
    def lag(self) -> int:
        """The records that were produced and not processed."""
        return self.produced - self.processed


@dataclass(slots=True)
class Progress:
    """The progress of one group, from its samples of lag and the starts of owners."""

    starts: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """The offset at which the last owner started, and when the first one in a row did that started there."""

    _again_us: dict[TopicPartition, list[int]] = field(default_factory=dict)
    """When the others in a row did."""

    sampled: ev.LagSampled | None = None
    _checkpoints: list[Checkpoint] = field(default_factory=list)
    _checked: ev.LagSampled | None = None
    """The sample of the last checkpoint."""

    _every_us: int = CHECKPOINT_US
    _next_us: int = 0
    _stalled_us: dict[TopicPartition, int] = field(default_factory=dict)
    """Since when a partition has had no progress, although records waited."""

    _owners: dict[TopicPartition, str] = field(default_factory=dict)
    _worked_us: dict[str, int] = field(default_factory=dict)
    """Consumer: the last checkpoint before which it processed records."""

    def open(self, at_us: int, partition: TopicPartition, offset: int, owner: str) -> None:
        """Note where an owner of a partition started."""
        self._owners[partition] = owner
        if self.starts.get(partition, (-1, 0))[0] == offset:
            self._again_us.setdefault(partition, []).append(at_us)
        else:
            self.starts[partition] = (offset, at_us)
            self._again_us.pop(partition, None)

    def sample(self, at_us: int, sampled: ev.LagSampled) -> None:
        """Follow a sample of lag."""
        self.sampled = sampled
        if at_us >= self._next_us:
            self._next_us = at_us + self._every_us
            self._note_stalled(at_us, sampled)
            produced, processed = sum(sampled.log_ends), sum(map(_started, sampled.processed))
            self._checkpoints.append(Checkpoint(at_us, produced, processed))
            self._checked = sampled
            if len(self._checkpoints) > MAX_CHECKPOINTS:
                self._checkpoints = self._checkpoints[::2]
                self._every_us *= 2

    def _note_stalled(self, at_us: int, sampled: ev.LagSampled) -> None:
        before = self._checked
        if before is None or before.partitions != sampled.partitions:
            self._stalled_us = {}
            return
        waited = zip(
            sampled.partitions, before.log_ends, before.processed, sampled.processed, strict=True
        )
        since_us = self._checkpoints[-1].at_us
        stalled: dict[TopicPartition, int] = {}
        for partition, end, first, second in waited:
            if first != second:
                self._worked_us[self._owners.get(partition, "")] = at_us
            elif end > first >= 0:
                stalled[partition] = self._stalled_us.get(partition, since_us)
        self._stalled_us = stalled

    def stuck(self, after_us: int) -> Iterator[Stuck]:
        """Yield the partitions whose last owners, after *after_us*, started at one offset, and which lag.

        *after_us*: when the last fault or act began or ended. Before, owners changed because of them.
        """
        if self.sampled is None:
            return
        sampled = self.sampled
        ends = zip(
            sampled.partitions,
            sampled.log_ends,
            sampled.committed,
            sampled.processed,
            strict=True,
        )
        for partition, end, committed, processed in ends:
            offset, first_us = self.starts.get(partition, (end, -1))
            times = [first_us, *self._again_us.get(partition, ())]
            owners = len(times) - bisect_left(times, after_us)
            many = owners >= OWNERS_IN_A_ROW and end - max(offset, processed) >= owners
            if many and committed <= offset:
                yield Stuck(partition, offset, owners, end - offset)

    def stalled(self) -> Iterator[Stalled]:
        """Yield the partitions without progress until the last sample."""
        if self.sampled is None or not self._stalled_us:
            return
        sampled = self.sampled
        ends = zip(sampled.partitions, sampled.log_ends, sampled.processed, strict=True)
        for partition, end, offset in ends:
            since_us = self._stalled_us.get(partition)
            if since_us is not None and self._has_waited(partition, offset):
                worked_us = self._worked_us.get(self._owners.get(partition, ""), 0)
                yield Stalled(partition, offset, since_us, end - offset, worked_us)

    def _has_waited(self, partition: TopicPartition, offset: int) -> bool:
        """Return whether a partition has had no progress since the last checkpoint either."""
        assert self._checked is not None, "a partition stalls between two checkpoints"
        return self._checked.processed[self._checked.partitions.index(partition)] == offset

    def waiting(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return the records below *ends* that were not processed at the last sample."""
        if self.sampled is None:
            return 0
        reached = zip(self.sampled.partitions, self.sampled.processed, strict=True)
        return sum(max(ends.get(tp, 0) - max(processed, 0), 0) for tp, processed in reached)

    def growth(self, after_us: int) -> Growth | None:
        """Return how lag grew from *after_us* until the end; None if it did not in some quarter."""
        window = [each for each in self._checkpoints if each.at_us >= after_us]
        if len(window) <= QUARTERS:
            return None
        last = len(window) - 1
        points = [window[last * number // QUARTERS] for number in range(QUARTERS + 1)]
        grows = all(
            second.lag - first.lag > MIN_GROWTH * (second.produced - first.produced)
            for first, second in pairwise(points)
        )
        begin, end = points[0], points[-1]
        if not grows or end.lag - begin.lag < MIN_RECORDS:
            return None
        return Growth(begin.at_us, end.produced - begin.produced, begin.lag, end.lag)


def _started(offset: int) -> int:
    """Return an offset, or 0 of a partition that never had an owner."""
    return max(offset, 0)


POLL: Final = "poll()"
SYNC: Final = "SyncGroup"


class Wait(NamedTuple):
    """How long a rebalance waited, for which members, and for what they had to call or send."""

    lasted_us: int
    members: tuple[str, ...]
    missing: str = POLL
    ended_us: int | None = None
    """How long before the last of them was removed, after its session, its process had ended."""

    expired: bool = False
    """Whether the wait ended with a session that expired, not with the rebalance timeout."""

    again: bool = False
    """Whether it ended as the member began another rebalance, while SyncGroup requests were missing."""


class Removal(NamedTuple):
    """When a member was removed, why, and when its process had ended (None: it ran)."""

    at_us: int
    why: str
    ended_us: int | None


@dataclass(slots=True)
class Waits:
    """Follows the rebalances of one group."""

    longest: Wait | None = None
    """None: no rebalance waited for a member that is known."""

    since_us: int | None = None
    """When members began to join; None: no join phase runs."""

    joined_us: int = 0
    """When the last join phase ended."""

    syncing: bool = False
    """Whether SyncGroup requests of that generation are missing."""

    last_revoked: str = ""
    """The last member that gave its partitions up in this join phase, to join again."""

    removed: dict[str, Removal] = field(default_factory=dict)
    """Members removed in this join phase."""

    def begin(self, at_us: int, consumer: str) -> None:
        """Begin a join phase, if none runs, as a member joins, leaves or is removed."""
        if self.syncing and consumer:
            self._note(Wait(at_us - self.joined_us, (consumer,), SYNC, again=True))
        self.syncing = False
        if self.since_us is None:
            self.since_us = at_us
            self.last_revoked = ""
            self.removed.clear()

    def revoke(self, consumer: str) -> None:
        """Note that a member gave partitions up."""
        if self.since_us is not None:
            self.last_revoked = consumer

    def remove(self, at_us: int, consumer: str, why: str, ended_us: int | None = None) -> None:
        """Note that a member left or was removed; *ended_us*: when its process had ended."""
        if self.since_us is not None:
            self.removed[consumer] = Removal(at_us, why, ended_us)
        elif why == ev.Departure.DID_NOT_SYNC:
            self._note(Wait(at_us - self.joined_us, (consumer,), SYNC))

    def join(self, at_us: int) -> None:
        """End a join phase: its last members were removed now, or one has joined at last."""
        if self.since_us is not None:
            removed = {name: one for name, one in self.removed.items() if one.at_us == at_us}
            members = tuple(removed) or ((self.last_revoked,) if self.last_revoked else ())
            if members:
                self._note(_wait(at_us, at_us - self.since_us, members, [*removed.values()]))
        self.since_us, self.joined_us, self.syncing = None, at_us, True

    def _note(self, wait: Wait) -> None:
        if self.longest is None or wait.lasted_us > self.longest.lasted_us:
            self.longest = wait


def _wait(at_us: int, lasted_us: int, members: tuple[str, ...], removed: list[Removal]) -> Wait:
    """Return the wait of a join phase that ends now, when its last members were removed."""
    expired = bool(removed) and all(each.why == ev.Departure.EXPIRED for each in removed)
    ended = [each.ended_us for each in removed if each.ended_us is not None]
    if not expired or len(ended) < len(removed):
        return Wait(lasted_us, members, expired=expired)
    return Wait(lasted_us, members, ended_us=at_us - max(ended), expired=True)


class Failure(NamedTuple):
    """A process that ended with an error."""

    consumer: str
    reason: str


class Killed(NamedTuple):
    """A process that was killed at the end of its grace period, and the removal of its member."""

    consumer: str
    reason: str
    """Why the coordinator removed the member."""

    waited_us: int
    """From the end of the process to the removal."""

    restarted: bool
    """Whether its next process ran before the removal."""

    rebalancing: bool = False
    """Whether the group was rebalancing when it was killed."""


class Process(NamedTuple):
    """One start of a consumer."""

    consumer: str
    incarnation: int


@dataclass(slots=True)
class GroupFacts:
    """The members and the rebalance of one group."""

    members: dict[str, Process] = field(default_factory=dict)
    """By member id."""

    by_coordinator: bool = False
    """Whether it is a group of the consumer protocol."""

    rebalancing_since_us: int | None = None
    consumers: set[str] = field(default_factory=set)
    by_heartbeat: set[str] = field(default_factory=set)
    """Consumers whose last member joined by the consumer protocol."""

    failures: list[Failure] = field(default_factory=list)
    loops: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Times by consumer and reason."""

    removed_in_close: list[Failure] = field(default_factory=list)
    killed: list[Killed] = field(default_factory=list)
    removed_assigning: list[Failure] = field(default_factory=list)
    thrown: Counter[tuple[str, str]] = field(default_factory=Counter)
    of_deleted: dict[tuple[str, str], Refusals] = field(default_factory=dict)
    """By consumer and deleted topic."""

    progress: Progress = field(default_factory=Progress)
    waits: Waits = field(default_factory=Waits)
    interruptions: Interruptions = field(default_factory=Interruptions)
    switching: Switching = field(default_factory=Switching)

    def keep(self, consumers: Iterable[str]) -> None:
        """Keep the newest member of each of *consumers*, and no other."""
        newest = {process.consumer: name for name, process in self.members.items()}
        kept = {newest[consumer] for consumer in consumers if consumer in newest}
        self.members = {name: one for name, one in self.members.items() if name in kept}
