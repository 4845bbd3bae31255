"""Read the offsets log of a captured group from the text that Kafka's own tool dumped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from assignors.values import dataclass
from emulator.conformance.captured.reading import (
    Fields,
    Place,
    named_file,
    read_json,
    read_lines,
    read_text,
)
from emulator.conformance.offsets_log import (
    CURRENT,
    MEMBER,
    METADATA,
    TYPES,
    Commit,
    EpochRecord,
    Group,
    LogEntry,
)

_RECORD = re.compile(
    r"\| offset: (\d+) CreateTime: (\d+) .*?(?:sequence: (-?\d+) .*?)?"
    r"key: (\{.*?\}) payload: (\{.*\}|<DELETE>)$"
)
_TYPES = {"1": "OffsetCommit", "2": "GroupMetadata", **TYPES}
FOLDER = "offsets-log"
OWN_DUMP = "offsets-log.dump.txt.gz"

_EPOCHS = {
    METADATA: "epoch",
    "ConsumerGroupTargetAssignmentMetadata": "assignmentEpoch",
    CURRENT: "memberEpoch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record of ``__consumer_offsets``."""

    log_offset: int
    created_ms: int
    kind: str
    """Kafka's name of the record's type, or the number of a type that is not compared."""

    group: str
    partition: str
    """For a commit: ``t0-3`` with the topic's real name; else empty."""

    topic_id: str
    """For a commit that has it; else empty."""

    begins: bool
    """Whether it is the first record of its batch."""

    gone: bool
    """Whether it is a tombstone."""

    generation: int
    """For group metadata; else -1."""

    owners: Mapping[str, str]
    """For group metadata: client id by partition."""

    of_epochs: EpochRecord | None
    """The compared record, if it belongs to the consumer protocol."""


def dump_of(run: Path, group: str) -> Path | None:
    """Return the dump that has a group's records, or None if there is none.

    It is in the run's folder, or beside the scenarios. Raise CaptureError if the index there is
    invalid.
    """
    own = run / OWN_DUMP
    if own.exists():
        return own
    folder = run.resolve().parent.parent / FOLDER
    index = folder / "index.json"
    if not index.exists():
        return None
    try:
        listed = read_json(read_text(index))
    except (ValueError, RecursionError) as error:
        raise Place(index).error(f"not JSON ({error})") from None
    known = Fields({"groups": listed}, Place(index)).tables("groups")
    covered = any(fields.text("group") == group for fields in known)
    return named_file(folder, f"{group}.dump.txt.gz") if covered else None


def read_dump(path: Path) -> tuple[LogRecord, ...]:
    """Read the records of a text dump, in order; raise CaptureError if one is invalid."""
    return tuple(
        _record(text, Place(path, number))
        for number, text in enumerate(read_lines(path), start=1)
        if text.startswith("| offset:")
    )


def _record(text: str, place: Place) -> LogRecord:
    match = _RECORD.match(text)
    if not match:
        raise place.error("not a record; expected offset, CreateTime, key and payload")
    key = _part(match[4], "key", place)
    data = key.table("data")
    kind = _TYPES.get(key.text("type"), key.text("type"))
    gone = match[5] == "<DELETE>"
    value = None if gone else _part(match[5], "payload", place).table("data")
    stored = value if kind == "GroupMetadata" else None
    with_id = kind == "OffsetCommit" and value is not None and "topicId" in value
    return LogRecord(
        log_offset=int(match[1]),
        created_ms=int(match[2]),
        kind=kind,
        group=next((data.text(name) for name in ("group", "groupId") if name in data), ""),
        partition=f"{data.text('topic')}-{data.count('partition')}" if "topic" in data else "",
        topic_id=value.text("topicId") if with_id and value is not None else "",
        begins=match[3] == "0",
        gone=gone,
        generation=-1 if stored is None else stored.whole("generation"),
        owners={} if stored is None else dict(_owners(stored)),
        of_epochs=_epoch_record(kind, data, value) if kind in TYPES.values() else None,
    )


def _epoch_record(kind: str, key: Fields, value: Fields | None) -> EpochRecord:
    """Return a dumped record in the compared form; raise CaptureError if it is invalid."""
    named = next((name for name in ("memberId", "regularExpression") if name in key), None)
    member_id = "" if named is None else key.text(named)
    if value is None:
        return EpochRecord(kind=kind, member_id=member_id, gone=True)
    return EpochRecord(
        kind=kind,
        member_id=member_id,
        client_id=value.text("clientId") if kind == MEMBER else "",
        epoch=value.whole(_EPOCHS[kind]) if kind in _EPOCHS else None,
        owned=tuple(_owned(value)) if kind == CURRENT else (),
    )


def _owned(value: Fields) -> Iterator[tuple[str, int]]:
    for part in ("assignedPartitions", "partitionsPendingRevocation"):
        for topic in value.tables(part):
            for number in topic.counts("partitions"):
                yield topic.text("topicId"), number


def _part(text: str, name: str, place: Place) -> Fields:
    try:
        value = read_json(text)
    except (ValueError, RecursionError) as error:
        raise place.error(f"the {name} is not JSON ({error})") from None
    return Fields({name: value}, place).table(name)


def _owners(value: Fields) -> Iterator[tuple[str, str]]:
    for member in value.tables("members"):
        assigned = member.table("assignment") if "assignment" in member else None
        for topic in assigned.tables("assignedPartitions") if assigned else ():
            for partition in topic.counts("partitions"):
                yield f"{topic.text('topic')}-{partition}", member.text("clientId")


def entries(records: Iterable[LogRecord], group: str, until_ms: int) -> tuple[LogEntry, ...]:
    """Return a group's records as log entries, up to a time in epoch milliseconds."""
    found: list[LogEntry] = []
    for record in records:
        if record.group != group or record.created_ms > until_ms:
            continue
        if record.kind == "OffsetCommit":
            found.append(Commit(record.partition, record.gone, record.topic_id, record.begins))
        elif record.kind == "GroupMetadata":
            found.append(Group(record.generation, record.owners))
        elif record.of_epochs is not None:
            found.append(record.of_epochs)
    return tuple(found)
