"""Read a live cluster's offsets topic: its partitions, their records, and aborted transactions.

Partitions are assigned by hand: no group is joined and nothing is committed. Waiting is bounded,
and the error names the address. A consumer does not receive markers, so there are two consumers:
one reads committed records and goes first, one reads all records and follows. Records that only the
second receives were aborted: they arrived later, so compaction has not removed them in between. As
consumers prefetch, the second one has nothing assigned until the first has finished a window. From
the last stable offset on, where the log ends for the first one, the outcome is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, cast

import numpy as np
import pyarrow as pa
from confluent_kafka import (
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from emulator.logs.errors import BrokerError
from emulator.logs.imports.client_settings import PATIENCE_S, for_consumer
from emulator.logs.imports.pieces import LogRange
from emulator.logs.imports.rows import Collected
from emulator.logs.imports.tables import ABORTED, UNDECIDED, with_outcome
from emulator.logs.offsets_log.columns import Runs
from protocols.offsets_topic.segments.record import LogRecord, RecordFields

TOPIC: Final = "__consumer_offsets"
Settings = Mapping[str, str]


def log_ranges(settings: Settings, begin_ms: int | None) -> list[LogRange]:
    """Return the range to read of each partition of the offsets log that is not empty.

    *begin_ms*: epoch ms of the first requested record. Raise BrokerError if the cluster does not
    respond, has no such topic, or denies access.
    """
    with consumer(settings) as (client, reasons):
        try:
            partitions = _partitions(client, settings)
            found = [_log_range(client, number, begin_ms) for number in partitions]
        except KafkaException as error:
            client.poll(0)  # delivers the reasons of failed connections
            raise no_answer(settings, error.args[0], reasons) from None
    return [each for each in found if each.size > 0]


@contextmanager
def consumer(
    settings: Settings, *, committed_only: bool = False
) -> Iterator[tuple[Consumer, list[str]]]:
    """Open a consumer and close it; yield it with the list of reasons of failed connections.

    Raise BrokerError for settings that librdkafka rejects.
    """
    reasons = list[str]()

    def note(error: KafkaError) -> None:
        reason = _AFTER.sub("", error.str())
        if error.code() not in _SUMMARIES and reason not in reasons:
            reasons.append(reason)

    wanted = for_consumer(settings, committed_only=committed_only)
    try:
        client = Consumer({**wanted, "error_cb": note})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        address = settings["bootstrap.servers"]
        raise BrokerError(
            f"{address}: a setting was rejected: {reason}. Settings are librdkafka's, such as "
            "security.protocol, sasl.mechanism, sasl.username, ssl.ca.location"
        ) from None
    try:
        yield client, reasons
    finally:
        client.close()


def no_answer(settings: Settings, error: KafkaError, reasons: list[str]) -> BrokerError:
    """Return the error for a cluster that cannot be read."""
    address = settings["bootstrap.servers"]
    if error.code() in _NO_RIGHT:
        return BrokerError(
            f"{address}: no permission to read the topic ({error.str()}). The user needs Read on it: "
            f"kafka-acls --add --operation Read --topic {TOPIC}"
        )
    reason = "; ".join(reasons[-2:]) or error.str()
    return BrokerError(f"{address}: no answer within {PATIENCE_S:.0f} s: {reason}")


_AFTER: Final = re.compile(r" \(after \d+ms in state \w+[^)]*\)")
_SUMMARIES: Final = frozenset({KafkaError._ALL_BROKERS_DOWN})  # noqa: SLF001  librdkafka's name
_NO_RIGHT: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def _partitions(client: Consumer, settings: Settings) -> list[int]:
    found = client.list_topics(TOPIC, timeout=PATIENCE_S).topics[TOPIC]
    if found.error is None:
        return sorted(found.partitions)
    if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        address = settings["bootstrap.servers"]
        raise BrokerError(
            f"{address}: the cluster has no topic {TOPIC}, or the user has no permission to see it. "
            "Kafka creates it when a group first commits"
        )
    raise KafkaException(found.error)


def _log_range(client: Consumer, number: int, begin_ms: int | None) -> LogRange:
    place = TopicPartition(TOPIC, number)
    low, high = client.get_watermark_offsets(place, timeout=PATIENCE_S)
    if begin_ms is not None:
        (at,) = client.offsets_for_times(
            [TopicPartition(TOPIC, number, max(0, begin_ms))], timeout=PATIENCE_S
        )
        if at.error is not None:
            raise KafkaException(at.error)
        low = high if at.offset in {OFFSET_END, -1} else max(low, at.offset)
    return LogRange(TOPIC, number, low, high)


POLL_S: Final = 0.2
WINDOW: Final = 50_000
"""Maximum number of records that one consumer is ahead of the other."""

_AT_ONCE: Final = 1_000
_PASSED_OVER: Final = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001  librdkafka's names
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001  the same
        KafkaError._TIMED_OUT,  # noqa: SLF001  the same
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    }
)
"""Transient errors, and that of the coordinator lookup for a group that is not used."""

_UNREADABLE: Final = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION})  # noqa: SLF001  the same
_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001  the same
_WORDS: Final = pa.array([ABORTED, UNDECIDED])


class LiveRecords:
    """The records of a range of a log, to be iterated once."""

    def __init__(self, log_range: LogRange, settings: Settings, collected: Collected) -> None:
        self._log_range = log_range
        self._settings = settings
        self._collected = collected
        self._aborted = list[int]()
        """Log offsets of aborted records that are not in a record batch yet."""

        self._undecided_from: int | None = None
        self.transactions = Counter[str]()
        """The numbers of commits that were aborted or are undecided."""

    def runs(self) -> Runs:
        """Yield records in groups; raise BrokerError if the cluster stops responding."""
        with ExitStack() as stack:
            ahead = self._reader(stack, committed_only=True)
            behind = self._reader(stack, committed_only=False)
            stable = min(self._log_range.end, ahead.end_of_log())
            for known in _windows(ahead.up_to(stable)):
                for everything in behind.up_to(ahead.next_offset):
                    yield from self._run(everything, known)
            self._undecided_from = ahead.next_offset
            for everything in behind.up_to(self._log_range.end):
                yield from self._run(everything, None)

    def marked(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of commits with the known outcomes of their transactions."""
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
        no_producer = pa.nulls(len(rows), pa.int64())
        place = rows.schema.get_field_index("producer_id")
        columns = [*rows.columns[:place], no_producer, *rows.columns[place + 1 :]]
        unknown = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
        return with_outcome(unknown, outcomes)

    def _run(self, records: list[LogRecord], known: set[int] | None) -> Runs:
        """Yield records; with *known*, records that are not in it were aborted."""
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
        return _Reader(client, reasons, self._log_range, self._settings, self._collected)


class _Reader:
    """One consumer reading a range of a log."""

    def __init__(
        self,
        client: Consumer,
        reasons: list[str],
        log_range: LogRange,
        settings: Settings,
        collected: Collected,
    ) -> None:
        self.next_offset = log_range.begin
        self._client = client
        self._reasons = reasons
        self._log_range = log_range
        self._settings = settings
        self._collected = collected
        self._left = list[LogRecord]()
        """Records received beyond the requested end."""

        self._end: int | None = None
        """Where the log ends for this consumer; None: not reached yet."""

    def end_of_log(self) -> int:
        """Return where the log ends for this consumer; it is known only after that offset is reached."""
        place = TopicPartition(self._log_range.topic, self._log_range.log_partition)
        try:
            _, end = self._client.get_watermark_offsets(place, timeout=PATIENCE_S)
        except KafkaException as error:
            self._client.poll(0)  # delivers the reasons of failed connections
            raise no_answer(self._settings, error.args[0], self._reasons) from None
        return end

    def up_to(self, end: int) -> Iterator[list[LogRecord]]:
        """Yield the records below an offset that have not been yielded yet, as they arrive.

        Nothing is fetched before the first and after the last of them.
        """
        if self.next_offset >= end:
            return
        self._left, self._end = [], None
        topic, partition = self._log_range.topic, self._log_range.log_partition
        self._client.assign([TopicPartition(topic, partition, self.next_offset)])
        while self.next_offset < end and (self._left or self._end is None):
            yield self._given(end)
        self._client.unassign()

    def _given(self, end: int) -> list[LogRecord]:
        """Wait for records, return those below an offset, and update the position."""
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
        """Wait for the next records; return none at the end. Raise BrokerError after the timeout."""
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
        """Handle an error event of the consumer."""
        code = error.code()
        if code == _END:
            self._end = offset
        elif code in _UNREADABLE:
            self._collected.gap_at(offset or 0, 1, error.str())
        elif code not in _PASSED_OVER:
            raise no_answer(self._settings, error, self._reasons)


def _windows(pieces: Iterable[list[LogRecord]]) -> Iterator[set[int]]:
    """Yield the offsets of about ``WINDOW`` records at a time."""
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
