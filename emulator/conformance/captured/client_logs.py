"""Read the Java client's own log of its protocol, line by line.

Times are those of the log (whole milliseconds, rounded down) in microseconds since the run's
first instant. The log has only the time of day, so the day comes from the process's start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.reading import read_lines

PositionFrom = Literal["committed", "reset policy", "truncated"]
"""Where a position comes from; ``truncated``: from the leader, whose log ends below the old one."""

DAY_US = 86_400_000_000
HEARTBEAT_THREAD = "kafka-coordinator-heartbeat-thread"

_LINE = re.compile(
    r"(\d\d):(\d\d):(\d\d)\.(\d\d\d) \[([^\]]*)\] \w+ (\S+) - (?:\[Consumer [^\]]*\] )?(.*)",
    re.DOTALL,
)
_PYTHON = re.compile(
    r"(\d\d):(\d\d):(\d\d)\.(\d\d\d) \w+ ((?:aiokafka|kafka)\.\S+) (.*)", re.DOTALL
)
"""A line of aiokafka or kafka-python, which has no thread."""

_POSITION = re.compile(
    r"(Setting offset|Resetting offset|Truncation detected) for partition (\S+)-(\d+) "
    r"(?:to |at .* diverge ).*?FetchPosition\{offset=(\d+),(?:.*leader=Optional\[\S+ \(id: (\d+) )?"
)
_SOURCES: Mapping[str, PositionFrom] = {
    "Setting offset": "committed",
    "Resetting offset": "reset policy",
    "Truncation detected": "truncated",
}
_AUTO_COMMIT = re.compile(r"Sending (a?)synchronous auto-commit of offsets \{(.*)\}", re.DOTALL)
_OFFSET = re.compile(r"([^\s{,=]+)-(\d+)=OffsetAndMetadata\{offset=(\d+)")
_REFUSED = re.compile(r"Offset ?[Cc]ommit failed on partition (\S+)-(\d+) at offset (\d+): (.*)")
_NOT_ACTIVE = "Failing OffsetCommit request since the consumer is not part of an active group"
_JOINED = re.compile(
    r"Received successful JoinGroup response: .*?generationId=(\d+), .*?protocolName='([^']*)', "
    r"leader='([^']*)'.*?memberId='([^']*)'"
)
_FINISHED = re.compile(r"Finished assignment for group at generation (\d+): \{(.*)\}", re.DOTALL)
_ASSIGNED = re.compile(r"([^\s{,=]+)=Assignment\(partitions=\[([^\]]*)\]")
_METADATA_NEWS = re.compile(
    r"Request joining group due to: (?:cached metadata|subscription) has changed from"
)

ERRORS = {
    "The coordinator is not aware of this member.": "UNKNOWN_MEMBER_ID",
    "Specified group generation id is not valid.": "ILLEGAL_GENERATION",
    "The group is rebalancing, so a rejoin is needed.": "REBALANCE_IN_PROGRESS",
    "This is not the correct coordinator.": "NOT_COORDINATOR",
    "The coordinator is not available.": "COORDINATOR_NOT_AVAILABLE",
    "The coordinator is loading and hence can't process requests.": "COORDINATOR_LOAD_IN_PROGRESS",
    "The request timed out.": "REQUEST_TIMED_OUT",
}
"""The log's text for a refused commit, and Kafka's name of that error (``Errors.java``)."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One statement of the client, including its continuation lines."""

    at_us: int
    thread: str
    logger: str
    text: str


@dataclass(frozen=True, slots=True)
class PositionSet:
    """The client set its position to ``offset``."""

    at_us: int
    partition: TopicPartition
    offset: int
    source: PositionFrom
    leader: int | None
    """Broker id of the partition's leader, if the log has it."""


@dataclass(frozen=True, slots=True)
class AutoCommit:
    """An automatic commit of the client; ``kind``: ``auto``, ``prepare`` or ``close``."""

    at_us: int
    kind: str
    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A failed commit, rejected by the client itself (``offset`` None) or by the coordinator."""

    at_us: int
    error: str
    partition: TopicPartition | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """The client received the response to JoinGroup."""

    at_us: int
    generation: int
    protocol: str
    leader_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class FinishedAssignment:
    """The leader ran its assignor."""

    at_us: int
    generation: int
    assignment: Mapping[str, tuple[TopicPartition, ...]]
    """By member id."""


def read_client_log(path: Path, started: int, origin: int) -> tuple[LogLine, ...]:
    """Read one ``<member>.<incarnation>.log.gz``; *started* and *origin* are epoch microseconds.

    Lines that do not begin with a time continue the line before; lines before the first
    statement are dropped. Raise CaptureError if the file cannot be read.
    """
    day, latest = started - started % DAY_US, started
    lines: list[LogLine] = []
    for text in _statements(read_lines(path)):
        if match := _LINE.match(text) or _PYTHON.match(text):
            hour, minute, second, ms = (int(part) for part in match.groups()[:4])
            at = day + ((hour * 60 + minute) * 60 + second) * 1_000_000 + ms * 1000
            if at < latest - DAY_US // 2:
                day, at = day + DAY_US, at + DAY_US
            latest = at
            thread, logger, said = (
                match.groups()[4:] if match.re is _LINE else ("", *match.groups()[4:])
            )
            lines.append(LogLine(at - origin, thread, logger, said))
    return tuple(lines)


def _statements(lines: Sequence[str]) -> Iterator[str]:
    statement: list[str] = []
    for line in lines:
        if (_LINE.match(line) or _PYTHON.match(line)) and statement:
            yield "\n".join(statement)
            statement = []
        statement.append(line)
    if statement:
        yield "\n".join(statement)


def positions(lines: Sequence[LogLine]) -> tuple[PositionSet, ...]:
    """Return every position that the client set without reading, in order."""
    found = ((line.at_us, _POSITION.match(line.text)) for line in lines)
    return tuple(
        PositionSet(
            at_us,
            TopicPartition(match[2], int(match[3])),
            int(match[4]),
            source=_SOURCES[match[1]],
            leader=int(match[5]) if match[5] else None,
        )
        for at_us, match in found
        if match
    )


def auto_commits(lines: Sequence[LogLine]) -> tuple[AutoCommit, ...]:
    """Return every automatic commit of the client, in order, without empty ones.

    A commit that follows the marking of partitions to revoke belongs to the preparation of a join;
    the synchronous one is the last step of close().
    """
    found: list[AutoCommit] = []
    before = ""
    for line in lines:
        if match := _AUTO_COMMIT.match(line.text):
            preparing = before.startswith("Marking assigned partitions pending for revocation")
            kind = "close" if not match[1] else "prepare" if preparing else "auto"
            if offsets := offsets_in(match[2]):
                found.append(AutoCommit(line.at_us, kind, offsets))
        if not line.thread.startswith(HEARTBEAT_THREAD) and "Heartbeat" not in line.text:
            before = line.text
    return tuple(found)


def offsets_in(text: str) -> tuple[tuple[TopicPartition, int], ...]:
    """Return the offsets of a commit, from their text in the log."""
    return tuple(
        (TopicPartition(topic, int(number)), int(offset))
        for topic, number, offset in _OFFSET.findall(text)
    )


def refusals(lines: Sequence[LogLine]) -> tuple[Refusal, ...]:
    """Return every failed commit, in order."""
    found: list[Refusal] = []
    for line in lines:
        if line.text.startswith(_NOT_ACTIVE):
            found.append(Refusal(line.at_us, "UNKNOWN_MEMBER_ID"))
        elif match := _REFUSED.match(line.text):
            partition = TopicPartition(match[1], int(match[2]))
            message = match[4].split("\n")[0]
            error = ERRORS.get(message, message)
            found.append(Refusal(line.at_us, error, partition, int(match[3])))
    return tuple(found)


def joins(lines: Sequence[LogLine]) -> tuple[Joined, ...]:
    """Return every successful response to JoinGroup, in order."""
    found = ((line.at_us, _JOINED.match(line.text)) for line in lines)
    return tuple(
        Joined(at_us, int(match[1]), match[2], match[3], match[4])
        for at_us, match in found
        if match
    )


def finished_assignments(lines: Sequence[LogLine]) -> tuple[FinishedAssignment, ...]:
    """Return the assignments that this client computed as leader, in order."""
    found = ((line.at_us, _FINISHED.match(line.text)) for line in lines)
    return tuple(
        FinishedAssignment(at_us, int(match[1]), _assignment(match[2]))
        for at_us, match in found
        if match
    )


def _assignment(text: str) -> dict[str, tuple[TopicPartition, ...]]:
    return {
        member_id: tuple(_partition(name) for name in names.split(", ") if name)
        for member_id, names in _ASSIGNED.findall(text)
    }


def _partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def times_of(lines: Sequence[LogLine], beginning: str) -> tuple[int, ...]:
    """Return the times of the client's statements with this beginning."""
    return tuple(line.at_us for line in lines if line.text.startswith(beginning))


def heartbeats_sent(lines: Sequence[LogLine]) -> tuple[int, ...]:
    """Return the times at which heartbeats were sent."""
    return times_of(lines, "Sending Heartbeat request")


def metadata_news(lines: Sequence[LogLine]) -> tuple[int, ...]:
    """Return the times at which fresh metadata showed the client that it must rejoin."""
    return tuple(line.at_us for line in lines if _METADATA_NEWS.match(line.text))


def first_metadata(lines: Sequence[LogLine]) -> int | None:
    """Return the time of the client's first metadata, from which its refreshes count."""
    return next(iter(times_of(lines, "Cluster ID: ")), None)


def first_poll(lines: Sequence[LogLine]) -> int | None:
    """Return the time of the first poll of a member of the consumer protocol, which makes it join."""
    return next((line.at_us for line in lines if _JOINS.match(line.text)), None)


_JOINS = re.compile(r"Member \S+ with epoch 0 transitioned from UNSUBSCRIBED to JOINING")
_COMMIT = re.compile(r"Enqueuing OffsetCommit request for offsets: \{(.*)\}", re.DOTALL)
_HEARD = re.compile(r"Member \S+ received heartbeat interval (\d+)ms from the group coordinator")
_STORED = re.compile(r"OffsetCommit completed successfully for offset (\d+) partition (\S+)-(\d+)")
_RECONCILES = "Reconciling assignment with local epoch"
_COMMITTED = "Auto-commit before reconciling new assignment"


@dataclass(frozen=True, slots=True)
class Stored:
    """A client of the consumer protocol read that the coordinator has an offset."""

    at_us: int
    partition: TopicPartition
    offset: int


def stored_offsets(lines: Sequence[LogLine]) -> tuple[Stored, ...]:
    """Return every offset of a successful commit, when the background thread read the response."""
    found = ((line.at_us, _STORED.match(line.text)) for line in lines)
    return tuple(
        Stored(at_us, TopicPartition(match[2], int(match[3])), int(match[1]))
        for at_us, match in found
        if match
    )


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The coordinator's response to a client's first heartbeat, with the heartbeat interval."""

    at_us: int
    interval_us: int


def first_answer(lines: Sequence[LogLine]) -> FirstAnswer | None:
    """Return the response to the client's first heartbeat, if there is one."""
    found = ((line.at_us, _HEARD.match(line.text)) for line in lines)
    answers = (FirstAnswer(at_us, int(match[1]) * 1000) for at_us, match in found if match)
    return next(answers, None)


def automatic_commits(lines: Sequence[LogLine], closing_us: int | None) -> Iterator[AutoCommit]:
    """Yield the automatic commits of a client, in order.

    *closing_us*: when the application called close(), if it did. The first commit of a
    reconciliation is the one that it waits for; the others are those of the interval.
    """
    preparing = False
    for line in lines:
        if line.text.startswith(_RECONCILES):
            preparing = True
        elif line.text.startswith(_COMMITTED):
            preparing = False
        elif match := _COMMIT.match(line.text):
            closing = closing_us is not None and line.at_us + 1000 > closing_us
            kind = "close" if closing else "prepare" if preparing else "auto"
            preparing = False
            yield AutoCommit(line.at_us, kind, offsets_in(match[1]))
