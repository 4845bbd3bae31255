"""The log as its coordinator sees it: proposed batches, the high watermark, deferred replies.

A turn's records are appended at once, as one atomic batch; with Kafka's adaptive linger an idle
shard adds no delay. Records that clean up (expired offsets, offsets of a deleted topic) need not
be atomic: each may go into a batch of its own. A deferred reply waits until everything proposed
before it is durable, also by other groups of the partition. The durable state before each batch
is kept until the batch is durable, so that a failed append can be rolled back.

Source: ``CoordinatorRuntime`` (deferred event queue, snapshots, operation timeouts),
``CoordinatorResult.isAtomic``.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from protocols.coordinator.replay import replayed
from protocols.groups.shard import AnyShard, Durable, Shard, Turn, Waiting
from protocols.machine import Append, SetTimer, Tell
from protocols.offsets_topic.records import Record

Entry = tuple[int, Record]
"""A record of the log and its log offset."""

Replay = Callable[[Durable, Iterable[Record]], Durable]
"""Applies records in their order."""

OPERATION_TIMEOUT: Final = "operation-timeout"
"""The timer that limits how long a turn waits to be durable, one for all groups."""


class HostContractError(RuntimeError):
    """The host of a coordinator called it in a way that its contract rules out."""


_MOST_AT_ONCE: Final = 1_024
"""Records that are replayed together: each topic comes many times, all stays in fast memory."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One batch that is in the log but not yet durable."""

    log_offset: int
    end: int
    before: Durable
    after: Durable
    made: tuple[str, ...] = ()
    """Groups that were not in memory before it."""

    ended: tuple[tuple[str, Any], ...] = ()
    """Groups that are no longer in memory after it, as they were."""


class Deferred(NamedTuple):
    """Something that waits until all below a log offset is durable."""

    below: int
    deadline_us: int
    waiting: Waiting


class DeferredFact(NamedTuple):
    """A fact that holds once all below a log offset is durable, however long that takes."""

    below: int
    waiting: Tell


class Durability:
    """Which records of a shard's log are durable, and what waits for the others."""

    __slots__ = (
        "_deferred",
        "_facts",
        "_loaded_to",
        "_proposals",
        "_replay",
        "_timer_set",
        "high_watermark",
        "next_log_offset",
        "view",
    )

    def __init__(self, replayed: Replay) -> None:
        """Take *replayed*, which applies records to what is durable."""
        self._replay = replayed
        self.next_log_offset = 0
        self.high_watermark = 0
        self.view = Durable()
        """What readers see: the state as of the high watermark."""

        self._proposals = deque[Proposal]()
        self._deferred = deque[Deferred]()
        self._facts = deque[DeferredFact]()
        self._timer_set = False
        self._loaded_to = 0

    @property
    def all_durable(self) -> bool:
        """Whether everything proposed is durable, so that nobody need wait."""
        return self.high_watermark >= self.next_log_offset

    def replay(self, durable: Durable, entries: Iterable[Entry]) -> Durable:
        """Apply what a load reads of the log to what it has read before; return the newest state."""
        for run in self._runs(entries):
            before, log_offset = durable, run[-1][0]
            durable = self._replay(before, (record for _, record in run))
            self.next_log_offset = log_offset + 1
            if log_offset < self.high_watermark:
                self.view = durable
            else:
                self._proposals.append(Proposal(log_offset, log_offset + 1, before, durable))
        return durable

    def _runs(self, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        """Cut what a load reads into what it can take at once.

        Below the high watermark these are many; above it, where readers will learn of each
        record in its turn, it is one by one.
        """
        read_to = self.next_log_offset
        safe: list[Entry] = []
        for entry in entries:
            log_offset = entry[0]
            if log_offset < read_to:
                raise HostContractError(
                    f"records are replayed in the order of the log: {log_offset} after {read_to - 1}"
                )
            read_to = log_offset + 1
            is_safe = log_offset < self.high_watermark
            if safe and (not is_safe or len(safe) == _MOST_AT_ONCE):
                yield safe
                safe = []
            if is_safe:
                safe.append(entry)
            else:
                yield [entry]
        if safe:
            yield safe

    def load_end(self, log_end: int) -> None:
        """Set the end of the log; compaction may have removed its last records."""
        self.next_log_offset = max(self.next_log_offset, log_end)
        self._loaded_to = self.next_log_offset

    def propose(
        self,
        count: int,
        before: Durable,
        after: Durable,
        made: tuple[str, ...],
        ended: tuple[tuple[str, Any], ...],
    ) -> None:
        """Take note of a batch of *count* records that goes to the end of the log."""
        start = self.next_log_offset
        self.next_log_offset = start + count
        self._proposals.append(Proposal(start, self.next_log_offset, before, after, made, ended))

    def defer(self, waits: tuple[Waiting, ...], deadline_us: int) -> tuple[SetTimer, ...]:
        """Let a turn's rest wait for all proposed so far; return the timer to set, if any.

        All turns wait equally long, so one timer for the oldest is enough; it is set anew only
        when it runs out, not for each turn.
        """
        below = self.next_log_offset
        for waiting in waits:
            if type(waiting) is Tell:
                self._facts.append(DeferredFact(below, waiting))
            else:
                self._deferred.append(Deferred(below, deadline_us, waiting))
        if self._timer_set or not self._deferred:
            return ()
        self._timer_set = True
        return (SetTimer(OPERATION_TIMEOUT, deadline_us),)

    def advance(self, log_offset: int) -> list[Waiting]:
        """Learn that all below *log_offset* is durable; return what waited for it, in order.

        Facts come before the answers.
        """
        if log_offset <= self.high_watermark:
            return []
        self.high_watermark = log_offset
        proposals = self._proposals
        while proposals and proposals[0].end <= log_offset:
            self.view = proposals.popleft().after
        released = list[Waiting]()
        while self._facts and self._facts[0].below <= log_offset:
            released.append(self._facts.popleft().waiting)
        while self._deferred and self._deferred[0].below <= log_offset:
            released.append(self._deferred.popleft().waiting)
        return released

    def expire(self, now_us: int) -> tuple[list[Waiting], tuple[SetTimer, ...]]:
        """Remove and return what timed out, and the timer for the next deadline."""
        expired = list[Waiting]()
        while self._deferred and self._deferred[0].deadline_us <= now_us:
            expired.append(self._deferred.popleft().waiting)
        self._timer_set = bool(self._deferred)
        if not self._timer_set:
            return expired, ()
        return expired, (SetTimer(OPERATION_TIMEOUT, self._deferred[0].deadline_us),)

    def in_flight(self) -> list[int]:
        """Return where the batches begin that may still fail; what was loaded cannot."""
        safe = max(self._loaded_to, self.high_watermark)
        return [proposal.log_offset for proposal in self._proposals if proposal.log_offset >= safe]

    def withdraw(self, log_offset: int) -> tuple[list[Proposal], list[Waiting]]:
        """Take back every batch from *log_offset* on; return them, newest first, and who waited.

        Raises ValueError if no undurable batch begins there.
        """
        in_flight = self.in_flight()
        if log_offset not in in_flight:
            raise ValueError(
                f"no append at log offset {log_offset} is in flight; they begin at {in_flight}"
            )
        withdrawn = list[Proposal]()
        while self._proposals and self._proposals[-1].log_offset >= log_offset:
            withdrawn.append(self._proposals.pop())
        self.next_log_offset = log_offset
        failed = deque[Waiting]()
        while self._deferred and self._deferred[-1].below > log_offset:
            failed.appendleft(self._deferred.pop().waiting)
        while self._facts and self._facts[-1].below > log_offset:
            failed.appendleft(self._facts.pop().waiting)
        return withdrawn, list(failed)

    def abandon(self) -> list[Waiting]:
        """Discard and return everything that waited, in order."""
        waited: list[Waiting] = [fact.waiting for fact in self._facts]
        waited += (deferred.waiting for deferred in self._deferred)
        self._facts.clear()
        self._deferred.clear()
        return waited

    def check(self, newest: Durable) -> None:
        """Assert that batches, waiters and views fit together."""
        ends = [self.high_watermark, *(proposal.end for proposal in self._proposals)]
        assert ends == sorted(ends), "proposals above the high watermark, in order"
        if self._proposals:
            assert self._proposals[0].before == self.view
            assert self._proposals[-1].after == newest
        for earlier, later in zip(self._proposals, list(self._proposals)[1:], strict=False):
            assert earlier.after == later.before
            assert earlier.end <= later.log_offset
        places = [(deferred.below, deferred.deadline_us) for deferred in self._deferred]
        assert places == sorted(places), "who came later waits longer"
        assert all(self.high_watermark < below for below, _ in places)
        assert all(below <= self.next_log_offset for below, _ in places)
        facts = [fact.below for fact in self._facts]
        assert facts == sorted(facts), "facts come true in the order of the log"
        assert all(self.high_watermark < below <= self.next_log_offset for below in facts)
        assert self._timer_set or not self._deferred, "someone waits without a time limit"


def proposed(
    log: Durability, earlier: AnyShard, turn: Turn[AnyShard], *, atomic: bool
) -> tuple[AnyShard, tuple[Append, ...]]:
    """Apply a turn's records as a load would; return the shard then, and what goes to the log."""
    sets = (turn.records,) if atomic else tuple((record,) for record in turn.records)
    durable, old, new = earlier.durable, earlier.groups, turn.state.groups
    named = {} if old is new else _named_last_in(sets)
    for number, records in enumerate(sets):
        before, durable = durable, replayed(durable, records)
        names = named.get(number, ())
        made = tuple(name for name in names if name in new and name not in old)
        ended = tuple((name, old[name]) for name in names if name in old and name not in new)
        log.propose(len(records), before, durable, made, ended)
    return Shard(new, durable, turn.state.soft), tuple(map(Append, sets))


def _named_last_in(sets: Sequence[tuple[Record, ...]]) -> Mapping[int, Sequence[str]]:
    """Return the groups that are named for the last time in each set: with it they come or go."""
    last: dict[str, int] = {}
    for number, records in enumerate(sets):
        for record in records:
            last[_group_of(record)] = number
    names = defaultdict[int, list[str]](list)
    for name, number in last.items():
        names[number].append(name)
    return names


def _group_of(record: Record) -> str:
    """Every key begins with its group."""
    group_id: Any = record.key[0]
    assert isinstance(group_id, str), "a record of a type that no coordinator writes"
    return group_id
