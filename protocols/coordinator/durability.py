"""The coordinator's view of its log: proposed batches, deferred replies, and replay.

A turn's records are appended at once, as one atomic batch; with Kafka's adaptive linger an idle
shard adds no delay. Clean-up records (expired offsets, offsets of a deleted topic) need not be
atomic: each may be in a batch of its own. A deferred reply waits until everything proposed before
it is durable, including records of other groups of the partition. The durable state before each
batch is kept until the batch is durable, so that a failed append can be rolled back.

Records are replayed when they are proposed and when the log is loaded: the only way to create a new
durable state. The rules of groups are those of ``protocols/offsets_topic/group_rules.py``, which every
reader of the log shares.

Source: ``CoordinatorRuntime`` (deferred event queue, snapshots, operation timeouts),
``CoordinatorResult.isAtomic``, ``GroupCoordinatorShard.replay``.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from assignors.values import dataclass
from protocols.groups import kip848
from protocols.groups.offsets import Stored, with_offsets, without_offset
from protocols.groups.shard import AnyShard, Durable, Shard, Turn, Waiting, is_classic
from protocols.machine import Append, Report, SetTimer
from protocols.offsets_topic.group_rules import (
    RULES,
    ClassicGroup,
    GroupType,
    as_replayed,
    classic_replayed,
    group_replayed,
    require_known_version,
    wrong_value,
)
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownKey,
    Value,
)
from protocols.values import replace

Entry = tuple[int, Record]
"""A record of the log and its log offset."""

OPERATION_TIMEOUT: Final = "operation-timeout"
"""The timer that limits the wait of a turn for durability, one for all groups."""


class HostContractError(RuntimeError):
    """The host violated the contract of the coordinator."""


_MOST_AT_ONCE: Final = 1_024
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
        "_loaded_to",
        "deferred",
        "facts",
        "high_watermark",
        "next_log_offset",
        "proposals",
        "timer_set",
        "view",
    )

    def __init__(self) -> None:
        self.next_log_offset = 0
        self.high_watermark = 0
        self.view = Durable()
        """The state that readers see, as of the high watermark."""

        self.proposals = deque[Proposal]()
        self.deferred = deque[Deferred]()
        self.facts = deque[DeferredFact]()
        self.timer_set = False
        self._loaded_to = 0

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
                self.proposals.append(Proposal(log_offset, log_offset + 1, before, durable))
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
        """Register a batch of *count* records at the end of the log."""
        start = self.next_log_offset
        self.next_log_offset = start + count
        self.proposals.append(Proposal(start, self.next_log_offset, before, after, made, ended))

    def defer(self, waits: tuple[Waiting, ...], deadline_us: int) -> tuple[SetTimer, ...]:
        """Defer waits until all records proposed so far are durable; return the timer to set.

        All turns have the same timeout, so one timer for the oldest is enough; it is set again
        only when it fires, not for each turn.
        """
        below = self.next_log_offset
        for waiting in waits:
            if type(waiting) is Report:
                self.facts.append(DeferredFact(below, waiting))
            else:
                self.deferred.append(Deferred(below, deadline_us, waiting))
        if self.timer_set or not self.deferred:
            return ()
        self.timer_set = True
        return (SetTimer(OPERATION_TIMEOUT, deadline_us),)

    def advance(self, log_offset: int) -> list[Waiting]:
        """Raise the high watermark to *log_offset*; return the released waits in order.

        Facts precede the answers.
        """
        if log_offset <= self.high_watermark:
            return []
        self.high_watermark = log_offset
        proposals = self.proposals
        while proposals and proposals[0].end <= log_offset:
            self.view = proposals.popleft().after
        released = list[Waiting]()
        while self.facts and self.facts[0].below <= log_offset:
            released.append(self.facts.popleft().waiting)
        while self.deferred and self.deferred[0].below <= log_offset:
            released.append(self.deferred.popleft().waiting)
        return released

    def expire(self, now_us: int) -> tuple[list[Waiting], tuple[SetTimer, ...]]:
        """Remove and return the waits that timed out, and the timer for the next deadline."""
        expired = list[Waiting]()
        while self.deferred and self.deferred[0].deadline_us <= now_us:
            expired.append(self.deferred.popleft().waiting)
        self.timer_set = bool(self.deferred)
        if not self.timer_set:
            return expired, ()
        return expired, (SetTimer(OPERATION_TIMEOUT, self.deferred[0].deadline_us),)

    def in_flight(self) -> list[int]:
        """Return the log offsets of the batches that may still fail; loaded batches cannot."""
        safe = max(self._loaded_to, self.high_watermark)
        return [proposal.log_offset for proposal in self.proposals if proposal.log_offset >= safe]

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
        while self.proposals and self.proposals[-1].log_offset >= log_offset:
            withdrawn.append(self.proposals.pop())
        self.next_log_offset = log_offset
        failed = deque[Waiting]()
        while self.deferred and self.deferred[-1].below > log_offset:
            failed.appendleft(self.deferred.pop().waiting)
        while self.facts and self.facts[-1].below > log_offset:
            failed.appendleft(self.facts.pop().waiting)
        return withdrawn, list(failed)

    def abandon(self) -> list[Waiting]:
        """Discard and return all waits, in order."""
        waited: list[Waiting] = [fact.waiting for fact in self.facts]
        waited += (deferred.waiting for deferred in self.deferred)
        self.facts.clear()
        self.deferred.clear()
        return waited

    def check(self, newest: Durable) -> None:
        """Assert that batches, waits and views are consistent."""
        ends = [self.high_watermark, *(proposal.end for proposal in self.proposals)]
        assert ends == sorted(ends), "proposals above the high watermark, in order"
        if self.proposals:
            assert self.proposals[0].before == self.view
            assert self.proposals[-1].after == newest
        for earlier, later in zip(self.proposals, list(self.proposals)[1:], strict=False):
            assert earlier.after == later.before
            assert earlier.end <= later.log_offset
        places = [(deferred.below, deferred.deadline_us) for deferred in self.deferred]
        assert places == sorted(places), "later waits have later deadlines"
        assert all(self.high_watermark < below for below, _ in places)
        assert all(below <= self.next_log_offset for below, _ in places)
        facts = [fact.below for fact in self.facts]
        assert facts == sorted(facts), "facts wait in the order of the log"
        assert all(self.high_watermark < below <= self.next_log_offset for below in facts)
        assert self.timer_set or not self.deferred, "a wait without a timer"


def proposed(
    log: Durability, earlier: AnyShard, turn: Turn[AnyShard], *, atomic: bool
) -> tuple[AnyShard, tuple[Append, ...]]:
    """Replay a turn's records as at load; return the new shard and the appends."""
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


# -- replay -----------------------------------------------------------------------------------


def replayed(durable: Durable, records: Iterable[Record]) -> Durable:
    """Apply records in order.

    Consecutive offset commits, without a tombstone or a group record between them, are put into
    the map of each topic together: only the first occurrence of each topic affects the order of
    topics. Records of a type that 4.4 does not know are skipped. Raises BrokenLogError for a
    record that contradicts the log, whose value has a version that 4.4 does not know, or whose
    value belongs to another key.
    """
    stored: Stored = {}
    for record in records:
        key, value = record
        if not isinstance(value, OffsetCommitValue):
            key, value = as_replayed(record)
        if isinstance(value, OffsetCommitValue):
            if not isinstance(key, OffsetCommitKey):
                raise wrong_value(key, value)
            group_id, topic, partition, _ = key
            stored.setdefault((group_id, topic), []).append((partition, value))
            continue
        if isinstance(key, UnknownKey):
            continue
        if stored:
            durable = with_offsets(durable, stored)
            stored.clear()
        durable = _replayed(durable, key, value)
    return with_offsets(durable, stored) if stored else durable


def _replayed(durable: Durable, key: Any, value: Value | None) -> Durable:
    require_known_version(key, value)
    if isinstance(key, OffsetCommitKey):
        if value is not None:
            raise wrong_value(key, value)
        return without_offset(durable, key)
    if isinstance(key, GroupMetadataKey):
        group = classic_replayed(key, value)
        return _with_group(durable, key.group, group and group.metadata)
    if RULES[key.record_type].group_type is not GroupType.CONSUMER:
        return durable  # share and streams groups: nothing here serves them
    group_id = key.group_id
    before = durable.groups.get(group_id)
    if group_id in durable.groups and is_classic(before):
        before = ClassicGroup(before)
    after = group_replayed(kip848.replay.CHANGES, before, key, value)
    return _with_group(durable, group_id, after)


def _with_group(durable: Durable, group_id: str, group: Any) -> Durable:
    """Return the durable state with a group, or without it if *group* is None."""
    if group is not None:
        return replace(durable, groups=durable.groups.hold(group_id, group))
    if group_id not in durable.groups:
        return durable
    return replace(durable, groups=durable.groups.without(group_id))
