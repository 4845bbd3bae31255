"""The coordinator's view of its log: proposed batches and deferred replies.

A turn's records are appended at once, as one atomic batch; with Kafka's adaptive linger an idle
shard adds no delay. Clean-up records (expired offsets, offsets of a deleted topic) need not be
atomic: each may be in a batch of its own. A deferred reply waits until everything proposed before
it is durable, including records of other groups of the partition. The durable state before each
batch is kept until the batch is durable, so that a failed append can be rolled back.

Source: ``CoordinatorRuntime`` (deferred event queue, snapshots, operation timeouts),
``CoordinatorResult.isAtomic``.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from assignors.values import dataclass
from protocols.coordinator.replay import replayed
from protocols.groups.shard import AnyShard, Durable, Shard, Turn, Waiting
from protocols.machine import Append, Report, Send, SetTimer
from protocols.messages import Header
from protocols.offsets_topic.records import Record
from protocols.values import replace

Entry = tuple[int, Record]
"""A record of the log and its log offset."""

OPERATION_TIMEOUT: Final = "operation-timeout"
"""The timer that limits the wait of a turn for durability, one for all groups."""


class HostContractError(RuntimeError):
    """The host violated the contract of the coordinator."""


_MAX_AT_ONCE: Final = 1_024
"""Maximum number of records replayed together: topics repeat, and the records stay in cache."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One batch that is in the log but not yet durable."""

    log_offset: int
    end: int
    before: Durable
    after: Durable
    made: tuple[str, ...] = ()
    """Groups that were not in memory before the batch."""

    ended: tuple[tuple[str, Any], ...] = ()
    """Groups that are no longer in memory after the batch, in their last state."""


class Deferred(NamedTuple):
    """A step that waits until all records below a log offset are durable."""

    below: int
    deadline_us: int
    waiting: Waiting


class DeferredFact(NamedTuple):
    """A fact that waits, without a timeout, until all records below a log offset are durable."""

    below: int
    waiting: Report


class Durability:
    """The durable records of a shard's log, and the steps that wait for the others."""

    __slots__ = (
        "_deferred",
        "_facts",
        "_loaded_to",
        "_proposals",
        "_timer_set",
        "high_watermark",
        "next_log_offset",
        "view",
    )

    def __init__(self) -> None:
        self.next_log_offset = 0
        self.high_watermark = 0
        self.view = Durable()
        """The state that readers see, as of the high watermark."""

        self._proposals = deque[Proposal]()
        self._deferred = deque[Deferred]()
        self._facts = deque[DeferredFact]()
        self._timer_set = False
        self._loaded_to = 0

    @property
    def newest(self) -> Durable:
        """The state that the log defines, to its end.

        The coordinator may have removed a group from memory since, without a record.
        """
        return self._proposals[-1].after if self._proposals else self.view

    @property
    def all_durable(self) -> bool:
        """Return whether everything proposed is durable, so that no reply has to wait."""
        return self.high_watermark >= self.next_log_offset

    def replay(self, durable: Durable, entries: Iterable[Entry]) -> Durable:
        """Apply more entries of the log during a load; return the newest state."""
        for run in self._runs(entries):
            before, log_offset = durable, run[-1][0]
            durable = replayed(before, (record for _, record in run))
            self.next_log_offset = log_offset + 1
            if log_offset < self.high_watermark:
                self.view = durable
            else:
                self._proposals.append(Proposal(log_offset, log_offset + 1, before, durable))
        return durable

    def _runs(self, entries: Iterable[Entry]) -> Iterator[list[Entry]]:
        """Split the entries of a load into runs that are replayed together.

        Below the high watermark a run has many entries; above it, where each record becomes
        visible to readers separately, a run has one.
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
            if safe and (not is_safe or len(safe) == _MAX_AT_ONCE):
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
        """Register a batch of *count* records at the end of the log."""
        start = self.next_log_offset
        self.next_log_offset = start + count
        self._proposals.append(Proposal(start, self.next_log_offset, before, after, made, ended))

    def defer(self, waits: tuple[Waiting, ...], deadline_us: int) -> tuple[SetTimer, ...]:
        """Defer waits until all records proposed so far are durable; return the timer to set.

        All turns have the same timeout, so one timer for the oldest is enough; it is set again
        only when it fires, not for each turn.
        """
        below = self.next_log_offset
        for waiting in waits:
            if type(waiting) is Report:
                self._facts.append(DeferredFact(below, waiting))
            else:
                self._deferred.append(Deferred(below, deadline_us, waiting))
        if self._timer_set or not self._deferred:
            return ()
        self._timer_set = True
        return (SetTimer(OPERATION_TIMEOUT, deadline_us),)

    def advance(self, log_offset: int) -> list[Waiting]:
        """Raise the high watermark to *log_offset*; return the released waits in order.

        Facts precede the responses.
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
        """Remove and return the waits that timed out, and the timer for the next deadline."""
        expired = list[Waiting]()
        while self._deferred and self._deferred[0].deadline_us <= now_us:
            expired.append(self._deferred.popleft().waiting)
        self._timer_set = bool(self._deferred)
        if not self._timer_set:
            return expired, ()
        return expired, (SetTimer(OPERATION_TIMEOUT, self._deferred[0].deadline_us),)

    def in_flight(self) -> list[int]:
        """Return the log offsets of the batches that may still fail; loaded batches cannot."""
        safe = max(self._loaded_to, self.high_watermark)
        return [proposal.log_offset for proposal in self._proposals if proposal.log_offset >= safe]

    def withdraw(self, log_offset: int) -> tuple[list[Proposal], list[Waiting]]:
        """Withdraw every batch from *log_offset*; return them, newest first, and their waits.

        Raises ValueError if no batch that may still fail begins there.
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
        """Discard and return all waits, in order."""
        waited: list[Waiting] = [fact.waiting for fact in self._facts]
        waited += (deferred.waiting for deferred in self._deferred)
        self._facts.clear()
        self._deferred.clear()
        return waited

    # -- whole periods that a host skips -----------------------------------------------------------

    def relative(self, now_us: int) -> object:
        """Return what is not durable, and when it times out, relative to *now_us* and to the end.

        None: more than responses waits, or groups appear or end with it.
        """
        if self._facts or any(proposal.made or proposal.ended for proposal in self._proposals):
            return None
        if not all(type(deferred.waiting) is Send for deferred in self._deferred):
            return None
        end = self.next_log_offset
        return (
            end - self.high_watermark,
            tuple([(end - each.log_offset, end - each.end) for each in self._proposals]),
            tuple([(end - each.below, each.deadline_us - now_us) for each in self._deferred]),
        )

    def renew_timeout(self) -> int | None:
        """Return when the first wait times out, for the timer to be set anew; None: nothing waits.

        The timer may still be that of an operation that has ended.
        """
        self._timer_set = bool(self._deferred)
        return self._deferred[0].deadline_us if self._timer_set else None

    def waiting(self) -> list[Header]:
        """Return the headers of the responses that wait, in order."""
        headers = [deferred.waiting.to for deferred in self._deferred]
        return [header for header in headers if isinstance(header, Header)]

    def skip(self, durable: Durable, entries: Sequence[Entry], log_end: int) -> Durable:
        """Continue at a later end of the log, behind these last *entries*; return the newest state.

        As much as before is not durable. *durable*: the newest state before them.
        """
        more = log_end - self.next_log_offset
        if not more:
            return durable
        self.next_log_offset = log_end
        self.high_watermark += more
        safe = [record for log_offset, record in entries if log_offset < self.high_watermark]
        self.view = durable = replayed(durable, safe)
        for number, old in enumerate(self._proposals):
            first, end = old.log_offset + more, old.end + more
            records = [record for log_offset, record in entries if first <= log_offset < end]
            before, durable = durable, replayed(durable, records)
            self._proposals[number] = Proposal(first, end, before, durable)
        for number, deferred in enumerate(self._deferred):
            self._deferred[number] = deferred._replace(below=deferred.below + more)
        return durable

    def move(self, later_us: int, renumbered: Callable[[Header], Header]) -> None:
        """Move the waits by whole periods; their requests have later numbers."""
        for number, deferred in enumerate(self._deferred):
            response = replace(deferred.waiting, to=renumbered(deferred.waiting.to))
            deadline_us = deferred.deadline_us + later_us
            self._deferred[number] = deferred._replace(deadline_us=deadline_us, waiting=response)

    def check(self, newest: Durable) -> None:
        """Assert that batches, waits and views are consistent."""
        ends = [self.high_watermark, *(proposal.end for proposal in self._proposals)]
        assert ends == sorted(ends), "proposals above the high watermark, in order"
        if self._proposals:
            assert self._proposals[0].before == self.view
            assert _as_in_memory(self.newest, newest) == newest
        for earlier, later in zip(self._proposals, list(self._proposals)[1:], strict=False):
            assert earlier.after == later.before
            assert earlier.end <= later.log_offset
        places = [(deferred.below, deferred.deadline_us) for deferred in self._deferred]
        assert places == sorted(places), "later waits have later deadlines"
        assert all(self.high_watermark < below for below, _ in places)
        assert all(below <= self.next_log_offset for below, _ in places)
        facts = [fact.below for fact in self._facts]
        assert facts == sorted(facts), "facts wait in the order of the log"
        assert all(self.high_watermark < below <= self.next_log_offset for below in facts)
        assert self._timer_set or not self._deferred, "a wait without a timer"


def _as_in_memory(logged: Durable, durable: Durable) -> Durable:
    """Return the state in the log without the groups that were removed from memory alone."""
    groups = logged.groups
    for group_id in logged.groups:
        if group_id not in durable.groups:
            groups = groups.without(group_id)
    return replace(logged, groups=groups)


def proposed(
    log: Durability, earlier: AnyShard, turn: Turn[AnyShard], *, atomic: bool
) -> tuple[AnyShard, tuple[Append, ...]]:
    """Replay a turn's records as at load; return the new shard and the appends."""
    sets = (turn.records,) if atomic else tuple((record,) for record in turn.records)
    durable, old, new = earlier.durable, earlier.groups, turn.state.groups
    named = {} if old is new else _named_last_in(sets)
    for number, records in enumerate(sets):
        before, durable = log.newest, replayed(durable, records)
        names = named.get(number, ())
        made = tuple(name for name in names if name in new and name not in old)
        ended = tuple((name, old[name]) for name in names if name in old and name not in new)
        log.propose(len(records), before, durable, made, ended)
    return Shard(new, durable, turn.state.soft), tuple(map(Append, sets))


def _named_last_in(sets: Sequence[tuple[Record, ...]]) -> Mapping[int, Sequence[str]]:
    """Return the groups whose last record is in each set, with which they appear or disappear."""
    last: dict[str, int] = {}
    for number, records in enumerate(sets):
        for record in records:
            last[_group_of(record)] = number
    names = defaultdict[int, list[str]](list)
    for name, number in last.items():
        names[number].append(name)
    return names


def _group_of(record: Record) -> str:
    """Return the group id of a record, the first field of every key."""
    group_id: Any = record.key[0]
    assert isinstance(group_id, str), "a record of a type that no coordinator writes"
    return group_id
