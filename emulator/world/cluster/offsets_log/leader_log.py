"""An offsets partition's log on its leader: followers' log ends and the high watermark.

Every append reaches the followers after half of the replication time; their next fetch, the other
half, shows the leader that they have it: when all replicas in the ISR have it, the high watermark
passes it. Followers learn the high watermark with the response to that fetch, one more half later,
so a new leader may have records above the high watermark that it knows.

A leader that is alone in the ISR waits for no follower: the append itself moves the high watermark.

A leader that has lost its followers continues to append: none of those records is ever replicated.

Source: ``Partition``, ``Replica`` and ``ReplicaFetcherThread`` of Kafka 4.4.0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence

from assignors.values import dataclass
from emulator.world.cluster.offsets_log.stored_log import StoredBatch, StoredLog
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.draws import Sampler
from emulator.world.kernel import Kernel, Rank
from protocols.offsets_topic.records import Record


class Copy:
    """The log of one replica at its last update."""

    __slots__ = ("broker", "end", "high_watermark", "log")

    def __init__(self, broker: int, log: StoredLog) -> None:
        self.broker = broker
        self.log = log
        self.end = log.end
        self.high_watermark = log.end
        """The high watermark that this replica knows."""

    def detach(self) -> None:
        """Switch to a log of its own: the shared log continues without it."""
        self.log = self.log.fork(self.end)


class Follower:
    """A replica that fetches from the leader, or has stopped."""

    __slots__ = ("copy", "from_us", "late_us")

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.from_us = NEVER
        """The time from which on it has the leader's log; ``NEVER``: it does not fetch."""

        self.late_us = 0


@dataclass(slots=True, eq=False)
class OpenAppend:
    """An append that is not known to be on all followers."""

    end: int
    appended_us: int
    replication_us: int


class Replicated:
    """The time at which all replicas in the ISR have an append: the action of an event."""

    __slots__ = ("_entry", "_log", "_spell")

    def __init__(self, log: LeaderLog, entry: OpenAppend, spell: int) -> None:
        self._log = log
        self._entry = entry
        self._spell = spell

    def __call__(self, _: object) -> None:
        """Advance the high watermark, if followers have not changed since."""
        if self._spell == self._log.spell:
            self._log.replicated(self._entry)

    def is_of(self, logs: Container[LeaderLog]) -> bool:
        """Return whether this is what happens next to one of these *logs*."""
        return self._log in logs and self._spell == self._log.spell


class LeaderLog:
    """One leader's log, its followers, and its high watermark."""

    def __init__(
        self,
        kernel: Kernel,
        number: int,
        copy: Copy,
        replication_us: Sampler,
        durable: Callable[[int], None],
        rolled: Callable[[LeaderLog, StoredBatch], None] | None = None,
        epoch_ms: int = 0,
    ) -> None:
        self._kernel = kernel
        self._number = number
        self._copy = copy
        self._replication_us = replication_us
        self._durable = durable
        self._rolled = rolled
        """Called with every batch that begins a new segment."""

        self._epoch_ms = epoch_ms
        """The wall clock at time 0."""

        self._followers: dict[int, Follower] = {}
        self._in_flight: deque[OpenAppend] = deque()
        self._forgotten = copy.high_watermark
        """All followers that fetch have everything below this."""

        self._known: deque[tuple[int, int]] = deque([(0, copy.high_watermark)])
        """The high watermarks that followers know, each with its time."""

        self._spell = 0
        """The number of changes in the behaviour of followers."""

        self._late_us = NEVER
        """The additional delay of replication; ``NEVER``: appends are not replicated."""

        self._awaited: tuple[int, ...] = ()
        """The ISR whose members must have a record before the high watermark passes it."""

        self.watched: list[list[StoredBatch]] = []
        """The lists to which every batch is added."""

        self.log = copy.log
        self.high_watermark = copy.high_watermark
        self.epoch = 0
        self.epoch_start = copy.end
        self.isr: tuple[int, ...] = ()

    def lead(self, epoch: int, isr: tuple[int, ...]) -> None:
        """Begin a leader epoch of this broker; followers fetch what they lack of the log."""
        if epoch != self.epoch or not self.isr:
            self.epoch = epoch
            self.epoch_start = self.end
            if self.end > self.high_watermark:
                self._replicate(self.end, self._kernel.now)
        self.isr = isr

    # -- appends ---------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """The log offset of the next record."""
        return self.log.end

    def append(
        self, records: tuple[Record, ...], written_us: int, size: int | None = None
    ) -> StoredBatch:
        """Append one batch that is on the leader's disk at ``written_us``; *size*: if known."""
        now_ms = self._epoch_ms + self._kernel.now // 1000
        batch = self.log.append(records, self.epoch, now_ms, size)
        self._copy.end = batch.end
        self._replicate(batch.first, written_us)
        if batch.opened is not None and self._rolled is not None:
            self._rolled(self, batch)
        for watched in self.watched:
            watched.append(batch)
        return batch

    def _replicate(self, address: int, from_us: int) -> None:
        entry = OpenAppend(self.end, from_us, self._replication_us(address))
        self._in_flight.append(entry)
        self._await(entry)

    def _await(self, entry: OpenAppend) -> None:
        if self._late_us < NEVER:
            when = max(self._safe_us(entry), self._kernel.now)
            passed = Replicated(self, entry, self._spell)
            self._kernel.at(when, Rank.AT_BROKER, self._number, passed).recurs = True

    def _safe_us(self, entry: OpenAppend) -> int:
        """Return when all replicas in the ISR have an append, and the leader knows it."""
        way_us = 0 if self._alone else entry.replication_us
        return entry.appended_us + way_us + self._late_us

    @property
    def _alone(self) -> bool:
        """Whether the leader is alone in the ISR (``Partition.maybeIncrementLeaderHW``)."""
        return len(self._awaited) == 1

    def replicated(self, entry: OpenAppend) -> None:
        """Advance the high watermark to the entry's end."""
        if entry.end > self.high_watermark:
            self._rise(entry.end, entry.replication_us)

    @property
    def spell(self) -> int:
        """The number of changes in the behaviour of followers."""
        return self._spell

    def _rise(self, to: int, replication_us: int) -> None:
        now = self._kernel.now
        self.high_watermark = self._copy.high_watermark = to
        self._known.append((now + replication_us // 2, to))
        self.forget(now)
        self._durable(to)

    def forget(self, now: int) -> None:
        """Discard entries that every replica has and knows to be below the high watermark."""
        known = self._known
        while len(known) > 1 and known[1][0] <= now:
            known.popleft()
        limit = self.high_watermark
        for follower in self._followers.values():
            if self._may_lag(follower):
                limit = min(limit, self._end_of(follower, now))
        while self._in_flight and self._in_flight[0].end <= limit:
            self._forgotten = self._in_flight.popleft().end
        self.log.settle(min(limit, self._known[0][1]))

    def _may_lag(self, follower: Follower) -> bool:
        """Return whether a follower may lack replicated records, as one outside the ISR may."""
        if follower.copy.broker in self.isr:
            return False
        return follower.late_us > 0 or (self._alone and follower.from_us < NEVER)

    # -- periods ---------------------------------------------------------------------------------

    @property
    def is_regular(self) -> bool:
        """Whether the high watermark advances, and no follower lacks what is below it."""
        lagging = self._in_flight and self._in_flight[0].end <= self.high_watermark
        return not lagging and not self.is_stalled

    def relative(self, now: int) -> tuple[object, ...]:
        """Return what followers know relative to *now* and to the end, and what is kept."""
        end = self.end
        known = [(max(at - now, 0), end - high_watermark) for at, high_watermark in self._known]
        open_appends = [
            (end - each.end, each.appended_us - now, each.replication_us)
            for each in self._in_flight
        ]
        behind = end - self.log.settled, end - self.high_watermark, end - self._forgotten
        return *behind, tuple(open_appends), *known

    def skip(self, period: Sequence[StoredBatch], later_us: int, times: int) -> None:
        """Continue after several periods; *period*: the batches of the last one."""
        before, kept = self.end, self.end - self.log.settled
        self.log.skip(period, times)
        self.log.settle(self.end - kept)
        end = self._copy.end = self.end
        self.high_watermark += end - before
        self._copy.high_watermark = self.high_watermark
        self._forgotten += end - before
        for each in self._in_flight:
            each.end += end - before
            each.appended_us += later_us
        self._known = deque((at + later_us, known + end - before) for at, known in self._known)

    # -- followers -------------------------------------------------------------------------------

    @property
    def is_stalled(self) -> bool:
        """Whether the high watermark cannot advance."""
        return self._late_us == NEVER

    def gate(self, late_us: int) -> None:
        """Set the additional delay of replication from now on; ``NEVER``: appends are not replicated.

        The replicas that must have a record are those of :meth:`lead`.
        """
        was_alone, self._awaited = self._alone, self.isr
        if late_us == self._late_us and was_alone == self._alone:
            return
        self._spell += 1
        self._late_us = late_us
        if late_us == NEVER:
            return
        now = self._kernel.now
        due = [entry for entry in self._in_flight if self._safe_us(entry) <= now]
        if due and due[-1].end > self.high_watermark:
            self._rise(due[-1].end, due[-1].replication_us)
        for entry in self._in_flight:
            if entry.end > self.high_watermark:
                self._await(entry)

    def settle(self, now: int) -> None:
        """Store the present log end of each follower before a change."""
        known = max((mark for at, mark in self._known if at <= now), default=0)
        for follower in self._followers.values():
            if follower.from_us <= now:
                copy = follower.copy
                copy.log = self.log
                copy.end = self._end_of(follower, now)
                copy.high_watermark = max(copy.high_watermark, min(known, copy.end))

    def follow(self, copy: Copy, late_us: int, now: int) -> int:
        """Make a replica fetch from this leader; return the end to which its log is truncated.

        A replica in the ISR lacks only records in flight. Another has caught up after one
        replication, however much it lacks; until then it has the records that were settled long
        ago.
        """
        follower = self._followers.get(copy.broker)
        if follower is None:
            follower = self._followers[copy.broker] = Follower(copy)
        follower.late_us = late_us
        agreed = copy.end
        if follower.from_us == NEVER:
            agreed = copy.log.agreed_end(copy.end, self.log, self.end)
            copy.high_watermark = min(copy.high_watermark, agreed)
            if copy.broker in self.isr:
                follower.from_us = now
                copy.log, copy.end = self.log, agreed
            else:
                follower.from_us = now + self._replication_us(now) + late_us
                copy.end = max(agreed, self.log.settled)
                copy.log = self.log.fork(copy.end)
        return agreed

    def leave(self, broker: int) -> None:
        """Remove a replica that no longer fetches from this leader."""
        follower = self._followers.get(broker)
        if follower is not None:
            follower.from_us = NEVER

    def expel(self, broker: int) -> None:
        """Remove a replica from the ISR: the log may continue without it."""
        follower = self._followers.get(broker)
        if follower is not None and follower.from_us == NEVER and follower.copy.log is self.log:
            follower.copy.detach()

    def from_us(self, broker: int) -> int:
        """Return when a returned follower has caught up; ``NEVER`` if it does not fetch."""
        follower = self._followers.get(broker)
        return NEVER if follower is None else follower.from_us

    def caught_up(self, broker: int, now: int) -> bool:
        """Return whether a follower has all replicated records, and all from before this epoch.

        Records that a leader alone has had for less than half of a replication count as replicated.
        """
        follower = self._followers.get(broker)
        if follower is None or follower.from_us > now:
            return False
        safe = min(self.high_watermark, self._copied(now)) if self._alone else self.high_watermark
        return self._end_of(follower, now) >= max(safe, self.epoch_start)

    def is_behind(self, broker: int, now: int) -> bool:
        """Return whether a follower lacks a part of the log."""
        follower = self._followers.get(broker)
        return follower is None or self._end_of(follower, now) < self.end

    def _end_of(self, follower: Follower, now: int) -> int:
        """Return the log end of a follower."""
        if follower.from_us > now:
            return follower.copy.end
        return max(follower.copy.end, self._copied(now - follower.late_us))

    def _copied(self, until_us: int) -> int:
        """Return the log end half of a replication before a time."""
        there = (
            entry.end
            for entry in self._in_flight
            if entry.appended_us + entry.replication_us // 2 <= until_us
        )
        return max(self._forgotten, max(there, default=0))
