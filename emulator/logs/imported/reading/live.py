"""A stretch of a live log as records, and what of them belongs to transactions.

A consumer is given no markers, so there are two of them: one that is given what was committed goes
ahead, one that is given everything follows it. What the second has and the first had not was
aborted: it was there later, so compaction has not taken it in between. As consumers fetch before
they are asked, the second one has nothing assigned until the first is through with a window. From
the last stable offset on, where the log ends for the first one, nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Final, cast

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from emulator.logs.imported.reading.broker import Settings, consumer, no_answer
from emulator.logs.imported.reading.client_settings import PATIENCE_S
from emulator.logs.imported.reading.collected import Collected
from emulator.logs.imported.reading.events_of import with_outcome
from emulator.logs.imported.reading.stretch import Stretch
from emulator.logs.imported.tables import ABORTED, UNDECIDED
from emulator.logs.offsets_log.columns import Runs
from protocols.offsets_topic.segments.record import LogRecord, RecordFields

POLL_S: Final = 0.2
WINDOW: Final = 50_000
"""How many records one consumer goes ahead of the other."""

_AT_ONCE: Final = 1_000
_PASSED_OVER: Final = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001  librdkafka's names
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001  the same
        KafkaError._TIMED_OUT,  # noqa: SLF001  the same
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    }
)
"""What may pass, and that it looks for the coordinator of a group that nobody needs."""

_UNREADABLE: Final = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION})  # noqa: SLF001  the same
_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001  the same
_WORDS: Final = pa.array([ABORTED, UNDECIDED])


class LiveRecords:
    """The records of a stretch, to be walked once."""

    def __init__(self, stretch: Stretch, settings: Settings, collected: Collected) -> None:
        self._stretch = stretch
        self._settings = settings
        self._collected = collected
        self._aborted = list[int]()
        """Log offsets of those that no record batch has had yet."""

        self._undecided_from: int | None = None
        self.transactions = Counter[str]()
        """Commits that were aborted or are undecided."""

    def runs(self) -> Runs:
        """Yield some records at a time; raise BrokerError if the cluster stops answering."""
        with ExitStack() as stack:
            ahead = self._reader(stack, committed_only=True)
            behind = self._reader(stack, committed_only=False)
            stable = min(self._stretch.end, ahead.end_of_log())
            for known in _windows(ahead.up_to(stable)):
                for everything in behind.up_to(ahead.next_offset):
                    yield from self._run(everything, known)
            self._undecided_from = ahead.next_offset
            for everything in behind.up_to(self._stretch.end):
                yield from self._run(everything, None)

    def marked(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of commits with what is known of their transactions."""
        log_offsets = rows.column("log_offset").to_numpy()
        codes, known = np.zeros(len(log_offsets), np.int8), np.zeros(len(log_offsets), np.bool_)
        if self._aborted:
            known |= np.isin(log_offsets, self._aborted)
            last = log_offsets[-1]
            self._aborted = [each for each in self._aborted if each > last]
        if self._undecided_from is not None:
            behind = log_offsets >= self._undecided_from
            codes[behind] = 1
            known |= behind
        self.transactions[ABORTED] += int((known & (codes == 0)).sum())
        self.transactions[UNDECIDED] += int((known & (codes == 1)).sum())
        outcomes = _WORDS.take(pa.array(codes, mask=~known))
        nobody = pa.nulls(len(rows), pa.int64())
        place = rows.schema.get_field_index("producer_id")
        columns = [*rows.columns[:place], nobody, *rows.columns[place + 1 :]]
        unknown = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
        return with_outcome(unknown, outcomes)

    def _run(self, records: list[LogRecord], known: set[int] | None) -> Runs:
        """Yield records; those that are not among the known ones, if these are told, were aborted."""
        if not records:
            return
        if known is not None:
            self._aborted += [each.offset for each in records if each.offset not in known]
        offsets, timestamps, keys, values, _ = map(list, zip(*records, strict=True))
        yield (
            RecordFields(offsets, timestamps, keys, values, {}),
            np.full(len(records), -1, np.int64),
        )

    def _reader(self, stack: ExitStack, *, committed_only: bool) -> _Reader:
        client, reasons = stack.enter_context(
            consumer(self._settings, committed_only=committed_only)
        )
        return _Reader(client, reasons, self._stretch, self._settings, self._collected)


class _Reader:
    """One consumer on its way through a stretch."""

    def __init__(
        self,
        client: Consumer,
        reasons: list[str],
        stretch: Stretch,
        settings: Settings,
        collected: Collected,
    ) -> None:
        self.next_offset = stretch.begin
        self._client = client
        self._reasons = reasons
        self._stretch = stretch
        self._settings = settings
        self._collected = collected
        self._left = list[LogRecord]()
        """Records that were given too early."""

        self._end: int | None = None
        """Where the log ends for this consumer; None: it has not come there."""

    def end_of_log(self) -> int:
        """Return where the log ends for this consumer; it is told so only where it comes there."""
        place = TopicPartition(self._stretch.topic, self._stretch.log_partition)
        try:
            _, end = self._client.get_watermark_offsets(place, timeout=PATIENCE_S)
        except KafkaException as error:
            self._client.poll(0)  # lets it tell why connections failed
            raise no_answer(self._settings, error.args[0], self._reasons) from None
        return end

    def up_to(self, end: int) -> Iterator[list[LogRecord]]:
        """Yield the records below an offset that have not been yielded yet, as they come.

        Before and after that, nothing is fetched.
        """
        if self.next_offset >= end:
            return
        self._left, self._end = [], None
        topic, partition = self._stretch.topic, self._stretch.log_partition
        self._client.assign([TopicPartition(topic, partition, self.next_offset)])
        while self.next_offset < end and (self._left or self._end is None):
            yield self._given(end)
        self._client.unassign()

    def _given(self, end: int) -> list[LogRecord]:
        """Wait for records, and return those below an offset; note how far that went."""
        records = self._left or self._waited_for()
        below = [record for record in records if record.offset < end]
        self._left = records[len(below) :]
        if self._left:
            self.next_offset = end
        elif self._end is not None:
            self.next_offset = max(self.next_offset, self._end)
        elif below:
            self.next_offset = below[-1].offset + 1
        return below

    def _waited_for(self) -> list[LogRecord]:
        """Return what comes next, nothing at the end; raise BrokerError if it does not come."""
        patience_s = monotonic() + PATIENCE_S
        while monotonic() < patience_s:
            found = self._client.consume(_AT_ONCE, POLL_S)
            records = [_record(each) for each in found if each.error() is None]
            for each in found:
                error = each.error()
                if error is not None:
                    self._hear(error, each.offset())
            if records or self._end is not None:
                return [each for each in records if each.offset >= self.next_offset]
        raise no_answer(self._settings, KafkaError(KafkaError._TIMED_OUT), self._reasons)  # noqa: SLF001  librdkafka's name

    def _hear(self, error: KafkaError, offset: int | None) -> None:
        """Take in something that is no record."""
        code = error.code()
        if code == _END:
            self._end = offset
        elif code in _UNREADABLE:
            self._collected.gap_at(offset or 0, 1, error.str())
        elif code not in _PASSED_OVER:
            raise no_answer(self._settings, error, self._reasons)


def _windows(pieces: Iterable[list[LogRecord]]) -> Iterator[set[int]]:
    """Yield the offsets of so many records at a time, and of the last ones if there are any."""
    known = set[int]()
    for piece in pieces:
        known.update(record.offset for record in piece)
        if len(known) >= WINDOW:
            yield known
            known = set()
    yield known


def _record(message: Message) -> LogRecord:
    _, timestamp = message.timestamp()
    return LogRecord(cast("int", message.offset()), timestamp, message.key(), message.value())
