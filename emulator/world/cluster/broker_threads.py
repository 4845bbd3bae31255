"""The threads of a broker: those of coordinators, the loader of offsets partitions, the log cleaner.

The loader reads one offsets partition after the other. A load takes a fixed time, plus time for
every byte and record in the log, up to its end (not its high watermark). Partitions that a broker
begins to lead together wait for each other (``CoordinatorLoaderImpl`` has one thread).

A cleaner thread checks every ``log.cleaner.backoff.ms`` for a log to clean. A log becomes cleanable
only by a full segment, by a high watermark that passes the segment's end, or when a compaction lag
(minimum or maximum) is over. Only the checks after these events are simulated, at the instants of
the real ones. A compaction takes no time: for a log of this size it ends long before the next
check.

Source: ``LogCleaner.CleanerThread``, ``LogCleanerManager`` of Kafka 4.4.0.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from emulator.events import LogCompacted, SegmentRolled
from emulator.scenario.model import Cluster, Scenario
from emulator.scenario.tables.groups import AssignorTime
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.offsets_log.leader_log import LeaderLog
from emulator.world.cluster.offsets_log.stored_log import Amount, StoredBatch
from emulator.world.kernel import Kernel, Rank
from emulator.world.run import Run
from protocols.messages import JoinGroupRequest, Message, SyncGroupRequest
from protocols.offsets_topic.segments.segment import LogSettings
from protocols.settings import BrokerSettings

US_PER_S = 1_000_000


US_PER_MS = 1_000


class Load(NamedTuple):
    """One partition that waits to be loaded, or is being loaded."""

    number: int
    """The number of the partition."""

    takes: Callable[[], int]
    """Returns the duration of the load, in microseconds; called when it begins."""

    loaded: Callable[[], None]
    """Called when it is done."""


class Loader:
    """Loads partitions in the order of the requests."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiting: deque[Load] = deque()
        self._running: Load | None = None

    def load(self, load: Load) -> None:
        """Load a partition when those before it are done."""
        self._waiting.append(load)
        if self._running is None:
            self._next()

    def cancel(self, number: int) -> None:
        """Cancel the load of a partition whose leadership is lost; a running load fails."""
        self._waiting = deque(load for load in self._waiting if load.number != number)
        if self._running is not None and self._running.number == number:
            self._next()

    def clear(self) -> None:
        """Discard all loads: the broker is dead."""
        self._waiting.clear()
        self._running = None

    def _next(self) -> None:
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            when = self._kernel.now + self._running.takes()
            done = partial(self._done, self._running)
            self._kernel.at(when, Rank.BROKER_TIMER, self._running.number, done)

    def _done(self, load: Load, _: object) -> None:
        if load is self._running:
            load.loaded()
            if load is self._running:
                self._next()


class Loaders:
    """The loaders of all brokers."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._loaders: dict[int, Loader] = {}

    def of(self, broker: int) -> Loader:
        """Return the loader of a broker."""
        return self._loaders.setdefault(broker, Loader(self._kernel))


class CoordinatorThread:
    """The thread of one coordinator, for events that take it time.

    A JoinGroup takes ``join_time``, its metadata and the assignments of a SyncGroup the time to read them, and the
    target of a consumer group the ``assignor_time`` of the group. Others wait: a coordinator handles
    one event after the other (``MultiThreadedEventProcessor``).
    """

    def __init__(self, run: Run, number: int, free: Callable[[object], None]) -> None:
        """Call *free* whenever the thread of partition *number* has finished something."""
        cluster = run.scenario.cluster
        self._run = run
        self._number = number
        self._free = free
        self._join_us = cluster.join_time
        self._bytes_per_s = cluster.join_bytes
        self._assignors = _assignor_times(run.scenario)
        self._busy_until_us = 0

    @property
    def is_busy(self) -> bool:
        """Whether it handles something now."""
        return self._run.kernel.now < self._busy_until_us

    def begins(self, message: Message) -> bool:
        """Begin to handle a request that takes time; return False for any other."""
        joins_us = self._join_us if isinstance(message, JoinGroupRequest) else 0
        us = joins_us + self._reading_us(message)
        if us:
            self.work(us)
        return us > 0

    def _reading_us(self, message: Message) -> int:
        if not self._bytes_per_s:
            return 0
        from protocols.offsets_topic.records.embedded import (  # noqa: PLC0415  few runs need it
            encode_assignment,
            encode_subscription,
        )

        match message:
            case JoinGroupRequest(protocols=protocols):
                size = sum(len(encode_subscription(each.metadata)) for each in protocols)
            case SyncGroupRequest(assignments=assignments):
                size = sum(len(encode_assignment(partitions)) for _, partitions in assignments)
            case _:
                return 0
        return math.ceil(size / self._bytes_per_s * US_PER_S)

    def assignor_us(self, group: str, members: int, partitions: int) -> int:
        """Return how long the target of a consumer group takes, in microseconds."""
        time = self._assignors.get(group)
        return 0 if time is None else time.us(members, partitions)

    def work(self, us: int) -> None:
        """Be busy for a time, after what it does already."""
        kernel = self._run.kernel
        self._busy_until_us = max(kernel.now, self._busy_until_us) + us
        kernel.at(self._busy_until_us, Rank.BROKER_TIMER, self._number, self._free)

    def stop(self) -> None:
        """Stop what it does: its coordinator no longer exists."""
        self._busy_until_us = 0


def thread_of(run: Run, number: int, free: Callable[[object], None]) -> CoordinatorThread | None:
    """Return the thread of the coordinator of a partition; None: nothing takes it time."""
    cluster = run.scenario.cluster
    if cluster.join_time or cluster.join_bytes or _assignor_times(run.scenario):
        return CoordinatorThread(run, number, free)
    return None


def _assignor_times(scenario: Scenario) -> dict[str, AssignorTime]:
    """Return the time of the assignor of each group that has one."""
    times = {group.id: group.assignor_time for group in scenario.group}
    return {group: time for group, time in times.items() if time is not None}


def reading_us(cluster: Cluster, amount: Amount) -> int:
    """Return how long it takes to read and apply a part of a log, in microseconds."""
    bytes_us = amount.size / cluster.load_bytes if cluster.load_bytes else 0
    records_us = amount.records / cluster.load_records if cluster.load_records else 0
    return math.ceil((bytes_us + records_us) * US_PER_S)


def log_settings(settings: BrokerSettings) -> LogSettings:
    """Return the log settings of an offsets partition."""
    return LogSettings(
        segment_bytes=settings.offsets_topic_segment_bytes,
        segment_ms=settings.log_roll_ms,
        max_compaction_lag_ms=settings.log_cleaner_max_compaction_lag_ms,
        min_compaction_lag_ms=settings.log_cleaner_min_compaction_lag_ms,
        min_cleanable_dirty_ratio=settings.log_cleaner_min_cleanable_ratio,
        delete_retention_ms=settings.log_cleaner_delete_retention_ms,
    )


class LogCleaner:
    """Compacts the logs of one offsets partition, on every broker that leads it."""

    def __init__(
        self, run: Run, brokers: Brokers, number: int, led: Mapping[int, LeaderLog]
    ) -> None:
        settings = run.broker_settings
        self._run = run
        self._brokers = brokers
        self._number = number
        self._led = led
        self._settings = log_settings(settings)
        self._every_us = max(settings.log_cleaner_backoff_ms, 1) * US_PER_MS
        self._is_on = settings.log_cleaner_enable
        self._entries: int | None = None
        """Capacity of its offset map in keys; None: not computed yet."""

        self._due_us: int | None = None
        """The time of the next check; None: none is scheduled."""

    def rolled(self, broker: int, log: LeaderLog, batch: StoredBatch) -> None:
        """Note a batch that has begun a new segment."""
        rolled = SegmentRolled(
            log_partition=self._number,
            broker=broker,
            base_offset=batch.first,
            why=str(batch.opened),
            segments=log.log.segments,
        )
        self._run.recorder.write(rolled)
        self._look_at(self._run.kernel.now + 1)

    def leads(self, log: LeaderLog) -> None:
        """Note a broker that leads with a log: segments not compacted yet may be cleanable now."""
        if log.log.dirty():
            self._look_at(self._run.kernel.now + 1)

    def _look_at(self, not_before_us: int) -> None:
        """Schedule a check at the first instant of the cleaner thread that is not before a time."""
        due_us = -(-not_before_us // self._every_us) * self._every_us
        if not self._is_on or due_us >= self._run.scenario.run_for:
            return
        if self._due_us is None or due_us < self._due_us:
            self._due_us = due_us
            self._run.kernel.at(due_us, Rank.BROKER_TIMER, self._number, self._look)

    def _look(self, _: object) -> None:
        now = self._run.kernel.now
        if now != self._due_us:
            return
        self._due_us = None
        for broker, log in sorted(self._led.items()):
            if self._brokers.answers(broker):
                log.forget(now)
                self._clean(broker, log)
        for wanted_us in self._wanted_us(now):
            self._look_at(wanted_us)

    def _clean(self, broker: int, log: LeaderLog) -> None:
        """Compact a log as long as it is cleanable and compaction removes records."""
        stored, now_ms = log.log, self._now_ms
        what = stored.to_clean(log.high_watermark, now_ms)
        while what.eligible and not self._brokers.disk_is_full(broker):
            gone = stored.clean(what, log.high_watermark, now_ms, self._max_entries)
            left, following = stored.amount(stored.end), stored.to_clean(log.high_watermark, now_ms)
            compacted = LogCompacted(
                log_partition=self._number,
                broker=broker,
                first=what.first_dirty_offset,
                next_offset=following.first_dirty_offset,
                removed_size=gone.size,
                removed_records=gone.records,
                size=left.size,
                records=left.records,
                segments=stored.segments,
            )
            self._run.recorder.write(compacted)
            if following.first_dirty_offset == what.first_dirty_offset:
                return
            what = following

    @property
    def _max_entries(self) -> int:
        """Return the capacity of the offset map in keys, with one cleaner thread."""
        if self._entries is None:
            from protocols.offsets_topic.segments.offset_map import max_entries  # noqa: PLC0415  few runs need it

            settings = self._run.broker_settings
            self._entries = max_entries(
                settings.log_cleaner_dedupe_buffer_size,
                load_factor=settings.log_cleaner_io_buffer_load_factor,
            )
        return self._entries

    def _wanted_us(self, now: int) -> Iterator[int]:
        """Yield the times at which a log that is not cleanable yet may become cleanable."""
        now_ms, brokers = self._now_ms, self._brokers
        for broker, log in sorted(self._led.items()):
            dirty = log.log.dirty()
            if not dirty or not brokers.up(broker):
                continue
            kept_from_it = not brokers.answers(broker) or brokers.disk_is_full(broker)
            if kept_from_it or log.log.settled < log.log.active_base_offset:
                yield now + 1
            for segment in dirty:
                for due_ms in (
                    segment.largest_timestamp_ms + self._settings.min_compaction_lag_ms,
                    segment.first_timestamp_ms + self._settings.max_compaction_lag_ms + 1,
                ):
                    if due_ms > now_ms:
                        yield (due_ms - self._run.epoch_ms) * US_PER_MS

    @property
    def _now_ms(self) -> int:
        """Return the wall clock."""
        return self._run.epoch_ms + self._run.kernel.now // US_PER_MS
