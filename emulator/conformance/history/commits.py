"""Return a run's commits as events: sent by consumers, accepted or rejected by the coordinator.

A commit is effective once the coordinator has it, even if the client ends before the response.
So the coordinator's lines decide; the client's log and trace show its sender, time and reason.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import (
    AutoCommit,
    Stored,
    auto_commits,
    automatic_commits,
    refusals,
    stored_offsets,
)
from emulator.conformance.captured.coordinator_log import OffsetLine, offset_lines, requests
from emulator.conformance.captured.traces import Committed, GenerationSeen, SyncCommit, Trace
from emulator.conformance.history.consumers import LOG_TICK_US, ConsumerHistory, Moment
from emulator.events import (
    CommitAccepted,
    CommitAnswered,
    CommitRefused,
    CommitSent,
    EpochOpened,
    Offsets,
)

UNKNOWN_LOG_OFFSET = -1
"""Placeholder: a capture does not show the position of a commit in the offsets log."""

_IN_TICK_US = LOG_TICK_US - 1


@dataclass(slots=True)
class _Commit:
    """One commit request, with its known values."""

    sent_us: int
    kind: str
    offsets: Offsets
    accepted_us: int | None = None
    answered_us: int | None = None
    refused: tuple[int, str, str] | None = None
    """The time, the error, and which side rejected it."""


@dataclass(slots=True, kw_only=True)
class _Sender:
    """The commits of one incarnation, in sending order."""

    trace: Trace
    steps: Mapping[TopicPartition, tuple[list[int], list[int]]]
    """Progress in each partition: times, and the offsets reached then."""

    generations: tuple[GenerationSeen, ...]
    calls: tuple[SyncCommit, ...]
    stored: tuple[Stored, ...]
    commits: list[_Commit] = field(default_factory=list)

    def progress(self, partition: TopicPartition, at_us: int) -> int:
        """Return the offset that the handler had reached; -1 if it had no position yet."""
        times, offsets = self.steps.get(partition, ([], []))
        place = bisect_right(times, at_us)
        return offsets[place - 1] if place else -1

    def generation(self, at_us: int) -> int:
        """Return the generation that it knew."""
        seen = (e.generation for e in reversed(self.generations) if e.at_us <= at_us)
        return next(seen, -1)

    def call(self, at_us: int) -> SyncCommit | None:
        """Return the commitSync call in progress."""
        place = bisect_left(self.calls, at_us, key=lambda call: call.at_us)
        later = self.calls[place : place + 1]
        return later[0] if later and later[0].began_us <= at_us else None

    def unresolved(self, offsets: Offsets, by_us: int) -> _Commit | None:
        """Return the last commit of these offsets that was sent by then and has no outcome yet."""
        wanted = dict(offsets)
        return next(
            (
                commit
                for commit in reversed(self.commits)
                if commit.accepted_us is None
                and commit.sent_us <= by_us
                and dict(commit.offsets) == wanted
            ),
            None,
        )


class _Lines:
    """The coordinator's lines that are not yet matched with a commit."""

    def __init__(self, lines: Sequence[OffsetLine]) -> None:
        self._left = dict(enumerate(lines))
        self._places: dict[tuple[str, TopicPartition, int], deque[int]] = {}
        for place, line in self._left.items():
            key = (line.member_id, line.partition, line.offset)
            self._places.setdefault(key, deque()).append(place)

    def take(self, member_ids: Sequence[str], entry: Committed) -> tuple[OffsetLine, ...]:
        """Remove and return the lines of an answered commit; none if one of them is missing."""
        for member_id in member_ids:
            keys = [(member_id, partition, offset) for partition, offset in entry.offsets]
            places = [self._places.get(key) for key in keys]
            if all(p and self._left[p[0]].at_us <= entry.at_us for p in places):
                return tuple(self._left.pop(p.popleft()) for p in places if p)
        return ()

    def left(self) -> tuple[OffsetLine, ...]:
        """Return the unmatched lines, in order."""
        return tuple(self._left.values())


def commit_history(
    capture: Capture, histories: Mapping[str, ConsumerHistory]
) -> tuple[Moment, ...]:
    """Return the commits of a run in no particular order; *histories* by trace name."""
    topics = [produced.topic for produced in capture.productions]
    lines = _Lines(offset_lines(capture.coordinator_log, topics)[0])
    senders = [_sender(capture, trace, histories[trace.name]) for trace in capture.traces]
    _answered(senders, lines)
    _unanswered(senders, lines.left())
    for sender in senders:
        _refused(sender, capture)
    return tuple(
        moment
        for sender in senders
        for number, commit in enumerate(sorted(sender.commits, key=lambda c: c.sent_us), start=1)
        for moment in _moments(sender, commit, f"{sender.trace.name}#{number}", capture.group)
    )


def _sender(capture: Capture, trace: Trace, history: ConsumerHistory) -> _Sender:
    """Collect an incarnation's automatic commits; commitSync calls are added later."""
    steps: dict[TopicPartition, list[tuple[int, int]]] = {}
    for at_us, what in history.moments:
        if isinstance(what, EpochOpened):
            steps.setdefault(what.partition, []).append((at_us, what.offset))
    for work in history.work:
        steps.setdefault(work.partition, []).append((work.at_us, work.offset + 1))
    sender = _Sender(
        trace=trace,
        steps={p: _columns(sorted(reached)) for p, reached in steps.items()},
        generations=tuple(e for e in trace.entries if isinstance(e, GenerationSeen)),
        calls=tuple(e for e in trace.entries if isinstance(e, SyncCommit)),
        stored=stored_offsets(capture.client_logs[trace.name]),
    )
    for commit in _by_itself(capture, trace):
        sender.commits.append(_Commit(commit.at_us + _IN_TICK_US, commit.kind, commit.offsets))
    return sender


def _by_itself(capture: Capture, trace: Trace) -> Iterable[AutoCommit]:
    """Return the automatic commits of the client."""
    log = capture.client_logs[trace.name]
    if trace.protocol != "consumer":
        return auto_commits(log)
    if trace.conf.get("mode") != "auto":
        return ()
    return automatic_commits(log, trace.marked_us("closing"))


def _columns(rows: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    times, offsets = zip(*rows, strict=True)
    return list(times), list(offsets)


def _answered(senders: Sequence[_Sender], lines: _Lines) -> None:
    """Add every commit whose response a client handled."""
    for sender in senders:
        for entry in sender.trace.entries:
            if isinstance(entry, Committed) and entry.offsets:
                commit = _commit_of(sender, entry)
                taken = lines.take(sender.trace.member_ids, entry)
                at_us = max((line.at_us for line in taken), default=entry.at_us) + _IN_TICK_US
                commit.accepted_us = min(max(at_us, commit.sent_us), entry.at_us)
                commit.answered_us = max(commit.accepted_us, _read_us(sender, commit, entry))


def _read_us(sender: _Sender, commit: _Commit, entry: Committed) -> int:
    """Return when the client read the response, at most when the application heard of it.

    An application of the consumer protocol hears of it in its next poll; the log of the background
    thread has the time of the response.
    """
    said = (
        each.at_us + _IN_TICK_US
        for each in sender.stored
        if each.at_us + _IN_TICK_US >= commit.sent_us
        and (each.partition, each.offset) in entry.offsets
    )
    return min(next(said, entry.at_us), entry.at_us)


def _commit_of(sender: _Sender, entry: Committed) -> _Commit:
    """Return the commit that a response belongs to: an automatic one, or else a commitSync."""
    commit = sender.unresolved(entry.offsets, entry.at_us + _IN_TICK_US)
    if commit is None:
        call = sender.call(entry.at_us)
        sent_us = entry.at_us if call is None else call.began_us
        kind = "async" if call is None else "close" if call.reason == "close" else "sync"
        commit = _Commit(sent_us, kind, entry.offsets)
        sender.commits.append(commit)
    commit.sent_us = min(commit.sent_us, entry.at_us)
    return commit


def _unanswered(senders: Sequence[_Sender], lines: Sequence[OffsetLine]) -> None:
    """Add the commits that the coordinator accepted and whose response no client handled."""
    for request in requests(lines):
        offsets = tuple((line.partition, line.offset) for line in request)
        for sender in senders:
            if request[0].member_id in sender.trace.member_ids:
                at_us = request[-1].at_us + _IN_TICK_US
                commit = sender.unresolved(offsets, at_us)
                if commit is None:
                    commit = _Commit(at_us, "sync", offsets)
                    sender.commits.append(commit)
                commit.accepted_us = at_us


def _refused(sender: _Sender, capture: Capture) -> None:
    """Add the failed commits of the client's log."""
    for refusal in refusals(capture.client_logs[sender.trace.name]):
        at_us = refusal.at_us + _IN_TICK_US
        given = None if refusal.partition is None else (refusal.partition, refusal.offset)
        fitting = [
            commit
            for commit in sender.commits
            if commit.sent_us <= at_us
            and commit.accepted_us is None
            and commit.refused is None
            and (given is None or given in commit.offsets)
        ]
        if fitting:
            by, commit = ("client", fitting[-1]) if given is None else ("coordinator", fitting[0])
            commit.refused = (at_us, refusal.error, by)


def _moments(sender: _Sender, commit: _Commit, name: str, group: str) -> Iterable[Moment]:
    sent = CommitSent(
        consumer=sender.trace.member,
        group=group,
        generation=sender.generation(commit.sent_us),
        commit=name,
        kind=commit.kind,
        offsets=commit.offsets,
        processed=tuple(sender.progress(p, commit.sent_us) for p, _ in commit.offsets),
    )
    yield commit.sent_us, sent
    yield from _outcome(commit, sent)


def _outcome(commit: _Commit, sent: CommitSent) -> Iterable[Moment]:
    """Yield the outcome of a commit."""
    if commit.accepted_us is not None:
        yield (
            commit.accepted_us,
            CommitAccepted(
                consumer=sent.consumer,
                group=sent.group,
                generation=sent.generation,
                commit=sent.commit,
                offsets=sent.offsets,
                log_offset=UNKNOWN_LOG_OFFSET,
            ),
        )
    if commit.answered_us is not None:
        answered = CommitAnswered(
            consumer=sent.consumer, group=sent.group, commit=sent.commit, error="NONE"
        )
        yield commit.answered_us, answered
    if commit.refused is not None:
        at_us, error, by = commit.refused
        yield (
            at_us,
            CommitRefused(
                consumer=sent.consumer,
                group=sent.group,
                generation=sent.generation,
                commit=sent.commit,
                error=error,
                by=by,
                offsets=sent.offsets,
            ),
        )
