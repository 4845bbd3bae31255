"""Owners, commits and work in the events of one run, read without the ledger.

Moments are indexes in the run's list of events: events before one had happened by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator.events import CommitAccepted, EpochClosed, EpochOpened, Polled
from emulator.playing import Run

ALIVE = "alive"


@dataclass(slots=True)
class Owned:
    """One consumer's epoch on one partition."""

    consumer: str
    partition: TopicPartition
    start: int
    source: str
    opened: int
    """Moment and time of its beginning."""

    opened_us: int
    closed: int | None = None
    """Moment of its end; None while it works."""

    done: int = 0
    """D, the end of what it processed."""

    position: int = 0
    """P, the end of what poll handed out."""

    why: str = ALIVE


@dataclass
class Shown:
    """One run, indexed."""

    run: Run
    epochs: list[Owned] = field(default_factory=list)
    commits: list[tuple[int, CommitAccepted]] = field(default_factory=list)
    polls: list[tuple[int, Polled]] = field(default_factory=list)

    def __post_init__(self):
        working: dict[tuple[str, TopicPartition], Owned] = {}
        for moment, event in enumerate(self.run.events):
            what = event.what
            if isinstance(what, EpochOpened):
                key = (what.consumer, what.partition)
                owned = Owned(*key, what.offset, what.source, moment, event.at_us)
                working[key] = owned
                self.epochs.append(owned)
            elif isinstance(what, EpochClosed):
                owned = working.pop((what.consumer, what.partition))
                owned.closed, owned.why = moment, what.why
                owned.done, owned.position = what.processed, what.position
            elif isinstance(what, CommitAccepted):
                self.commits.append((moment, what))
            elif isinstance(what, Polled):
                self.polls.append((moment, what))

    def first(self, of: type, **fields: object) -> int:
        """Return the moment of the first event of a kind with these fields."""
        return next(self.moments(of, **fields))

    def moments(self, of: type, **fields: object) -> Iterator[int]:
        """Yield the moments of all events of a kind with these fields."""
        for moment, event in enumerate(self.run.events):
            what = event.what
            if isinstance(what, of) and all(getattr(what, n) == v for n, v in fields.items()):
                yield moment

    def at_us(self, moment: int) -> int:
        """Return the time of a moment."""
        return self.run.events[moment].at_us

    def committed(self, partition: TopicPartition, moment: int) -> int | None:
        """Return C, the committed offset at a moment; None if there was none."""
        found = None
        for when, commit in self.commits:
            if when >= moment:
                break
            found = dict(commit.offsets).get(partition, found)
        return found

    def handed(self, consumer: str, partition: TopicPartition, moment: int) -> int:
        """Return P at a moment: the end of what polls of the present epoch had handed out."""
        position = next(
            owned.start
            for owned in reversed(self.epochs)
            if (owned.consumer, owned.partition) == (consumer, partition) and owned.opened < moment
        )
        for when, poll in self.polls:
            if when >= moment:
                break
            if poll.consumer == consumer:
                for tp, _, end in poll.ranges:
                    position = end if tp == partition else position
        return position

    def last_poll_us(self, consumer: str, moment: int) -> int:
        """Return when a consumer was last handed records before a moment."""
        polls = [when for when, poll in self.polls if poll.consumer == consumer and when < moment]
        return self.at_us(polls[-1])

    def owned_at(self, consumer: str, moment: int) -> list[Owned]:
        """Return the epochs a consumer works on at a moment, or ends in it."""
        return [
            owned
            for owned in self.epochs
            if owned.consumer == consumer
            and owned.opened < moment
            and (owned.closed is None or owned.closed >= moment)
        ]

    def successor(self, before: Owned) -> Owned:
        """Return the epoch that began next on the same partition."""
        return next(
            owned
            for owned in self.epochs
            if owned.partition == before.partition and owned.opened > before.opened
        )

    def successors(self) -> Iterator[tuple[Owned, Owned]]:
        """Yield every epoch that has one with its successor."""
        latest: dict[TopicPartition, Owned] = {}
        for owned in self.epochs:
            before = latest.get(owned.partition)
            if before is not None:
                yield before, owned
            latest[owned.partition] = owned
