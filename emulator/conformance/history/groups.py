"""Return the coordinator's log of a classic group as events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import (
    FinishedAssignment,
    Joined,
    finished_assignments,
    joins,
)
from emulator.conformance.captured.coordinator_log import CoordinatorLine
from emulator.conformance.history.consumers import Moment
from emulator.events import (
    CoordinatorMoved,
    GroupEmptied,
    GroupStabilised,
    JoinPhaseEnded,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)

_MEMBER = r"([^\s(]+-[0-9a-f]{8}-[0-9a-f-]{27})"
_PREPARING = re.compile(
    r"Preparing to rebalance group \S+ in state \S+ with old generation (\d+) \(reason: (.*)\)\.?$",
    re.DOTALL,
)
_JOINED = re.compile(r"Stabilized group \S+ generation (\d+) with \d+ members")
_SYNCED = re.compile(r"Assignment received from leader \S+ for group \S+ for generation (\d+)\.")
_ADDED = re.compile(rf"Pending dynamic member with id {_MEMBER} joins group")
_STATIC = re.compile(
    rf"Static member with groupInstanceId=(\S+) and unknown member id joins .*"
    rf"(?:Created a new member id {_MEMBER} |Replacing previously mapped member {_MEMBER} )"
)
_FAILED = re.compile(rf"Member {_MEMBER} in group \S+ has failed, removing it")
_LEFT = re.compile(
    rf"\[Group \S+\] Member {_MEMBER} has left group .*; client reason: (.*)", re.DOTALL
)
_EMPTY = re.compile(r"Group \S+ with generation (\d+) is now empty")
_LOADED = re.compile(r"Loaded classic group \S+ with \d+ members")
_ANY_MEMBER = re.compile(_MEMBER)


@dataclass(frozen=True, slots=True)
class _Known:
    """Facts from the clients' logs that the coordinator's log lacks."""

    group: str
    consumers: Mapping[str, str]
    """Consumer by member id."""

    instances: Mapping[str, str]
    """Consumer by instance id."""

    joined: Mapping[int, tuple[tuple[str, Joined], ...]]
    """By generation: the members with a response to JoinGroup, and the response."""

    finished: Mapping[int, FinishedAssignment]
    """By generation."""

    def consumer(self, member_id: str) -> str:
        """Return the consumer of a member id; an unknown id begins with the client id."""
        return self.consumers.get(member_id) or _ANY_MEMBER.sub(_client_id, member_id)


def _client_id(match: re.Match[str]) -> str:
    return match[1][:-37]


def group_history(capture: Capture) -> tuple[Moment, ...]:
    """Return the coordinator's events, in order of its log."""
    known = _known(capture)
    return tuple(moment for line in capture.coordinator_log for moment in _moments(line, known))


def _known(capture: Capture) -> _Known:
    consumers: dict[str, str] = {}
    joined: dict[int, list[tuple[str, Joined]]] = {}
    finished: dict[int, FinishedAssignment] = {}
    for trace in capture.traces:
        consumers |= dict.fromkeys(trace.member_ids, trace.member)
        log = capture.client_logs[trace.name]
        for answer in joins(log):
            consumers.setdefault(answer.member_id, trace.member)
            joined.setdefault(answer.generation, []).append((trace.member, answer))
        finished |= {done.generation: done for done in finished_assignments(log)}
    instances = {t.conf.get("c.group.instance.id", ""): t.member for t in capture.traces}
    by_generation = {generation: tuple(answers) for generation, answers in joined.items()}
    return _Known(capture.group, consumers, instances, by_generation, finished)


def _moments(line: CoordinatorLine, known: _Known) -> Iterator[Moment]:
    for pattern, events_of in _EVENTS_OF_LINE:
        if match := pattern.match(line.text):
            for event in events_of(match, known):
                yield line.at_us, event
    if _LOADED.match(line.text):
        moved = CoordinatorMoved(
            group=known.group,
            broker=line.broker,
            generation=max(known.joined, default=0),
            loaded_us=0,
        )
        yield line.at_us, moved


def _rebalance(match: re.Match[str], known: _Known) -> Iterator[RebalanceStarted]:
    named = _ANY_MEMBER.search(match[2])
    yield RebalanceStarted(
        group=known.group,
        generation=int(match[1]),
        reason=match[2],
        consumer=known.consumer(named[1]) if named else "",
    )


def _join_phase(match: re.Match[str], known: _Known) -> Iterator[JoinPhaseEnded]:
    generation = int(match[1])
    answers = known.joined.get(generation, ())
    if answers:
        yield JoinPhaseEnded(
            group=known.group,
            generation=generation,
            protocol=answers[0][1].protocol,
            leader=known.consumer(answers[0][1].leader_id),
            consumers=tuple(sorted({consumer for consumer, _ in answers})),
        )


def _stable(match: re.Match[str], known: _Known) -> Iterator[GroupStabilised]:
    generation = int(match[1])
    if finished := known.finished.get(generation):
        given: dict[str, tuple[TopicPartition, ...]] = {
            known.consumer(member_id): partitions
            for member_id, partitions in finished.assignment.items()
        }
        yield GroupStabilised(
            group=known.group, generation=generation, assignment=tuple(sorted(given.items()))
        )


def _added(match: re.Match[str], known: _Known) -> Iterator[MemberAdded]:
    yield MemberAdded(group=known.group, consumer=known.consumer(match[1]), member_id=match[1])


def _static(match: re.Match[str], known: _Known) -> Iterator[MemberAdded]:
    """Yield the event; its line lacks the new id of a returning static member."""
    yield MemberAdded(
        group=known.group,
        consumer=known.instances.get(match[1], match[1]),
        member_id=match[2] or "",
        replaced=match[3] or "",
    )


def _failed(match: re.Match[str], known: _Known) -> Iterator[MemberRemoved]:
    yield _removed(match[1], "session expired", known)


def _left(match: re.Match[str], known: _Known) -> Iterator[MemberRemoved]:
    yield _removed(match[1], f"left: {match[2]}", known)


def _removed(member_id: str, why: str, known: _Known) -> MemberRemoved:
    return MemberRemoved(
        group=known.group, consumer=known.consumer(member_id), member_id=member_id, why=why
    )


def _emptied(match: re.Match[str], known: _Known) -> Iterator[GroupEmptied]:
    yield GroupEmptied(group=known.group, generation=int(match[1]))


_LineEvent = (
    RebalanceStarted | JoinPhaseEnded | GroupStabilised | MemberAdded | MemberRemoved | GroupEmptied
)
_EVENTS_OF_LINE: tuple[
    tuple[re.Pattern[str], Callable[[re.Match[str], _Known], Iterator[_LineEvent]]], ...
] = (
    (_PREPARING, _rebalance),
    (_JOINED, _join_phase),
    (_SYNCED, _stable),
    (_ADDED, _added),
    (_STATIC, _static),
    (_FAILED, _failed),
    (_LEFT, _left),
    (_EMPTY, _emptied),
)
