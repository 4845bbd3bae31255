"""A log line by line: the output and the fault of each part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assignors.values import dataclass
from emulator.logs.offsets_log.as_json import (
    Content,
    ControlContent,
    batch_json,
    content_json,
    decoded,
    decoded_control,
    decoded_key,
    front_json,
    gap_json,
)
from emulator.logs.offsets_log.describing import (
    NOTHING_LOADED,
    Followed,
    follow,
    follow_marker,
    group_json,
)
from emulator.logs.offsets_log.faults import Fault, FaultKind
from emulator.logs.offsets_log.recognising import Part
from protocols.offsets_topic.records import Key, Record, UnknownKey
from protocols.offsets_topic.records.as_json import Json
from protocols.offsets_topic.records.markers import EndTxnMarker
from protocols.offsets_topic.replay import NO_PRODUCER_ID
from protocols.offsets_topic.segments.batch import Batch
from protocols.offsets_topic.segments.reader import BatchRecords, Gap
from protocols.offsets_topic.segments.record import LogRecord

_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The requested parts of a log."""

    group_ids: frozenset[str] = frozenset()
    """Ids of groups; empty: all groups."""

    batches: bool = False
    """Whether to show the headers of batches."""

    records: bool = True
    """Whether to show records and gaps; if not, faults are still counted."""

    states: bool = False
    """Whether to show with each record the state of its group after it."""


class Line(NamedTuple):
    """A line to show, a fault to count, or both."""

    content: Json | None
    fault: Fault | None = None


class LogDump:
    """The dump of one log over its segments; ``loaded`` is the state of its groups so far."""

    def __init__(self, wanted: Wanted) -> None:
        self.loaded = NOTHING_LOADED
        self.group_ids = set[str]()
        """The requested groups found so far; collected only if not all groups are requested."""

        self._wanted = wanted
        self._next_offset = 0
        self._open_transactions = set[int]()
        """Producers with records of the requested groups; collected only if not all are requested."""

    def begin(self, base_offset: int | None) -> None:
        """Begin a segment; *base_offset*: the one in its name."""
        self._next_offset = max(self._next_offset, base_offset or 0)

    def lines(self, part: Part) -> Iterator[Line]:
        """Yield the lines of the next part of the segment."""
        if isinstance(part, BatchRecords):
            yield from self._batch_lines(part)
        elif isinstance(part, Gap):
            content = gap_json(part.kind, part.position, part.size, part.reason)
            fault = Fault(FaultKind.GAP, part.position, part.reason, size=part.size)
            yield self._shown(content, fault)
        else:
            content = gap_json(_UNREADABLE, part.position, None, part.reason)
            yield self._shown(content, Fault(FaultKind.GAP, part.position, part.reason))

    def _batch_lines(self, part: BatchRecords) -> Iterator[Line]:
        batch, records = part
        if batch.header.base_offset < self._next_offset:
            yield self._disorder(batch)
        self._next_offset = batch.header.next_offset
        if self._wanted.batches:
            yield Line(batch_json(batch))
        one = self._control_line if batch.header.is_control else self._record_line
        for record in records:
            line = one(batch, record)
            if line is not None:
                yield line

    def _disorder(self, batch: Batch) -> Line:
        offset = batch.header.base_offset
        reason = f"a batch begins at offset {offset}; expected {self._next_offset} or higher"
        content = {"outOfOrder": offset, "position": batch.position, "reason": reason}
        return self._shown(content, Fault(FaultKind.DISORDER, batch.position, reason))

    def _shown(self, content: Json, fault: Fault) -> Line:
        return Line(content if self._wanted.records else None, fault)

    # -- records -----------------------------------------------------------------------------

    def _record_line(self, batch: Batch, record: LogRecord) -> Line | None:
        key = decoded_key(record)
        if not self._is_wanted(key):
            return None
        producer_id = batch.header.producer_id
        if self._wanted.group_ids:
            self._note(key, producer_id)
        said = decoded(record, key)
        followed = None
        if self._wanted.states and said.key is not None and said.error is None:
            whole = Record(said.key, said.value)
            followed = follow(self.loaded, whole, record.offset, producer_id)
        return self._line(batch, record, said, followed)

    def _control_line(self, batch: Batch, record: LogRecord) -> Line | None:
        producer_id = batch.header.producer_id
        if self._wanted.group_ids and producer_id not in self._open_transactions:
            return None
        said = decoded_control(record)
        followed = None
        if isinstance(said.control, EndTxnMarker):
            self._open_transactions.discard(producer_id)
            if self._wanted.states:
                followed = follow_marker(self.loaded, said.control, producer_id)
        return self._line(batch, record, said, followed)

    def _line(
        self,
        batch: Batch,
        record: LogRecord,
        said: Content | ControlContent,
        followed: Followed | None,
    ) -> Line:
        failure = None
        if followed is not None:
            self.loaded, failure = followed.loaded, followed.failure
        fault = _fault(batch, record, said, failure)
        if not self._wanted.records:
            return Line(None, fault)
        content = front_json(batch, record) | content_json(record, said)
        if fault is not None:
            content["position"] = batch.position
        if failure is not None:
            content["loadFails"] = failure
        if followed is not None:
            content["after"] = {each: group_json(self.loaded, each) for each in followed.group_ids}
        return Line(content, fault)

    def _note(self, key: Key | str, producer_id: int) -> None:
        """Remember a requested group, and the producer whose transaction concerns it."""
        if not isinstance(key, str):
            self.group_ids.add(_group_id_of(key))
        if producer_id != NO_PRODUCER_ID:
            self._open_transactions.add(producer_id)

    def _is_wanted(self, key: Key | str) -> bool:
        """Return whether a record is about a requested group, or its key cannot be decoded."""
        group_ids = self._wanted.group_ids
        return not group_ids or isinstance(key, str) or _group_id_of(key) in group_ids


def _group_id_of(key: Key) -> str:
    """Return the id of the group that a record concerns; keys of every type begin with it."""
    if not isinstance(key, UnknownKey):
        group_id: str = key[0]
        return group_id
    length = int.from_bytes(key.content[:2])
    return key.content[2 : 2 + length].decode(errors="replace")


def _fault(
    batch: Batch, record: LogRecord, said: Content | ControlContent, failure: str | None
) -> Fault | None:
    """Return the most serious fault of a record."""
    for kind, reason in (
        (FaultKind.BAD_RECORD, said.error),
        (FaultKind.UNKNOWN, said.unknown),
        (FaultKind.BROKEN, failure),
    ):
        if reason is not None:
            return Fault(kind, batch.position, reason, record.offset)
    return None
