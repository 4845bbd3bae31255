"""The offset commits of a segment as Arrow columns.

One row a commit or tombstone, in the order of the log:

================  ==============================================================================
column            content
================  ==============================================================================
log_offset        of the record
timestamp         of the record, epoch ms
producer_id       of its batch; -1 outside transactions
record_type       1; 0 for the oldest form, which counts as type 1
group
topic
partition
is_tombstone      whether the offset is deleted; if so, what follows is null
value_version
offset            the next offset to read
leader_epoch      of the last record read; -1: unknown
metadata
commit_timestamp  epoch ms
expire_timestamp  epoch ms; -1: none
topic_id          as Kafka prints it
================  ==============================================================================

Text is dictionary-encoded separately in each record batch. The outcome of transactions is not
decided here: a row with a producer id counts only if a commit marker follows.

Values are decoded together by the layouts of ``columns_rows``; a value with another layout goes
through the value decoder. Keys repeat: each is decoded once per record batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from emulator.logs.offsets_log.columns_left_out import Beside, LeftOut
from emulator.logs.offsets_log.columns_rows import NUMBERS, Array, CommitKey, RowMaker
from protocols.offsets_topic.records.schema import UUID
from protocols.offsets_topic.records.wire import uuid_text
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.header import CONTROL, BadBatch
from protocols.offsets_topic.segments.reader import Gap, gap_of, read_batches
from protocols.offsets_topic.segments.record import RecordFields
from protocols.offsets_topic.segments.resync import LIMITS, Limits

ROWS: Final = 131_072
"""Maximum number of rows of one record batch."""

_RUN: Final = 1_024
"""Number of records decoded together: few enough for a processor's cache."""

_RUN_BYTES: Final = 2**22
"""Maximum size of their batches, uncompressed: records of large groups have a megabyte each."""

Runs = Iterator[tuple[RecordFields, Array]]
"""A number of records, and the producer id of each."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
SCHEMA: Final = pa.schema(
    [
        ("log_offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("record_type", pa.int16()),
        ("group", _TEXT),
        ("topic", _TEXT),
        ("partition", pa.int32()),
        ("is_tombstone", pa.bool_()),
        ("value_version", pa.int16()),
        ("offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", _TEXT),
        ("commit_timestamp", pa.int64()),
        ("expire_timestamp", pa.int64()),
        ("topic_id", _TEXT),
    ]
)


class CommitColumns:
    """The commits of a stream, to be iterated once; ``left_out`` counts everything else."""

    def __init__(
        self, source: bytes | BinaryIO, *, rows: int = ROWS, limits: Limits = LIMITS
    ) -> None:
        """Read from bytes, or from a binary file at its beginning.

        *rows*: the maximum of a record batch; memory grows with it, not with the stream.
        """
        self.left_out = LeftOut()
        self._source = source
        self._limits = limits
        self._max_rows = rows
        self._run = min(_RUN, rows)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield record batches of ``SCHEMA``, none of them empty; invalid bytes do not raise."""
        runs = runs_of(self._source, self._limits, self.left_out, self._run)
        made = record_batches(runs, self.left_out, self._max_rows)
        return (batch for batch in made if batch is not None)


def record_batches(
    runs: Runs, left_out: Beside, max_rows: int = ROWS
) -> Iterator[pa.RecordBatch | None]:
    """Yield the commits among some records; None after each run, so that other rows can be written.

    No run has more than *max_rows* records, and no record batch is empty.
    """
    maker, parts, room = RowMaker(left_out), list[Array](), max_rows
    for run, producer_ids in runs:
        if room < len(run.offsets):
            yield from _record_batches(maker, parts)
            maker, parts, room = RowMaker(left_out), [], max_rows
        parts.append(maker.rows(run, producer_ids))
        room -= len(run.offsets)
        yield None
    yield from _record_batches(maker, parts)


def runs_of(source: bytes | BinaryIO, limits: Limits, left_out: Beside, most: int = _RUN) -> Runs:
    """Yield all records of a stream, at most *most* together; invalid bytes do not raise."""
    fields, producer_ids, counts, size = _no_records(), list[int](), list[int](), 0
    for batch in _sound_batches(source, limits, left_out):
        before = len(fields.offsets)
        if before and (before + batch.header.record_count > most or size > _RUN_BYTES):
            yield from _cut(fields, np.repeat(producer_ids, counts), most)
            fields, producer_ids, counts, size, before = _no_records(), [], [], 0, 0
        try:
            size += batch.add_to(fields, limits.inflated_bytes, limits.records)
        except BadBatch as error:
            left_out.gap(gap_of(batch, error))
        else:
            producer_ids.append(batch.header.producer_id)
            counts.append(len(fields.offsets) - before)
    yield from _cut(fields, np.repeat(producer_ids, counts), most)


def _sound_batches(source: bytes | BinaryIO, limits: Limits, left_out: Beside) -> Iterator[Batch]:
    """Yield the batches of records; pass the other parts to *left_out*."""
    for found in read_batches(source, limits):
        if isinstance(found, Gap):
            left_out.gap(found)
        elif found.header.attributes & CONTROL:
            left_out.marker(found)
        else:
            yield found


def _no_records() -> RecordFields:
    return RecordFields.empty()


def _cut(fields: RecordFields, producer_ids: Array, size: int) -> Runs:
    """Yield records in pieces of limited size: one batch can contain very many."""
    count = len(fields.offsets)
    if 0 < count <= size:
        yield fields, producer_ids
        return
    for start in range(0, count, size):
        piece = slice(start, start + size)
        cut = RecordFields(
            fields.offsets[piece],
            fields.timestamps[piece],
            fields.keys[piece],
            fields.values[piece],
            {at - start: had for at, had in fields.headers.items() if start <= at < start + size},
        )
        yield cut, producer_ids[piece]


def _record_batches(maker: RowMaker, parts: Sequence[Array]) -> Iterator[pa.RecordBatch]:
    """Yield rows as one record batch; nothing if there are none."""
    if not sum(map(len, parts)):
        return
    rows = np.concatenate(parts)
    missing = rows["is_tombstone"] if rows["is_tombstone"].any() else None
    columns = {
        name: pa.array(np.ascontiguousarray(rows[name]))
        for name in ("log_offset", "timestamp", "producer_id", "is_tombstone")
    }
    columns |= _key_columns(maker.keys, rows["key"])
    columns["value_version"] = pa.array(np.ascontiguousarray(rows["value_version"]), mask=missing)
    columns["metadata"] = _texts(rows["metadata"], maker.metadata, missing)
    for name, kind in NUMBERS.items():
        numbers = np.ascontiguousarray(rows[name])
        columns[name] = _ids(numbers, missing) if kind is UUID else pa.array(numbers, mask=missing)
    yield pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _key_columns(keys: Sequence[CommitKey], places: Array) -> dict[str, pa.Array]:
    """Return the columns of keys, for rows with indices of keys."""
    groups, topics = dict[str, int](), dict[str, int]()
    group_of = [groups.setdefault(key.group, len(groups)) for key in keys]
    topic_of = [topics.setdefault(key.topic, len(topics)) for key in keys]
    partition_of = np.array([key.partition for key in keys], np.int32)
    type_of = np.array([key.record_type for key in keys], np.int16)
    return {
        "group": _texts(np.array(group_of)[places], list(groups)),
        "topic": _texts(np.array(topic_of)[places], list(topics)),
        "partition": pa.array(partition_of[places]),
        "record_type": pa.array(type_of[places]),
    }


def _texts(codes: Array, texts: Sequence[str], missing: Array | None = None) -> pa.Array:
    """Return a dictionary-encoded column; *codes* are indices into *texts*."""
    indices = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))


def _ids(raw: Array, missing: Array | None) -> pa.Array:
    """Return ids as the text that Kafka prints; few of them differ."""
    kind = pa.binary(UUID.size)
    ids = pa.Array.from_buffers(kind, len(raw), [None, pa.py_buffer(raw)]).dictionary_encode()
    texts = [uuid_text(each.as_py()) for each in ids.dictionary]
    return _texts(ids.indices.to_numpy(), texts, missing)
