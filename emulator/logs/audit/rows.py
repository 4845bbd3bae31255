"""The rows of a processing log in one form, and the content of its columns.

=========== ===================================================== ============================
name        content                                               default columns
=========== ===================================================== ============================
topic       the topic                                             topic
partition   the partition's number                                partition
offset      the offset of one record                              offset
lo, hi      or a range of offsets without ``hi``                  lo and hi, first and next
last        or its last offset, with ``lo``                       first and last
consumer    the consumer that processed it                        consumer, member, client_id
incarnation the process of that consumer; optional                incarnation
start       when processing began; optional                       start, started, began
end         when processing ended                                 end, ended, finished, timestamp
=========== ===================================================== ============================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assignors.values import dataclass
from emulator.events.stored import NEEDED as NEEDED_OF_EVENTS
from emulator.logs.audit.columns import (
    CLOCK_FROM_US,
    LARGEST_OFFSET,
    LARGEST_PARTITION,
    Array,
    WrongValueError,
    coded,
    flat,
    shown,
    to_us,
    whole,
)
from emulator.logs.errors import AuditError
from emulator.scenario.problems import hint, listed

_LARGEST_KEY = 1 << 62
PROCESSED = ("Processed", "ProcessedOutOfOrder")
"""The kinds of events that are processing; workers of a pool finish records out of order."""

_TIMES_AS_OLD = 100
"""A start that is this factor smaller than its end is of another unit."""

Where = Callable[[int | None], str]
"""Returns the position of a row of a batch, or of the whole batch, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Columns of equal length; a key names topic, partition and consumer."""

    keys: Array
    topics: list[str]
    consumers: list[str]
    partitions: int
    """Above the number of every partition: a key is
    (topic * partitions + partition) * consumers + consumer."""

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
        """Return the topic indices, partitions and consumer indices of keys."""
        rest, consumers = np.divmod(keys, max(1, len(self.consumers)))
        topics, partitions = np.divmod(rest, self.partitions)
        return topics, partitions, consumers


def rows_of(batch: pa.RecordBatch, mapped: Mapped, unit: str, where: Where) -> Rows:
    """Return a batch as Rows; raise AuditError for missing columns or invalid values."""
    missing = [name for name in mapped.columns if name not in batch.schema.names]
    if missing:
        raise AuditError(
            f"{where(None)}: there is no column {missing[0]!r}, which other files have"
        )
    places: Array | None = None
    if mapped.events:
        chosen = pc.is_in(batch.column("kind").cast(pa.string()), pa.array(PROCESSED))
        if mapped.of_group is not None:
            its = pc.equal(batch.column("group").cast(pa.string()), mapped.of_group)
            chosen = pc.and_kleene(chosen, its)
        places = pc.indices_nonzero(chosen).to_numpy()
        batch = batch.take(pa.array(places))
    columns = {name: flat(batch.column(name)) for name in mapped.columns}
    try:
        return _read(columns, mapped, unit)
    except WrongValueError as error:
        row = error.place
        row = row if row is None or places is None else int(places[row])
        raise AuditError(f"{where(row)}: {error.words}") from None


def _read(columns: Mapping[str, pa.Array], mapped: Mapped, unit: str) -> Rows:
    for name, column in columns.items():
        if column.null_count:
            place = pc.index(pc.is_null(column), pa.scalar(value=True)).as_py()
            raise WrongValueError(place, f"column {name!r} is empty")
    topic_codes, topics = coded(columns[mapped.topic], mapped.topic)
    consumer_codes, consumers = _consumers(columns, mapped)
    numbers = whole(columns[mapped.partition], mapped.partition, LARGEST_PARTITION)
    partitions = int(numbers.max(initial=0)) + 1
    if partitions * max(1, len(topics)) * max(1, len(consumers)) > _LARGEST_KEY:
        words = f"column {mapped.partition!r} holds {partitions - 1}, which is too large"
        raise WrongValueError(int(numbers.argmax()), words)
    lo, hi = _range(columns, mapped)
    began, ended = _times(columns, mapped, unit)
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


def _consumers(columns: Mapping[str, pa.Array], mapped: Mapped) -> tuple[Array, list[str]]:
    """Return the consumers; ``m1.2`` is incarnation 2 of m1."""
    codes, names = coded(columns[mapped.consumer], mapped.consumer)
    if mapped.incarnation is None:
        return codes, names
    life_codes, lives = coded(columns[mapped.incarnation], mapped.incarnation)
    both = codes.astype(np.int64) * max(1, len(lives)) + life_codes
    pairs, places = np.unique(both, return_inverse=True)
    named = [divmod(pair, len(lives)) for pair in pairs.tolist()]
    return places, [f"{names[name]}.{lives[life]}" for name, life in named]


def _range(columns: Mapping[str, pa.Array], mapped: Mapped) -> tuple[Array, Array]:
    """Return the first offset of each row, and the offset after its last."""

    def offsets(name: str) -> Array:
        return whole(columns[name], name, LARGEST_OFFSET)

    if mapped.offset is not None:
        lo = offsets(mapped.offset)
        return lo, lo + 1
    assert mapped.lo is not None, "a log has offsets or ranges"
    lo = offsets(mapped.lo)
    if mapped.hi is not None:
        hi = offsets(mapped.hi)
    else:
        assert mapped.last is not None, "a range has an end"
        hi = offsets(mapped.last) + 1
    _refuse_empty(lo, hi, inclusive=mapped.hi is None)
    return lo, hi


def _refuse_empty(lo: Array, hi: Array, *, inclusive: bool) -> None:
    empty = hi <= lo
    if empty.any():
        place = int(empty.argmax())
        end = f"{hi[place] - 1} (its last)" if inclusive else f"{hi[place]} (the next one)"
        raise WrongValueError(place, f"the range from {lo[place]} to {end} holds no record")


def _times(columns: Mapping[str, pa.Array], mapped: Mapped, unit: str) -> tuple[Array, Array]:
    """Return when processing of each row began and ended."""
    ended = to_us(columns[mapped.end], unit, mapped.end)
    if mapped.start is None:
        return ended, ended
    began = to_us(columns[mapped.start], unit, mapped.start)
    wrong = began > ended
    if wrong.any():
        place = int(wrong.argmax())
        raise WrongValueError(place, f"times out of order: {_from_to(began, ended, place)}")
    wrong = (ended >= CLOCK_FROM_US) & (began * _TIMES_AS_OLD < ended)
    if wrong.any():
        place = int(wrong.argmax())
        words = (
            f"columns {mapped.start!r} and {mapped.end!r} seem to have different units: "
            f"{_from_to(began, ended, place)}; use one unit for both"
        )
        raise WrongValueError(place, words)
    return began, ended


def _from_to(began: Array, ended: Array, place: int) -> str:
    first, last = int(began[place]), int(ended[place])
    before = " before," if first > last else ""
    return f"processing began at {shown(first)} and ended{before} at {shown(last)}"


FOUND_AS: Mapping[str, tuple[str, ...]] = {
    "topic": ("topic",),
    "partition": ("partition",),
    "offset": ("offset",),
    "lo": ("lo", "first"),
    "hi": ("hi", "next"),
    "last": ("last",),
    "consumer": ("consumer", "member", "client_id"),
    "incarnation": ("incarnation",),
    "start": ("start", "started", "began"),
    "end": ("end", "ended", "finished", "timestamp"),
}
NEEDED = ("topic", "partition", "consumer", "end")

EVENTS_MARKS = frozenset({"at_us", "kind", "cause", "rest"})
"""A table with all these is the events of an emulated run, or a part of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The columns of one log, by their content."""

    topic: str
    partition: str
    consumer: str
    end: str
    offset: str | None = None
    lo: str | None = None
    hi: str | None = None
    last: str | None = None
    start: str | None = None
    incarnation: str | None = None
    """Distinguishes processes with the same consumer name."""

    events: bool = False
    """Whether rows are events of a run, of which only the processed ranges count."""

    of_group: str | None = None
    """Of the events of a run, the group whose work counts; None: that of all groups."""

    @property
    def columns(self) -> list[str]:
        """The columns that are read, each once."""
        names = (self.topic, self.partition, self.consumer, self.incarnation, self.end, self.start)
        more = ("kind" if self.events else None, "group" if self.of_group is not None else None)
        offsets = (self.offset, self.lo, self.hi, self.last, *more)
        return list(dict.fromkeys(name for name in (*names, *offsets) if name is not None))

    @property
    def texts(self) -> list[str]:
        """The text columns with repeated values."""
        more = () if self.incarnation is None else (self.incarnation,)
        return [self.topic, self.consumer, *more]


def map_columns(there: Sequence[str], wanted: Mapping[str, str], where: str) -> Mapped:
    """Return the columns of *there* by their content; *wanted* names some of them.

    The times of the events of a run whose scenario has a ``start`` are times of day, as those of its
    offsets log. Raise AuditError, with the closest names, if a column is missing or unknown.
    """
    for name, column in wanted.items():
        if name not in FOUND_AS:
            near = hint(name, FOUND_AS)
            raise AuditError(f"`columns` {name}={column}: no such name{near}; {_names()}")
        if column not in there:
            near = hint(column, there)
            raise AuditError(
                f"`columns` {name}={column}: {where} has no column {column!r}{near}; "
                f"there are {listed(there)}"
            )
    if set(there) >= EVENTS_MARKS:
        return _of_events(there, wanted, where)
    found = {name: wanted.get(name) or _default(name, there) for name in FOUND_AS}
    for name in NEEDED:
        if found[name] is None:
            raise AuditError(_missing(name, there, where))
    mapped = Mapped(**_offsets(found, wanted, there, where))
    for column in mapped.columns:
        if there.count(column) > 1:
            raise AuditError(
                f"{where}: there are {there.count(column)} columns {column!r}; write the log with "
                "distinct names"
            )
    return mapped


def _of_events(there: Sequence[str], wanted: Mapping[str, str], where: str) -> Mapped:
    if wanted:
        raise AuditError(
            f"`columns` {listed(wanted)}: {where} holds the events of a run, whose columns are known"
        )
    lacking = sorted(NEEDED_OF_EVENTS.difference(there))
    if lacking:
        raise AuditError(
            f"{where}: the events of a run without the column {lacking[0]!r}: give all their columns, "
            "as rebalance run --events writes them"
        )
    end = "clock" if "clock" in there else "at_us"
    return Mapped(
        topic="topic",
        partition="partition",
        consumer="consumer",
        end=end,
        lo="first",
        hi="next",
        events=True,
    )


def _default(name: str, there: Sequence[str]) -> str | None:
    return next((column for column in FOUND_AS[name] if column in there), None)


def _offsets(
    found: dict[str, str | None], wanted: Mapping[str, str], there: Sequence[str], where: str
) -> dict[str, Any]:
    """Choose one form of offsets: those of one record, or a range."""
    ranged = found["lo"] is not None and (found["hi"] or found["last"]) is not None
    if ranged and "offset" not in wanted:
        left_out = {"offset", "last" if found["hi"] is not None and "last" not in wanted else "hi"}
    elif found["offset"] is not None:
        left_out = {"lo", "hi", "last"}
    else:
        raise AuditError(_missing("offset", there, where))
    return {
        name: column
        for name, column in found.items()
        if column is not None and name not in left_out
    }


def _missing(name: str, there: Sequence[str], where: str) -> str:
    near = next((each for known in FOUND_AS[name] if (each := hint(known, there))), "")
    more = ", nor lo and hi, nor first and last" if name == "offset" else ""
    return (
        f"{where}: no column holds the {name} (looked for {listed(FOUND_AS[name])}{more}){near}; "
        f"name it with `columns` {name}=NAME; there are {listed(there)}"
    )


def _names() -> str:
    return f"names are {listed(FOUND_AS)}"
