"""Batches of an offsets partition: how a coordinator's records are batched and written.

The machine proposes atomic sets of records. The first opens a batch, others join it while there is
room, and the host decides when it is written: with Kafka's adaptive linger, when all events that
were queued when it was opened have been handled. No batch is larger than ``max.message.bytes``: if
a set does not fit, the open batch is written first and the set begins another; a set that is too
large for any batch fails.

Source: ``CoordinatorRuntime.CoordinatorContext`` (append, flushCurrentBatch) and ``UnifiedLog`` of
Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from emulator.events import Appended, AppendFailed
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.offsets_log.leader_log import LeaderLog
from emulator.world.kernel import Rank
from emulator.world.run import Run
from protocols.machine import Append, Step
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records import Record
from protocols.offsets_topic.records.codec import sizes_of
from protocols.offsets_topic.segments.header import HEADER_BYTES, records_size

Records = tuple[Record, ...]


class Rejected(NamedTuple):
    """A failed append; all records proposed after it fail with it."""

    log_offset: int
    error: ErrorCode


class Part(NamedTuple):
    """The records of one group in a batch."""

    group: str
    log_offset: int
    """Of its first record."""

    records: dict[str, int]
    """Number of records by type name."""

    size: int
    """Bytes; the first part includes the batch header."""


class Appends:
    """The open batch of one coordinator, and the disk that it is written to."""

    def __init__(
        self,
        run: Run,
        brokers: Brokers,
        number: int,
        broker: int,
        log: LeaderLog,
        written: Callable[[object], None],
    ) -> None:
        """Call *written* whenever a slow disk has written a batch of partition *number*."""
        self._run = run
        self._brokers = brokers
        self._number = number
        self._broker = broker
        self._log = log
        self._written = written
        self._limit = run.broker_settings.max_message_bytes
        self._open: list[Record] = []
        self._size = HEADER_BYTES
        self._rejected: Rejected | None = None
        self._measured: tuple[Records, tuple[tuple[int, int], ...]] = ((), ())
        """The set that was measured last, with the bytes of its keys and values."""

        self._busy_us = 0
        """The time at which the disk completes the last append."""

    # -- queries ---------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """The log offset of the next record."""
        return self._log.end + len(self._open)

    @property
    def is_busy(self) -> bool:
        """Whether the disk is still writing; the coordinator does nothing meanwhile."""
        return self._run.kernel.now < self._busy_us

    @property
    def is_empty(self) -> bool:
        """Whether no batch is open, and none failed."""
        return not self._open and self._rejected is None

    @property
    def is_full(self) -> bool:
        """Whether the open batch has no room left."""
        return bool(self._open) and self._size >= self._limit

    def error_of(self, step: Step[Any]) -> ErrorCode | None:
        """Return why the records that a step proposes cannot be written; None if they can."""
        for effect in step.effects:
            if isinstance(effect, Append):
                size = HEADER_BYTES + records_size(self._sizes(effect.records))
                return self._error(size)
        return None

    # -- batches ---------------------------------------------------------------------------------

    def add(self, records: Records) -> None:
        """Add an atomic set to the open batch; write that batch first if it has no room."""
        sizes = self._sizes(records)
        size = records_size(sizes, len(self._open))
        if self._open and self._size + size > self._limit:
            self.write()
            size = records_size(sizes)
        if self._rejected is None:
            self._open += records
            self._size += size

    def write(self) -> None:
        """Append the open batch, if there is one."""
        if not self._open:
            return
        records, size = tuple(self._open), self._size
        self.drop()
        error = self._error(size)
        if error is None:
            self._append(records, size)
        else:
            self._rejected = Rejected(self._log.end, error)
            self._write_failed(records, size, error)

    def drop(self) -> None:
        """Discard the open batch: its coordinator no longer exists."""
        self._open.clear()
        self._size = HEADER_BYTES
        self._busy_us = 0

    def take_rejected(self) -> Rejected | None:
        """Return the failed append since the last call, if any."""
        rejected, self._rejected = self._rejected, None
        return rejected

    # -- the disk --------------------------------------------------------------------------------

    def _error(self, size: int) -> ErrorCode | None:
        if size > self._limit:
            return ErrorCode.MESSAGE_TOO_LARGE
        if self._brokers.disk_is_full(self._broker):
            return ErrorCode.KAFKA_STORAGE_ERROR
        return None

    def _append(self, records: Records, size: int) -> None:
        kernel, log, first = self._run.kernel, self._log, self._log.end
        written_us = max(kernel.now, self._busy_us) + self._brokers.disk_us(self._broker)
        if written_us > kernel.now:
            self._busy_us = written_us
            kernel.at(written_us, Rank.BROKER_TIMER, self._number, self._written)
        log.append(records, written_us, size)
        amount = log.log.amount(log.end)
        for part in _parts(records, first, size):
            appended = Appended(
                log_partition=self._number,
                group=part.group,
                log_offset=part.log_offset,
                records=tuple(sorted(part.records.items())),
                size=part.size,
                high_watermark=log.high_watermark,
                leader_epoch=log.epoch,
                broker=self._broker,
                log_size=amount.size,
                log_records=amount.records,
            )
            self._run.recorder.write_data(appended)
        for look in self._run.appended:
            look(records)

    def _write_failed(self, records: Records, size: int, error: ErrorCode) -> None:
        of_the_disk = error is ErrorCode.KAFKA_STORAGE_ERROR
        cause = self._run.causes.brokers if of_the_disk else None
        for part in _parts(records, self._log.end, size):
            failed = AppendFailed(
                log_partition=self._number,
                broker=self._broker,
                group=part.group,
                log_offset=part.log_offset,
                records=sum(part.records.values()),
                error=error.name,
            )
            self._run.recorder.write(failed, cause)

    def _sizes(self, records: Records) -> tuple[tuple[int, int], ...]:
        if self._measured[0] is not records:
            self._measured = (records, tuple(map(sizes_of, records)))
        return self._measured[1]


def _parts(records: Records, first: int, size: int) -> Iterator[Part]:
    """Yield the part of each group in a batch, in order of their first records."""
    alike = Counter([(each.key[0], type(each.key), each.value is None) for each in records])
    kinds = defaultdict[str, dict[str, int]](dict)
    for (group, key, is_tombstone), count in alike.items():
        assert isinstance(group, str), "a record of a type that no coordinator writes"
        kinds[group][_kind(key, is_tombstone=is_tombstone)] = count
    shares = {next(iter(kinds)): size} if len(kinds) == 1 else _shares(records)
    for group, counted in kinds.items():
        begin = next(number for number, each in enumerate(records, first) if each.key[0] == group)
        yield Part(group, begin, counted, shares[group])


def _shares(records: Records) -> dict[str, int]:
    """Return each group's part of a batch, in bytes; the first part includes the batch header."""
    shares = {_group_of(records[0]): HEADER_BYTES}
    for delta, record in enumerate(records):
        group = _group_of(record)
        shares[group] = shares.get(group, 0) + records_size((sizes_of(record),), delta)
    return shares


def _group_of(record: Record) -> str:
    """Return the group of a record: the first field of every key."""
    group = record.key[0]
    assert isinstance(group, str), "a record of a type that no coordinator writes"
    return group


def kind_of(record: Record) -> str:
    """Return the name of a record's type in counts and reports."""
    return _kind(type(record.key), is_tombstone=record.value is None)


@cache
def _kind(key: type, *, is_tombstone: bool) -> str:
    name = key.__name__.removesuffix("Key")
    return f"{name} tombstone" if is_tombstone else name
