"""The log cleaner of topics: it removes the records of which their key has a newer one.

An idle cleaner looks for work at each ``log.cleaner.backoff.ms``, and compacts every partition of which
more than ``min.cleanable.dirty.ratio`` is dirty (``LogCleanerManager.grabFilthiestCompactedLog``). What is
dirty ends where the cleaner may not compact yet: at the active segment, at the first segment with records
younger than ``min.compaction.lag.ms``, at the segment that contains the high watermark (``cleanableOffsets``,
``calculateCleanableBytes``). A pass takes no time, and all replicas are compacted alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from assignors.types import TopicPartition
from emulator.scenario.units import US_PER_MS
from emulator.world.cluster.partitions.partition_log import PartitionLog
from protocols.messages.removed import Removed
from protocols.settings import TopicSettings

Ranges = tuple[tuple[int, int], ...]


class CompactedPartition:
    """One partition as its cleaner knows it: where its segments begin, and how far it is compacted."""

    __slots__ = ("_bases", "_key_of", "_newest", "_per_segment", "_settings", "clean", "log")

    def __init__(
        self, log: PartitionLog, settings: TopicSettings, key_of: Callable[[int], object]
    ) -> None:
        self.log = log
        self._settings = settings
        self._key_of = key_of
        self._per_segment = max(settings.segment_bytes // log.record_size, 1)
        self._bases = [0]
        """The first offset of each segment; the last is the active one."""

        self.clean = 0
        """All below this offset was compacted."""

        self._newest: dict[object, int] = {}
        """The offset that each key has below it."""

    def compact(self, now: int) -> Ranges:
        """Compact what is dirty, if it is enough; return the offsets whose records are removed."""
        self._roll(now)
        end = self._cleanable_end(now)
        if not self._is_due(end, now):
            return ()
        gone: list[int] = []
        for offset in range(max(self.clean, self.log.start), end):
            key = self._key_of(offset)
            older = self._newest.get(key, -1)
            if older >= self.log.start:
                gone.append(older)
            self._newest[key] = offset
        self.clean = end
        found = Removed.of((offset, offset + 1) for offset in gone)
        if found:
            before = self.log.gaps
            self.log.compact(before.plus(found.ranges) if isinstance(before, Removed) else found)
        return tuple(found.ranges)

    def _roll(self, now: int) -> None:
        """Find the segments that have begun: each with the first record that the one before it refused."""
        settings, end = self._settings, self.log.end(now)
        longest_us = min(settings.segment_ms, settings.max_compaction_lag_ms) * US_PER_MS
        while self._bases[-1] < end:
            base = self._bases[-1]
            late = self.log.end(self.log.appended_at(base) + longest_us)
            following = min(base + self._per_segment, max(late, base + 1))
            if following >= end:
                return
            self._bases.append(following)

    def _cleanable_end(self, now: int) -> int:
        """Return the first offset that may not be compacted yet: the beginning of a segment."""
        youngest_us = now - self._settings.min_compaction_lag_ms * US_PER_MS
        end = self._bases[-1]
        if self._settings.min_compaction_lag_ms:
            for base, following in zip(self._bases, self._bases[1:], strict=False):
                if following > self.clean and self.log.appended_at(following - 1) > youngest_us:
                    end = base
                    break
        limit = min(end, self.log.high_watermark(now))
        return max(self._bases[bisect_right(self._bases, limit) - 1], self.clean)

    def _is_due(self, end: int, now: int) -> bool:
        """Return whether enough is dirty, or something has been for too long."""
        if end <= self.clean:
            return False
        oldest_us = now - self._settings.max_compaction_lag_ms * US_PER_MS
        if self.log.appended_at(self.clean) < oldest_us:
            return True
        dirty = end - max(self.clean, self.log.start)
        clean = max(self.clean - self.log.start, 0)
        if isinstance(self.log.gaps, Removed):
            clean = self.log.gaps.count_in(self.log.start, max(self.clean, self.log.start))
        return dirty > self._settings.min_cleanable_dirty_ratio * (clean + dirty)


class Cleaner:
    """The cleaner of all compacted topics of a run."""

    def __init__(
        self,
        settings_of: Callable[[str], TopicSettings],
        key_of: Callable[[TopicPartition, int], object],
    ) -> None:
        """*settings_of*: of a topic by name; *key_of*: the key of a record."""
        self._settings_of = settings_of
        self._key_of = key_of
        self._known: dict[TopicPartition, CompactedPartition] = {}

    def compact(self, tp: TopicPartition, log: PartitionLog, now: int) -> Ranges:
        """Compact one partition if that is due; return the offsets whose records are removed."""
        known = self._known.get(tp)
        if known is None or known.log is not log:
            settings = self._settings_of(tp.topic)
            known = CompactedPartition(log, settings, lambda offset: self._key_of(tp, offset))
            self._known[tp] = known
        return known.compact(now)
