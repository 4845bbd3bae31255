"""The log cleaner of one offsets partition: when it runs, what it compacts.

A cleaner's thread looks every ``log.cleaner.backoff.ms`` for a log that is worth it. Nothing
becomes worth it but by a segment that is full, by a high watermark that passes its end, or by a
lag that is over, so only the looks after these are taken, at the instants at which all of them
would be. A compaction takes no time: of a log this size it is over long before the next look.

Source: ``LogCleaner.CleanerThread``, ``LogCleanerManager`` of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.events import LogCompacted, SegmentRolled
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.leader_log import LeaderLog
from emulator.world.cluster.stored_log import StoredBatch
from emulator.world.kernel import Rank
from emulator.world.run import Run
from protocols.offsets_topic.segments.segment import LogSettings
from protocols.settings import BrokerSettings

US_PER_MS = 1_000


def log_settings(settings: BrokerSettings) -> LogSettings:
    """Return what holds for the log of an offsets partition."""
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
        """Keys that its offset map holds; None: it has not been needed yet."""

        self._due_us: int | None = None
        """When it looks next; None: there is nothing to look for."""

    def rolled(self, broker: int, log: LeaderLog, batch: StoredBatch) -> None:
        """Take note of a batch that has begun a new segment."""
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
        """Take note of a broker that leads with a log: what was not yet compacted may be now."""
        if log.log.dirty():
            self._look_at(self._run.kernel.now + 1)

    def _look_at(self, not_before_us: int) -> None:
        """Look at the first instant from a time on at which the cleaner's thread does."""
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
        """Compact a log as long as it is worth it and comes to anything."""
        stored, now_ms = log.log, self._now_ms
        what = stored.to_clean(log.high_watermark, now_ms)
        while what.eligible and not self._brokers.disk_is_full(broker):
            gone = stored.clean(what, log.high_watermark, now_ms, self._most_entries)
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
    def _most_entries(self) -> int:
        """How many keys are mapped at once, with one cleaner thread."""
        if self._entries is None:
            from protocols.offsets_topic.segments.offset_map import most_entries  # noqa: PLC0415  few runs need it

            settings = self._run.broker_settings
            self._entries = most_entries(
                settings.log_cleaner_dedupe_buffer_size,
                load_factor=settings.log_cleaner_io_buffer_load_factor,
            )
        return self._entries

    def _wanted_us(self, now: int) -> Iterator[int]:
        """Yield when something that is not worth it yet may be."""
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
        """The wall clock."""
        return self._run.epoch_ms + self._run.kernel.now // US_PER_MS
