"""Return the coordinator's log of a group of the consumer protocol as events.

The log names topics by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.coordinator_log import (
    COMPUTED,
    GROUP,
    MOVED,
    NUMBERS,
    OWNED,
    CoordinatorLine,
    topic_ids,
)
from emulator.conformance.history.consumers import Moment
from emulator.events import (
    GroupEpochRaised,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    TargetComputed,
)

_BUMPED = re.compile(rf"{GROUP}Bumped group epoch to (\d+) with metadata hash")
_GIVEN = re.compile(r"([^\s{,=]+)=MemberAssignment\(partitions=\{(.*?)\}\)")
_JOINS = re.compile(
    rf"{GROUP}(?:M|Static m)ember (\S+) (?:with instance id \S+ )?(?:re-)?joins the consumer group"
    r" using the consumer protocol\.?(?: Created a new member \S+ to replace the existing member"
    r" (\S+?)\.?$)?"
)
_FENCED = re.compile(rf"{GROUP}Member (\S+) fenced from the group because (.*?)\.?$")
_LEFT = re.compile(
    rf"{GROUP}(?:M|Dynamic m|Static m)ember (\S+) (?:with instance id \S+ )?"
    r"(?:left the consumer group|has left group through)"
)
"""The second form: a member that speaks the classic protocol in a group that was converted."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Names that the lines omit."""

    group: str
    consumers: Mapping[str, str]
    """Consumer by member id."""

    topics: Mapping[str, str]
    """Topic name by topic id."""

    targets: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    """By member id: the last target that a line has shown so far."""

    def consumer(self, member_id: str) -> str:
        """Return the consumer of a member id; for an unknown id, the id itself."""
        return self.consumers.get(member_id, member_id)

    def partition(self, topic_id: str, number: str) -> TopicPartition:
        """Return a partition; a topic with an unknown name gets its id as name."""
        return TopicPartition(self.topics.get(topic_id, topic_id), int(number))


def epoch_history(capture: Capture) -> tuple[Moment, ...]:
    """Return the epochs, targets and steps of a group, in order of the coordinator's log."""
    if not capture.has_epochs:
        return ()
    consumers = {
        member_id: trace.member for trace in capture.traces for member_id in trace.member_ids
    }
    ids = topic_ids(capture.coordinator_log, [p.topic for p in capture.productions])
    known = _Known(capture.group, consumers, {topic_id: name for name, topic_id in ids.items()})
    return tuple(moment for line in capture.coordinator_log for moment in _moments(line, known))


def _moments(line: CoordinatorLine, known: _Known) -> Iterator[Moment]:
    for pattern, event_of in _EVENT_OF_LINE:
        if match := pattern.match(line.text):
            yield line.at_us, event_of(match, known)


def _bumped(match: re.Match[str], known: _Known) -> GroupEpochRaised:
    """Return the event; its line has neither the reason nor the member."""
    return GroupEpochRaised(group=known.group, epoch=int(match[1]), reason="", consumer="")


def _computed(match: re.Match[str], known: _Known) -> TargetComputed:
    """Return the event with the changes; its line has the whole target of each member.

    Two members may belong to one consumer: that of a process which died is removed later.
    """
    given = {
        member_id: tuple(
            sorted(
                known.partition(topic_id, number)
                for topic_id, numbers in NUMBERS.findall(partitions)
                for number in numbers.split(", ")
                if number
            )
        )
        for member_id, partitions in _GIVEN.findall(match[3])
    }
    changed = sorted(
        (known.consumer(member_id), partitions, member_id)
        for member_id, partitions in given.items()
        if known.targets.get(member_id) != partitions
    )
    known.targets.clear()
    known.targets.update(given)
    return TargetComputed(
        group=known.group,
        epoch=int(match[1]),
        assignor=match[2],
        changed=tuple((consumer, partitions) for consumer, partitions, _ in changed),
        member_ids=tuple(member_id for _, _, member_id in changed),
    )


def _moved(match: re.Match[str], known: _Known) -> MemberMoved:
    return MemberMoved(
        group=known.group,
        consumer=known.consumer(match[1]),
        epoch=int(match[2]),
        state=match[3],
        assigned=_owned(match[4], known),
        revoking=_owned(match[5], known),
    )


def _owned(text: str, known: _Known) -> tuple[TopicPartition, ...]:
    return tuple(sorted(known.partition(*found.groups()) for found in OWNED.finditer(text)))


def _joins(match: re.Match[str], known: _Known) -> MemberAdded:
    """Return the event; the line of a returning static member names the replaced one."""
    return MemberAdded(
        group=known.group,
        consumer=known.consumer(match[1]),
        member_id=match[1],
        replaced=match[2] or "",
        protocol="consumer",
    )


def _fenced(match: re.Match[str], known: _Known) -> MemberRemoved:
    why = "session expired" if "session expired" in match[2] else match[2]
    return _removed(match[1], why, known)


def _left(match: re.Match[str], known: _Known) -> MemberRemoved:
    return _removed(match[1], "left", known)


def _removed(member_id: str, why: str, known: _Known) -> MemberRemoved:
    """Return the event; the member has no target any more."""
    known.targets.pop(member_id, None)
    return MemberRemoved(
        group=known.group, consumer=known.consumer(member_id), member_id=member_id, why=why
    )


_LineEvent = GroupEpochRaised | TargetComputed | MemberMoved | MemberAdded | MemberRemoved
_EVENT_OF_LINE: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str], _Known], _LineEvent]], ...
] = (
    (_BUMPED, _bumped),
    (COMPUTED, _computed),
    (MOVED, _moved),
    (_JOINS, _joins),
    (_FENCED, _fenced),
    (_LEFT, _left),
)
