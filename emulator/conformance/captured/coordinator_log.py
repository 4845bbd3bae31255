"""Read the coordinator's log lines of one group, from all brokers that coordinated it.

Times are those of the log (whole milliseconds, rounded down) in microseconds since the run's
first instant; the lines of all brokers are in order of time.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.reading import Place, read_lines
from protocols.offsets_topic.records.wire import uuid_bytes

_LINE = re.compile(
    r"b(\d+) (\d+) \w+ \[([^\]]*)\] (\w+): (?:\[GroupCoordinator [^\]]*\] )?(.*)", re.DOTALL
)
_BEGIN = re.compile(r"b\d+ \d+ ")
_COMMIT = re.compile(
    r"\[GroupId (\S+)\] Committing offsets (\d+) for partition (\S+?)-(\d+) from member (\S*) with"
)

REQUEST_US = 1000
"""Maximum time between lines of one commit request, unless the client's log shows otherwise."""


@dataclass(frozen=True, slots=True)
class CoordinatorLine:
    """One statement of a coordinator."""

    at_us: int
    broker: int
    thread: str
    logger: str
    text: str


@dataclass(frozen=True, slots=True)
class OffsetLine:
    """The coordinator accepted one offset of a commit request."""

    at_us: int
    thread: str
    member_id: str
    partition: TopicPartition
    offset: int


def read_coordinator_log(path: Path, origin: int) -> tuple[CoordinatorLine, ...]:
    """Read ``coordinator.log.gz``; *origin* is in epoch microseconds.

    Raise CaptureError if it cannot be read or a line is not from the coordinator.
    """
    lines: list[CoordinatorLine] = []
    for number, text in enumerate(read_lines(path), start=1):
        if match := _LINE.match(text):
            at_us = int(match[2]) * 1000 - origin
            lines.append(CoordinatorLine(at_us, int(match[1]), match[3], match[4], match[5]))
        elif _BEGIN.match(text) or not lines:
            raise Place(path, number).error(
                "not a coordinator's line; expected BROKER EPOCH-MS LEVEL [thread] class: text"
            )
    return tuple(sorted(lines, key=lambda line: line.at_us))


def offset_lines(
    lines: Sequence[CoordinatorLine], topics: Sequence[str]
) -> tuple[tuple[OffsetLine, ...], dict[str, str]]:
    """Return the offsets that the coordinator accepted, in order, and the id of each named topic.

    The log writes TOPIC-ID-TOPIC-PARTITION; *topics*, the real names, show where the id ends.
    """
    found: list[OffsetLine] = []
    for line in lines:
        if match := _COMMIT.match(line.text):
            partition = TopicPartition(_named(match[3], topics), int(match[4]))
            found.append(OffsetLine(line.at_us, line.thread, match[5], partition, int(match[2])))
    return tuple(found), {name: ids[0] for name, ids in ids_of_topics(lines, topics).items()}


def ids_of_topics(
    lines: Sequence[CoordinatorLine], topics: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the ids in accepted offsets, by name: several if a topic was created again."""
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        if match := _COMMIT.match(line.text):
            topic = _named(match[3], topics)
            if topic_id := match[3].removesuffix(topic).removesuffix("-"):
                found.setdefault(topic, {})[topic_id] = None
    return {topic: tuple(ids) for topic, ids in found.items()}


def _named(text: str, topics: Sequence[str]) -> str:
    """Return the topic of TOPIC-ID-TOPIC."""
    return max((topic for topic in topics if text.endswith(topic)), key=len, default=text)


def requests(lines: Sequence[OffsetLine]) -> tuple[tuple[OffsetLine, ...], ...]:
    """Group offsets into commit requests: one member and thread, adjacent, each partition once."""
    grouped: list[list[OffsetLine]] = []
    latest: dict[tuple[str, str], list[OffsetLine]] = {}
    for line in lines:
        sender = (line.member_id, line.thread)
        last = latest.get(sender)
        if (
            last is not None
            and line.at_us - last[-1].at_us <= REQUEST_US
            and all(line.partition != other.partition for other in last)
        ):
            last.append(line)
        else:
            latest[sender] = [line]
            grouped.append(latest[sender])
    return tuple(tuple(group) for group in grouped)


GROUP = r"\[GroupId [^\]]+\] "
_ID = r"[A-Za-z0-9_-]{22}"
COMPUTED = re.compile(
    rf"{GROUP}Computed a new target assignment for epoch (\d+) with '([^']*)' assignor"
    r" in \d+ms: \{(.*)\}"
)
"""Epoch, assignor, and the partitions of all members."""

NUMBERS = re.compile(rf"({_ID})=\[([^\]]*)\]")
"""In the partitions of a member: topic id, partition numbers."""

MOVED = re.compile(
    rf"{GROUP}Member (\S+) new assignment state: epoch=(-?\d+), previousEpoch=-?\d+,"
    r" state=(\w+), assignedPartitions=\[([^\]]*)\] and revokedPartitions=\[([^\]]*)\]"
)
"""Member id, epoch, state, assigned partitions, and partitions to revoke."""

OWNED = re.compile(rf"({_ID})-(\d+)@")
"""In these: topic id and partition number."""


def topic_ids(lines: Sequence[CoordinatorLine], topics: Sequence[str]) -> dict[str, str]:
    """Return the ids of topics, by name, that the log shows.

    Committed offsets have both; an id without a commit belongs to the remaining topic.
    """
    _, logged = offset_lines(lines, topics)
    ids = {topic: found for topic, found in logged.items() if _is_id(found)}
    unnamed = [topic for topic in topics if topic not in ids]
    seen = {found for line in lines for found in _ids(line.text)} - set(ids.values())
    if len(unnamed) == len(seen) == 1 and all(map(_is_id, seen)):
        ids[unnamed[0]] = seen.pop()
    return ids


def _is_id(text: str) -> bool:
    """Return whether this is an id as Kafka prints it; truncated logs may have others."""
    try:
        uuid_bytes(text)
    except struct.error:
        return False
    return True


def _ids(text: str) -> list[str]:
    if match := COMPUTED.match(text):
        return [found[1] for found in NUMBERS.finditer(match[3])]
    match = MOVED.match(text)
    return [found[1] for found in OWNED.finditer(match[4] + match[5])] if match else []
