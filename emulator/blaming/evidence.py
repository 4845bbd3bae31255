"""What the logs of a group show: its work, its commits and its generations.

A real incident, a captured run and a run of the emulator all give the same three lists, so that
explanations are compared with what was seen by one set of figures.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev


@dataclass(frozen=True, slots=True)
class Work:
    """The records ``first`` up to ``next_offset`` of a partition, processed by one consumer."""

    consumer: str
    partition: TopicPartition
    first: int
    next_offset: int
    began_us: int
    ended_us: int


@dataclass(frozen=True, slots=True)
class Committed:
    """One committed offset."""

    at_us: int
    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A member id that is first seen; ``consumer``: whose, empty if that is not known."""

    at_us: int
    consumer: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of one group; times in microseconds, each list in order of time."""

    work: tuple[Work, ...]
    commits: tuple[Committed, ...]
    generations_us: tuple[int, ...]
    """The times of new generations: those of a classic group are stable, group epochs else."""

    joins: tuple[Joined, ...] = ()
    """New member ids: every process has its own, and a member that was removed gets another one."""

    def until(self, end_us: int) -> Evidence:
        """Return what was seen up to an instant."""
        return Evidence(
            tuple(done for done in self.work if done.ended_us <= end_us),
            tuple(each for each in self.commits if each.at_us <= end_us),
            tuple(at_us for at_us in self.generations_us if at_us <= end_us),
            tuple(each for each in self.joins if each.at_us <= end_us),
        )


One = TypeVar("One")
Key = TypeVar("Key", bound=Hashable)


def grouped(each: Iterable[One], key: Callable[[One], Key]) -> dict[Key, list[One]]:
    """Return what has the same key together, in its order."""
    found: dict[Key, list[One]] = {}
    for one in each:
        found.setdefault(key(one), []).append(one)
    return found


def in_order(done: Work) -> tuple[int, TopicPartition, int]:
    """Return the sort key of work."""
    return done.ended_us, done.partition, done.first


def evidence_of(events: Iterable[ev.Event], group: str, work_us: int) -> Evidence:
    """Return what the logs of a run would have shown of a group.

    *events*: with polls. Finished records are events only before something reads them; so the time
    of each is computed from its poll and *work_us*, the time of a record.
    """
    work, commits = list[Work](), list[Committed]()
    generations, joins = list[int](), list[Joined]()
    polls = _Polls(work_us)
    epochs = set[int]()
    """A group of the consumer protocol is stable some time after its record has been written."""

    for event in events:
        what = event.what
        if getattr(what, "group", None) != group:
            polls.follow(event)
            continue
        match what:
            case ev.Polled():
                polls.add(event.at_us, what)
            case ev.Processed() | ev.ProcessedOutOfOrder():
                work += polls.split(what, event.at_us)
            case ev.CommitAccepted():
                commits += [Committed(event.at_us, *offset) for offset in what.offsets]
            case ev.GroupEpochRaised():
                epochs.add(what.epoch)
                generations.append(event.at_us)
            case ev.GroupStabilised() if what.generation not in epochs:
                generations.append(event.at_us)
            case ev.MemberAdded():
                joins.append(Joined(event.at_us, what.consumer))
    work.sort(key=in_order)
    return Evidence(tuple(work), tuple(commits), tuple(generations), recorded(joins, generations))


def recorded(joins: Iterable[Joined], generations_us: Sequence[int]) -> tuple[Joined, ...]:
    """Return joins with the time of the generation whose record is the first with the member id."""
    return tuple(
        replace(
            each, at_us=min((at for at in generations_us if at >= each.at_us), default=each.at_us)
        )
        for each in joins
    )


class _Polls:
    """The records that polls returned, to date the processed ones."""

    def __init__(self, work_us: int) -> None:
        self._work_us = work_us
        self._returned: dict[tuple[str, TopicPartition], deque[Work]] = defaultdict(deque)
        self._hung = set[str]()

    def follow(self, event: ev.Event) -> None:
        """Note the consumers whose handler hangs."""
        if isinstance(event.what, ev.FaultBegan) and event.what.verb == "hang":
            self._hung.add(event.what.target)

    def add(self, at_us: int, what: ev.Polled) -> None:
        """Add a poll: its records are processed one after the other."""
        for partition, first, next_offset in what.ranges:
            ended_us = at_us + (next_offset - first) * self._work_us
            self._returned[what.consumer, partition].append(
                Work(what.consumer, partition, first, next_offset, at_us, ended_us)
            )
            at_us = ended_us

    def split(self, what: ev.Processed | ev.ProcessedOutOfOrder, at_us: int) -> Iterator[Work]:
        """Yield processed records by their polls; *at_us*: by then, all of them were finished."""
        returned, first = self._returned[what.consumer, what.partition], what.first
        while returned and first < what.next_offset:
            poll = returned[0]
            if poll.next_offset <= first or poll.first > first:
                returned.popleft()
                continue
            end = min(poll.next_offset, what.next_offset)
            ended_us = min(at_us, poll.ended_us - (poll.next_offset - end) * self._work_us)
            if end == what.next_offset and what.consumer in self._hung:
                ended_us = at_us
                self._hung.discard(what.consumer)
            yield replace(poll, first=first, next_offset=end, ended_us=ended_us)
            first = end
        if first < what.next_offset:
            yield Work(what.consumer, what.partition, first, what.next_offset, what.began_us, at_us)
