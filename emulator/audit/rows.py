"""Rows of a processing log in one form: whose work on which offsets of which partition, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.audit.errors import AuditError
from emulator.audit.mapping import Mapped
from emulator.audit.times import Array, shown, to_us

_LARGEST_KEY = 1 << 62
PROCESSED = "Processed"
_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_large_string,
)
"""Types of columns that may hold whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Columns of equal length; a key names topic, partition and consumer."""

    keys: Array
    topics: list[str]
    consumers: list[str]
    partitions: int
    """Above every partition's number: a key is (topic * partitions + partition) * consumers + consumer."""

    lo: Array
    hi: Array
    began_us: Array
    ended_us: Array

    def __len__(self) -> int:
        return len(self.keys)

    def select(self, places: Array) -> Rows:
        """Return some of the rows."""
        return Rows(
            keys=self.keys[places],
            topics=self.topics,
            consumers=self.consumers,
            partitions=self.partitions,
            lo=self.lo[places],
            hi=self.hi[places],
            began_us=self.began_us[places],
            ended_us=self.ended_us[places],
        )

    def split_keys(self, keys: Array) -> tuple[Array, Array, Array]:
        """Return the places of topics, the partitions, and the places of consumers of keys."""
        rest, consumers = np.divmod(keys, max(1, len(self.consumers)))
        topics, partitions = np.divmod(rest, self.partitions)
        return topics, partitions, consumers


def rows_of(batch: pa.RecordBatch, mapped: Mapped, unit: str, where: str) -> Rows:
    """Bring a batch into the one form; raise AuditError for values that cannot be.

    *where*: the log, and which row of it the first one is, for messages.
    """
    if mapped.events:
        chosen = pc.equal(batch.column("kind").cast(pa.string()), PROCESSED)
        batch = batch.filter(chosen)
    columns = {name: _flat(batch.column(name)) for name in mapped.columns}
    for name, column in columns.items():
        if column.null_count:
            row = pc.index(pc.is_null(column), pa.scalar(value=True)).as_py()
            raise AuditError(f"{where}, row {row + 1:,} of these: column {name!r} is empty")
    topic_codes, topics = _codes(columns[mapped.topic], mapped.topic, where)
    consumer_codes, consumers = _codes(columns[mapped.consumer], mapped.consumer, where)
    numbers = _whole(columns[mapped.partition], mapped.partition, where)
    _refuse_below(numbers, mapped.partition, where)
    partitions = int(numbers.max(initial=0)) + 1
    if partitions * max(1, len(topics)) * max(1, len(consumers)) > _LARGEST_KEY:
        raise AuditError(
            f"{where}: column {mapped.partition!r} holds {partitions - 1}, no partition"
        )
    lo, hi = _range(columns, mapped, where)
    try:
        ended = to_us(columns[mapped.end], unit, mapped.end)
        began = ended if mapped.start is None else to_us(columns[mapped.start], unit, mapped.start)
    except (pa.ArrowInvalid, ValueError) as error:
        raise AuditError(f"{where}: a time cannot be read: {error}") from None
    _refuse_backwards(began, ended, where)
    keys = topic_codes.astype(np.int64)
    keys = (keys * partitions + numbers) * max(1, len(consumers)) + consumer_codes
    return Rows(
        keys=keys,
        topics=topics,
        consumers=consumers,
        partitions=partitions,
        lo=lo,
        hi=hi,
        began_us=began,
        ended_us=ended,
    )


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _codes(column: pa.Array, name: str, where: str) -> tuple[Array, list[str]]:
    """Return a text column as places in a list of its values."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            raise AuditError(f"{where}: column {name!r} is of type {kind}; expected text")
        column = column.dictionary_encode()
    values = [str(value) for value in column.dictionary.to_pylist()]
    return column.indices.to_numpy(zero_copy_only=False), values


def _whole(column: pa.Array, name: str, where: str) -> Array:
    """Return a column of whole numbers."""
    try:
        if any(is_kind(column.type) for is_kind in _NUMBERS):
            return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid as error:
        raise AuditError(f"{where}: column {name!r} must hold whole numbers: {error}") from None
    raise AuditError(f"{where}: column {name!r} is of type {column.type}; expected whole numbers")


def _range(columns: dict[str, pa.Array], mapped: Mapped, where: str) -> tuple[Array, Array]:
    if mapped.offset is not None:
        lo = _whole(columns[mapped.offset], mapped.offset, where)
        _refuse_below(lo, mapped.offset, where)
        return lo, lo + 1
    assert mapped.lo is not None, "a log tells offsets or ranges"
    lo = _whole(columns[mapped.lo], mapped.lo, where)
    _refuse_below(lo, mapped.lo, where)
    if mapped.hi is not None:
        hi = _whole(columns[mapped.hi], mapped.hi, where)
    else:
        assert mapped.last is not None, "a range has an end"
        hi = _whole(columns[mapped.last], mapped.last, where) + 1
    empty = hi <= lo
    if empty.any():
        row = int(empty.argmax())
        inclusive = mapped.hi is None
        shown_end = f"{hi[row] - 1} (its last)" if inclusive else f"{hi[row]} (the next one)"
        raise AuditError(
            f"{where}, row {row + 1:,} of these: the range from {lo[row]} to {shown_end} holds "
            "no record"
        )
    return lo, hi


def _refuse_below(values: Array, name: str, where: str) -> None:
    wrong = values < 0
    if wrong.any():
        row = int(wrong.argmax())
        raise AuditError(
            f"{where}, row {row + 1:,} of these: column {name!r} holds {values[row]}; expected 0 or more"
        )


def _refuse_backwards(began: Array, ended: Array, where: str) -> None:
    wrong = began > ended
    if wrong.any():
        row = int(wrong.argmax())
        raise AuditError(
            f"{where}, row {row + 1:,} of these: times out of order: work began at "
            f"{shown(int(began[row]))} and ended before, at {shown(int(ended[row]))}"
        )
