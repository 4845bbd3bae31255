"""How far one or more periods move a run: its times, offsets and numbers, and its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import (
    Appended,
    CommitAccepted,
    CommitAnswered,
    CommitSent,
    Event,
    LagSampled,
    Offsets,
    Processed,
    RequestsCounted,
    What,
    is_data_event,
)
from emulator.world.cluster.offsets_log.stored_log import StoredBatch
from protocols.facts import CommitKind
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record
from protocols.values import replace

Records = Mapping[TopicPartition, int]
"""A number of records by partition."""


class LogGrowth(NamedTuple):
    """What is appended to a partition of the offsets log."""

    records: int
    size: int
    """Bytes."""

    def plus(self, other: LogGrowth, times: int) -> LogGrowth:
        """Return this growth, and then *other* so many times."""
        return LogGrowth(self.records + times * other.records, self.size + times * other.size)


NO_GROWTH = LogGrowth(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far times, offsets and numbers move."""

    later_us: int
    records: Mapping[str, Records]
    """By group: the records of each partition that its members get."""

    requests: Mapping[str, int]
    """By process: its requests with correlation ids."""

    logs: Mapping[int, LogGrowth]
    """By number of the offsets partition."""

    def plus(self, other: Shift, times: int) -> Shift:
        """Return this shift, and then *other* so many times."""
        return Shift(
            later_us=self.later_us + times * other.later_us,
            records={
                group: {
                    tp: records.get(tp, 0) + times * n for tp, n in other.records[group].items()
                }
                for group, records in self.records.items()
            },
            requests={
                name: self.requests.get(name, 0) + times * n for name, n in other.requests.items()
            },
            logs={
                number: growth.plus(other.logs[number], times)
                for number, growth in self.logs.items()
            },
        )


LogEnd = Callable[[TopicPartition, int], int]
"""Returns the end of a partition's log at a time (us)."""


def can_move(what: What) -> bool:
    """Return whether an event with this content may be part of a period."""
    if type(what) is CommitSent:
        return what.kind != CommitKind.ADMIN
    if type(what) in (LagSampled, RequestsCounted):
        return True
    return type(what) in _MOVED and is_data_event(what)


def moved(event: Event, shift: Shift, log_end: LogEnd) -> Any:
    """Return what happens *shift* after an event that happened in the same state."""
    what = event.what
    if type(what) is LagSampled:
        return _sampled(what, shift, event.at_us + shift.later_us, log_end)
    return _MOVED[type(what)](what, shift)


def moved_commit(what: What, shift: Shift) -> Any:
    """Return what a later commit does; see :func:`moved`."""
    return _MOVED[type(what)](what, shift)


def moved_batch(batch: StoredBatch, shift: Shift) -> StoredBatch:
    """Return a later batch of commits."""
    later_ms = shift.later_us // 1_000
    records = tuple([_moved_record(record, shift, later_ms) for record in batch.records])
    header = batch.header._replace(max_timestamp=batch.header.max_timestamp + later_ms)
    return batch._replace(records=records, header=header)


def is_commit(record: Record) -> bool:
    """Return whether a record of the offsets log is a commit."""
    return type(record.value) is OffsetCommitValue


def _moved_record(record: Record, shift: Shift, later_ms: int) -> Record:
    key, value = record
    assert isinstance(key, OffsetCommitKey)
    assert isinstance(value, OffsetCommitValue)
    more = shift.records[key.group].get(TopicPartition(key.topic, key.partition), 0)
    timestamp = value.commit_timestamp + later_ms
    return Record(key, value._replace(offset=value.offset + more, commit_timestamp=timestamp))


def _moved_offsets(offsets: Offsets, records: Records) -> Offsets:
    return tuple([(tp, offset + records.get(tp, 0)) for tp, offset in offsets])


def _moved_known(offsets: Iterable[int], more: list[int]) -> tuple[int, ...]:
    """Return offsets further by *more*; -1 stays: nothing is known."""
    pairs = zip(offsets, more, strict=True)
    return tuple([offset if offset < 0 else offset + count for offset, count in pairs])


def _moved_name(commit: str, shift: Shift) -> str:
    """Return the name of a later commit: that of its process, and a later number."""
    process, _, number = commit.rpartition("#")
    return f"{process}#{int(number) + shift.requests[process]}"


def _processed(what: Processed, shift: Shift) -> Processed:
    more = shift.records[what.group].get(what.partition, 0)
    return replace(
        what,
        first=what.first + more,
        next_offset=what.next_offset + more,
        began_us=what.began_us + shift.later_us,
    )


def _sent(what: CommitSent, shift: Shift) -> CommitSent:
    records = shift.records[what.group]
    more = [records.get(tp, 0) for tp, _ in what.offsets]
    return replace(
        what,
        commit=_moved_name(what.commit, shift),
        offsets=_moved_offsets(what.offsets, records),
        processed=_moved_known(what.processed, more),
    )


def _accepted(what: CommitAccepted, shift: Shift) -> CommitAccepted:
    appended = shift.logs[what.log_partition].records
    return replace(
        what,
        commit=_moved_name(what.commit, shift),
        offsets=_moved_offsets(what.offsets, shift.records[what.group]),
        log_offset=what.log_offset + appended,
        high_watermark=what.high_watermark + appended,
    )


def _answered(what: CommitAnswered, shift: Shift) -> CommitAnswered:
    return replace(what, commit=_moved_name(what.commit, shift))


def _appended(what: Appended, shift: Shift) -> Appended:
    records, size = shift.logs[what.log_partition]
    return replace(
        what,
        log_offset=what.log_offset + records,
        high_watermark=what.high_watermark + records,
        log_size=what.log_size + size,
        log_records=what.log_records + records,
    )


def _counted(what: RequestsCounted, shift: Shift) -> RequestsCounted:
    return replace(what, since_us=what.since_us + shift.later_us)


def counted_more(what: RequestsCounted, kind: str, more: int) -> RequestsCounted:
    """Return a count with *more* requests of a kind."""
    return counted_anew(what, kind, dict(what.counts).get(kind, 0) + more)


def counted_anew(what: RequestsCounted, kind: str, count: int) -> RequestsCounted:
    """Return a count with *count* requests of a kind."""
    counts = {**dict(what.counts), kind: count}
    return replace(what, counts=tuple(sorted(each for each in counts.items() if each[1])))


Commit = TypeVar("Commit", CommitSent, CommitAccepted, CommitAnswered)


def renumbered(what: Commit, more: int) -> Commit:
    """Return an event of a commit whose process has sent so many more requests."""
    process, _, number = what.commit.rpartition("#")
    return replace(what, commit=f"{process}#{int(number) + more}")


def _sampled(what: LagSampled, shift: Shift, at_us: int, log_end: LogEnd) -> LagSampled:
    records = shift.records[what.group]
    more = [records.get(tp, 0) for tp in what.partitions]
    return replace(
        what,
        log_ends=tuple([log_end(tp, at_us) for tp in what.partitions]),
        committed=_moved_known(what.committed, more),
        processed=_moved_known(what.processed, more),
    )


_MOVED: dict[type, Callable[[Any, Shift], Any]] = {
    Processed: _processed,
    CommitSent: _sent,
    CommitAccepted: _accepted,
    CommitAnswered: _answered,
    Appended: _appended,
    RequestsCounted: _counted,
}
