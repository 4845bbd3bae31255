"""The outline of a group's offsets log, by which a dumped and an emulated log are compared.

An outline has one line per record or commit request, in log order: the record's type and key, with
the generation of a GroupMetadata record or the epoch of a KIP-848 record. How often members commit
between two generations or group epochs, and whose commit comes first, depends on timing only;
there the outline lists each *distinct* commit request once, sorted. A request is the list of its
partitions in record order. The log does not mark the end of a request. It is taken to end with its
batch, before a record of another type, before a partition of another owner (according to the last
group records), and before a partition that the request already contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from assignors.values import dataclass
from protocols.offsets_topic.records import (
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    decode_assignment,
)
from protocols.offsets_topic.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

METADATA = "ConsumerGroupMetadata"
MEMBER = "ConsumerGroupMemberMetadata"
CURRENT = "ConsumerGroupCurrentMemberAssignment"

TYPES = {
    "3": METADATA,
    "4": "ConsumerGroupPartitionMetadata",
    "5": MEMBER,
    "6": "ConsumerGroupTargetAssignmentMetadata",
    "7": "ConsumerGroupTargetAssignmentMember",
    "8": CURRENT,
    "16": "ConsumerGroupRegularExpression",
}
"""KIP-848 record types: Kafka's name by type number."""


@dataclass(frozen=True, slots=True)
class Commit:
    """An OffsetCommit record, or (``gone``) its tombstone."""

    partition: str
    gone: bool = False
    topic_id: str = ""
    """Empty if the record has none."""

    begins: bool = False
    """Whether it is the first record of its batch."""


@dataclass(frozen=True, slots=True)
class Group:
    """A GroupMetadata record of a classic group; a tombstone has generation -1."""

    generation: int
    owners: Mapping[str, str]
    """Consumer by partition; separates the commit requests of different members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRecord:
    """A record of a KIP-848 group; a tombstone (``gone``) has a key only."""

    kind: str
    member_id: str = ""
    """Member id of the key; the pattern, for a resolved regular expression."""

    client_id: str = ""
    """Set in member metadata only."""

    epoch: int | None = None
    owned: tuple[tuple[str, int], ...] = ()
    """Set in current assignments only: topic ids and partition numbers, with those to be revoked."""

    gone: bool = False


LogEntry = Commit | Group | EpochRecord


# -- the outline -------------------------------------------------------------------------------


def outline(log: Sequence[LogEntry], prefix: str, *, in_order: bool = True) -> list[str]:
    """Return the outline of a group's log; *prefix* is removed from topic names.

    *in_order*: list the partitions of a request in record order; else sorted.
    """
    found = _Outline(prefix, in_order, topics=_topics(log))
    for entry in log:
        match entry:
            case Commit():
                found.commit(entry)
            case Group():
                found.generation(entry)
            case EpochRecord():
                found.record(entry)
    return found.finish()


def _topics(log: Sequence[LogEntry]) -> dict[str, str]:
    """Return topic names by id, for topics with at least one commit that has an id."""
    commits = (entry for entry in log if isinstance(entry, Commit) and entry.topic_id)
    return {commit.topic_id: commit.partition.rpartition("-")[0] for commit in commits}


@dataclass(slots=True)
class _Outline:
    prefix: str
    in_order: bool
    topics: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    requests: list[list[Commit]] = field(default_factory=list)
    """Commit requests since the last generation or group epoch."""

    together: bool = False
    """Whether the last record was a commit."""

    owners: Mapping[str, str] = field(default_factory=dict)
    clients: dict[str, str] = field(default_factory=dict)
    """Client id by member id."""

    def commit(self, commit: Commit) -> None:
        """Add a commit to the last request, or begin a new request."""
        last = self.requests[-1] if self.together and not commit.begins else []
        again = any(commit.partition == other.partition for other in last)
        if last and not again and self._same_owner(last[-1], commit):
            last.append(commit)
        else:
            self.requests.append([commit])
        self.together = True

    def _same_owner(self, last: Commit, commit: Commit) -> bool:
        owner = self.owners.get(last.partition)
        return owner == self.owners.get(commit.partition) and last.gone == commit.gone

    def generation(self, group: Group) -> None:
        """Add a GroupMetadata record."""
        self._flush()
        self.owners = group.owners
        self.lines.append(f"GroupMetadata, generation {group.generation}")

    def record(self, record: EpochRecord) -> None:
        """Add a KIP-848 record; a new group epoch ends the list of commit requests before it."""
        if record.kind == METADATA:
            self._flush()
        self.together = False
        if record.kind == MEMBER and not record.gone:
            self.clients[record.member_id] = record.client_id
        elif record.kind == CURRENT:
            self._own(record)
        self.lines.append(self._line(record))

    def _own(self, record: EpochRecord) -> None:
        owners = {tp: owner for tp, owner in self.owners.items() if owner != record.member_id}
        for topic_id, number in record.owned:
            owners[f"{self.topics.get(topic_id, topic_id)}-{number}"] = record.member_id
        self.owners = owners

    def _line(self, record: EpochRecord) -> str:
        name = self.clients.get(record.member_id, record.member_id)
        words = ["deleted"] if record.gone else []
        words += [record.kind, name] if name else [record.kind]
        epoch = "" if record.epoch is None else f", epoch {record.epoch}"
        return " ".join(words) + epoch

    def finish(self) -> list[str]:
        """Return all lines."""
        self._flush()
        return self.lines

    def _flush(self) -> None:
        """Append the distinct requests, sorted."""
        self.lines += sorted({self._request_line(request) for request in self.requests})
        self.requests, self.together = [], False

    def _request_line(self, request: Sequence[Commit]) -> str:
        verb = "deleted" if request[0].gone else "OffsetCommit"
        names = [commit.partition.removeprefix(self.prefix) for commit in request]
        return f"{verb} {', '.join(names if self.in_order else sorted(names))}"


# -- emulated records --------------------------------------------------------------------------


class Appended:
    """Collects the records appended to the emulated offsets topic (:attr:`Replay.appended`)."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    def add_batch(self, records: tuple[Record, ...]) -> None:
        """Add one batch."""
        self.entries += entries_of(records)


def entries_of(batch: Iterable[Record]) -> Iterator[LogEntry]:
    """Yield the records of a batch as log entries."""
    for number, record in enumerate(batch):
        yield _entry(record, begins=number == 0)


def _entry(record: Record, *, begins: bool) -> LogEntry:
    key, value = record
    if isinstance(key, OffsetCommitKey):
        topic_id = value.topic_id if isinstance(value, OffsetCommitValue) else ""
        return Commit(f"{key.topic}-{key.partition}", value is None, topic_id, begins)
    kind = TYPES.get(str(key.record_type))
    if kind is not None:
        return _of_epochs(kind, record)
    if not isinstance(value, GroupMetadataValue):
        return Group(-1, {})
    owners = {
        str(partition): member.client_id
        for member in value.members
        for partition in (decode_assignment(member.assignment) if member.assignment else ())
    }
    return Group(value.generation, owners)


def _of_epochs(kind: str, record: Record) -> EpochRecord:
    key, value = record
    return EpochRecord(
        kind=kind,
        member_id=_key_of(key),
        client_id=value.client_id if isinstance(value, ConsumerGroupMemberMetadataValue) else "",
        epoch=_epoch_in(value),
        owned=_assigned_in(value),
        gone=value is None,
    )


def _key_of(key: object) -> str:
    match key:
        case (
            ConsumerGroupMemberMetadataKey(member_id=name)
            | ConsumerGroupTargetAssignmentMemberKey(member_id=name)
            | ConsumerGroupCurrentMemberAssignmentKey(member_id=name)
            | ConsumerGroupRegularExpressionKey(regular_expression=name)
        ):
            return name
        case _:
            return ""


def _epoch_in(value: object) -> int | None:
    match value:
        case (
            ConsumerGroupMetadataValue(epoch=epoch)
            | ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
            | ConsumerGroupCurrentMemberAssignmentValue(member_epoch=epoch)
        ):
            return epoch
        case _:
            return None


def _assigned_in(value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        return ()
    parts = (*value.assigned_partitions, *value.partitions_pending_revocation)
    return tuple((part.topic_id, number) for part in parts for number in part.partitions)
