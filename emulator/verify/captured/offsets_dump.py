"""The offsets log of a captured group, as Kafka's own tool dumped it, and what of it is compared.

What is compared are the types and keys of the records in the order of the log, with the
generation of each GroupMetadata record. Time alone decides how often members committed between
two of those, and whose commit came first; so there the *different* commit requests are compared:
each as its partitions in the order of its records, sorted, every one once. The log does not say
where one request ends: it ends where the next partition has another owner (by the last
GroupMetadata) or has been in the request already. Records after the run's end are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.verify.captured.reading import Fields, Place, read_lines, read_text

_RECORD = re.compile(
    r"\| offset: (\d+) CreateTime: (\d+) .*?key: (\{.*?\}) payload: (\{.*\}|<DELETE>)$"
)
_TYPES = {"1": "OffsetCommit", "2": "GroupMetadata"}
FOLDER = "offsets-log"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One record of ``__consumer_offsets``."""

    log_offset: int
    created_ms: int
    kind: str
    """``OffsetCommit``, ``GroupMetadata``, or the number of another type."""

    group: str
    partition: str
    """Of a commit, ``t0-3`` with the topic's real name; else empty."""

    gone: bool
    """It is a tombstone."""

    generation: int
    """Of group metadata; else -1."""

    owners: Mapping[str, str]
    """Of group metadata: client id by partition."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One offset was stored, or (``gone``) deleted."""

    partition: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The group's metadata were stored; deleted ones have generation -1.

    ``owners``: consumer by partition, to tell requests apart.
    """

    generation: int
    owners: Mapping[str, str]


LogEntry = Commit | Group


def dump_of(run: Path, group: str) -> Path | None:
    """Return the dump that holds a group's records, or None where there is none.

    It lies beside the scenarios. Raise CaptureError if the index there is not sound.
    """
    folder = run.resolve().parent.parent / FOLDER
    index = folder / "index.json"
    if not index.exists():
        return None
    try:
        listed = json.loads(read_text(index))
    except (ValueError, RecursionError) as error:
        raise Place(index).error(f"not JSON ({error})") from None
    known = Fields({"groups": listed}, Place(index)).tables("groups")
    covered = any(fields.text("group") == group for fields in known)
    return folder / f"{group}.dump.txt.gz" if covered else None


def read_dump(path: Path) -> tuple[LogRecord, ...]:
    """Read the records of a text dump, in order; raise CaptureError if one is not sound."""
    return tuple(
        _record(text, Place(path, number))
        for number, text in enumerate(read_lines(path), start=1)
        if text.startswith("| offset:")
    )


def _record(text: str, place: Place) -> LogRecord:
    match = _RECORD.match(text)
    if not match:
        raise place.error("not a record; expected offset, CreateTime, key and payload")
    key = _part(match[3], "key", place)
    data = key.table("data")
    kind = _TYPES.get(key.text("type"), key.text("type"))
    gone = match[4] == "<DELETE>"
    value = None if gone else _part(match[4], "payload", place).table("data")
    stored = value if kind == "GroupMetadata" else None
    return LogRecord(
        log_offset=int(match[1]),
        created_ms=int(match[2]),
        kind=kind,
        group=data.text("group") if "group" in data else "",
        partition=f"{data.text('topic')}-{data.count('partition')}" if "topic" in data else "",
        gone=gone,
        generation=-1 if stored is None else stored.whole("generation"),
        owners={} if stored is None else dict(_owners(stored)),
    )


def _part(text: str, name: str, place: Place) -> Fields:
    try:
        value = json.loads(text)
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
    """Return a classic group's records as entries, up to an instant in epoch milliseconds."""
    found: list[LogEntry] = []
    for record in records:
        if record.group != group or record.created_ms > until_ms:
            continue
        if record.kind == "OffsetCommit":
            found.append(Commit(record.partition, gone=record.gone))
        elif record.kind == "GroupMetadata":
            found.append(Group(record.generation, record.owners))
    return tuple(found)


def outline(log: Sequence[LogEntry], prefix: str) -> list[str]:
    """Return what is compared of a group's log, one line a record or request.

    *prefix*, with which topic names begin, is left out.
    """
    lines: list[str] = []
    stretch: list[Commit] = []
    owners: Mapping[str, str] = {}
    for entry in log:
        if isinstance(entry, Commit):
            stretch.append(entry)
            continue
        lines += _requests(stretch, owners, prefix)
        stretch, owners = [], entry.owners
        lines.append(f"GroupMetadata, generation {entry.generation}")
    return lines + _requests(stretch, owners, prefix)


def _requests(stretch: Sequence[Commit], owners: Mapping[str, str], prefix: str) -> list[str]:
    """Return the different requests among consecutive commits, sorted."""
    requests: list[list[Commit]] = []
    for commit in stretch:
        last = requests[-1] if requests else []
        if last and commit not in last and _together(last[-1], commit, owners):
            last.append(commit)
        else:
            requests.append([commit])
    return sorted({_shown(request, prefix) for request in requests})


def _together(last: Commit, commit: Commit, owners: Mapping[str, str]) -> bool:
    same = owners.get(last.partition) == owners.get(commit.partition)
    return same and last.gone == commit.gone


def _shown(request: Sequence[Commit], prefix: str) -> str:
    verb = "deleted" if request[0].gone else "OffsetCommit"
    return f"{verb} {', '.join(commit.partition.removeprefix(prefix) for commit in request)}"
