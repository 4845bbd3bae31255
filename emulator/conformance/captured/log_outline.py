"""What is compared of a group's offsets log, real or emulated.

That are the types and keys of the records in the order of the log, with the generation of each
GroupMetadata record, or the epochs of those of the consumer protocol. Time alone decides how
often members committed between two generations or group epochs, and whose commit came first; so
there the *different* commit requests are compared: each as its partitions in the order of its
records, sorted, every one once. The log does not say where one request ends: it ends with its
batch, and before a record of another kind, before a partition of another owner (by the last group
records), or one that has been in the request already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emulator.conformance.captured.epoch_records import CURRENT, MEMBER, METADATA, EpochRecord


@dataclass(frozen=True, slots=True)
class Commit:
    """One offset was stored, or (``gone``) deleted."""

    partition: str
    gone: bool = False
    topic_id: str = ""
    """If the log says it."""

    begins: bool = False
    """It is the first record of its batch."""


@dataclass(frozen=True, slots=True)
class Group:
    """A classic group's metadata were stored; deleted ones have generation -1.

    ``owners``: consumer by partition, to tell requests apart.
    """

    generation: int
    owners: Mapping[str, str]


LogEntry = Commit | Group | EpochRecord


def outline(log: Sequence[LogEntry], prefix: str) -> list[str]:
    """Return what is compared of a group's log, one line a record or request.

    *prefix*, with which topic names begin, is left out.
    """
    found = _Outline(prefix, topics=_topics(log))
    for entry in log:
        match entry:
            case Commit():
                found.commit(entry)
            case Group():
                found.generation(entry)
            case EpochRecord():
                found.record(entry)
    return found.ended()


def _topics(log: Sequence[LogEntry]) -> dict[str, str]:
    """Return topic names by id, as far as somebody committed with one."""
    commits = (entry for entry in log if isinstance(entry, Commit) and entry.topic_id)
    return {commit.topic_id: commit.partition.rpartition("-")[0] for commit in commits}


@dataclass(slots=True)
class _Outline:
    prefix: str
    topics: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    requests: list[list[Commit]] = field(default_factory=list)
    """Since the last generation or group epoch."""

    together: bool = False
    """The last record was a commit."""

    owners: Mapping[str, str] = field(default_factory=dict)
    clients: dict[str, str] = field(default_factory=dict)
    """Client id by member id."""

    def commit(self, commit: Commit) -> None:
        """Take a commit: into the last request, or a new one."""
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
        """Take a classic group's next generation."""
        self._flush()
        self.owners = group.owners
        self.lines.append(f"GroupMetadata, generation {group.generation}")

    def record(self, record: EpochRecord) -> None:
        """Take a record of the consumer protocol; a new group epoch ends the commits before it."""
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
        named = self.clients.get(record.member_id, record.member_id)
        words = ["deleted"] if record.gone else []
        words += [record.kind, named] if named else [record.kind]
        epoch = "" if record.epoch is None else f", epoch {record.epoch}"
        return " ".join(words) + epoch

    def ended(self) -> list[str]:
        """Return all lines."""
        self._flush()
        return self.lines

    def _flush(self) -> None:
        """Write down the different requests, sorted."""
        self.lines += sorted({self._shown(request) for request in self.requests})
        self.requests, self.together = [], False

    def _shown(self, request: Sequence[Commit]) -> str:
        verb = "deleted" if request[0].gone else "OffsetCommit"
        names = (commit.partition.removeprefix(self.prefix) for commit in request)
        return f"{verb} {', '.join(names)}"
