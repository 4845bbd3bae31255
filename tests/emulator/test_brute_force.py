"""Runs of the whole world against a count of every single message (law 7).

The count knows nothing of ranges, frontiers or causes: it looks at each record that a handler
finished or let go, at each epoch's begin and end, and at each commit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from assignors.types import TopicPartition
from emulator.events import (
    CommitAccepted,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    GroupStabilised,
    NotProcessed,
    OffsetsDropped,
    PartitionsAdded,
    Polled,
    Processed,
    RunEnded,
    TopicCreated,
)
from emulator.measure import EntryKind, Severity
from emulator.playing import Run
from emulator.scenario.load import scenario_of
from emulator.scenario.part import Source

from .worlds import DISTURBED, QUIET


@dataclass(eq=False)
class Reader:
    """One consumer at work on one partition."""

    cursor: int
    handed: int
    working: bool = True


@dataclass(eq=False)
class Log:
    """What became of each record of one partition."""

    late: bool
    """Whether it came after the group was first stable: then it counts from offset 0."""

    base: int | None = None
    times: Counter = field(default_factory=Counter)
    passed: set = field(default_factory=set)
    latest: Reader | None = None
    committed: int | None = None

    def pass_over(self, start: int, end: int) -> None:
        """Note records that somebody went beyond without processing them."""
        self.passed |= {record for record in range(start, end) if not self.times[record]}


class Count:
    """Counts a run, event by event."""

    def __init__(self, run: Run) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.readers: dict[tuple[str, TopicPartition], Reader] = {}
        self.stable = False
        self.log_ends: dict[TopicPartition, int] = {}
        for event in run.events:
            look = getattr(self, f"on_{type(event.what).__name__}", None)
            if look is not None:
                look(event.what)
        for log in self.logs.values():
            gone = log.latest is not None and not log.latest.working
            if gone and log.committed is not None:
                log.pass_over(log.base, log.committed)

    def on_TopicCreated(self, what: TopicCreated) -> None:  # noqa: N802 (the event's own name)
        for number in range(len(what.log_starts)):
            self.logs[TopicPartition(what.topic, number)] = Log(self.stable)

    def on_PartitionsAdded(self, what: PartitionsAdded) -> None:  # noqa: N802
        for number in range(what.partitions):
            self.logs.setdefault(TopicPartition(what.topic, number), Log(self.stable))

    def on_GroupStabilised(self, _what: GroupStabilised) -> None:  # noqa: N802
        self.stable = True

    def on_EpochOpened(self, what: EpochOpened) -> None:  # noqa: N802
        log = self.logs[what.partition]
        start = what.offset
        assert (what.consumer, what.partition) not in self.readers
        lowest = 0 if log.late else start
        log.base = min(lowest, start) if log.base is None else min(log.base, start)
        log.pass_over(log.base, start)
        log.latest = self.readers[what.consumer, what.partition] = Reader(start, start)

    def on_Polled(self, what: Polled) -> None:  # noqa: N802
        """Each poll goes on where the last one of the same epoch ended."""
        for partition, first, end in what.ranges:
            reader = self.readers[what.consumer, partition]
            assert first == reader.handed
            reader.handed = end

    def on_Processed(self, what: Processed) -> None:  # noqa: N802
        """Handlers finish what they were handed, in order."""
        reader = self.readers[what.consumer, what.partition]
        assert reader.cursor == what.first < what.next_offset <= reader.handed
        for record in range(what.first, what.next_offset):
            self.logs[what.partition].times[record] += 1
        reader.cursor = what.next_offset

    def on_NotProcessed(self, what: NotProcessed) -> None:  # noqa: N802
        reader = self.readers[what.consumer, what.partition]
        assert reader.cursor == what.first
        self.logs[what.partition].pass_over(what.first, what.next_offset)
        reader.cursor = what.next_offset

    def on_EpochClosed(self, what: EpochClosed) -> None:  # noqa: N802
        reader = self.readers.pop((what.consumer, what.partition))
        assert (reader.cursor, reader.handed) == (what.processed, what.position)
        reader.working = False

    def on_CommitAccepted(self, what: CommitAccepted) -> None:  # noqa: N802
        for partition, offset in what.offsets:
            self.logs[partition].committed = offset

    def on_OffsetsDropped(self, what: OffsetsDropped) -> None:  # noqa: N802
        for partition in what.partitions:
            self.logs[partition].committed = None

    def on_ConsumerStopped(self, what: ConsumerStopped) -> None:  # noqa: N802
        self.stopped = what

    def on_RunEnded(self, what: RunEnded) -> None:  # noqa: N802
        self.log_ends = dict(what.log_ends)

    # -- what came of it ---------------------------------------------------------------------------

    def repeated(self) -> Counter:
        """Return how often each record was processed beyond its first time."""
        return Counter(
            {
                (tp, record): times - 1
                for tp, log in self.logs.items()
                for record, times in log.times.items()
                if times > 1
            }
        )

    def hands(self, tp: TopicPartition) -> set[int]:
        """Return the records that living owners have at hand."""
        return {
            record
            for (_, partition), reader in self.readers.items()
            if partition == tp
            for record in range(reader.cursor, reader.handed)
        }

    def lost(self) -> Counter:
        """Return the records that were passed over, and that nobody is about to process."""
        found = Counter()
        for tp, log in self.logs.items():
            hands = self.hands(tp)
            reading = log.latest.cursor if log.latest and log.latest.working else None
            for record in log.passed:
                ahead = reading is not None and record >= reading
                if not log.times[record] and record not in hands and not ahead:
                    found[tp, record] += 1
        return found

    def unread(self, lost: Counter) -> int:
        """Return how many records were neither processed nor lost."""
        read = {tp.topic for tp, log in self.logs.items() if log.base is not None}
        return sum(
            not log.times[record] and (tp, record) not in lost
            for tp, log in self.logs.items()
            if tp.topic in read
            for record in range(log.base or 0, self.log_ends[tp])
        )


def tidy(value: object) -> object:
    """Return plain values with tuples for lists, as a read file has them."""
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    return tuple(map(tidy, value)) if isinstance(value, list) else value


def play(document: dict, seed: int) -> Run:
    """Play a scenario given as plain values."""
    scenario = scenario_of(tidy(document), Source("random", None))
    return emulator.run(scenario, seed, polls=True)


def hold_against_count(run: Run) -> None:
    """Compare the ledger with the count, partition by partition and record by record."""
    count, ledger = Count(run), run.ledger
    written = {kind: Counter() for kind in EntryKind}
    for entry in ledger.entries:
        for record in range(entry.first, entry.last + 1):
            written[entry.kind][entry.topic_partition, record] += 1
    lost = count.lost()

    ledger.check()
    assert count.repeated() == written[EntryKind.REPROCESSED]
    assert lost == written[EntryKind.LOST]
    assert count.repeated().total() == ledger.reprocessed
    assert lost.total() == ledger.lost
    assert sum(ledger.by_cause().values()) == ledger.reprocessed + ledger.lost
    assert count.unread(lost) == ledger.in_hand + ledger.backlog


def hold_laws(run: Run) -> None:
    """Assert that no law is broken."""
    assert [] == [finding for finding in run.findings if finding.severity is Severity.ERROR]


seeds = st.integers(0, 1 << 30)
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(unhurried, max_examples=60)
@given(document=DISTURBED, seed=seeds)
def test_whatever_happens_the_ledger_counts_every_message(document, seed):
    """Repeats and losses by record, and what is unread, are those of a count by hand."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@settings(unhurried, max_examples=30)
@given(document=QUIET, seed=seeds)
def test_where_nothing_happens_the_ledger_is_empty(document, seed):
    """Without fault, act or mistaken policy nothing is repeated and nothing is lost (law 7)."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
    assert (0, 0, 0) == (run.ledger.reprocessed, run.ledger.lost, run.ledger.partial)


@pytest.mark.long
@settings(unhurried, max_examples=200)
@given(document=DISTURBED, seed=seeds)
def test_the_ledger_counts_every_message_for_long(document, seed):
    """The same for thousands of runs."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.long
@settings(unhurried, max_examples=100)
@given(document=QUIET, seed=seeds)
def test_quiet_runs_have_empty_ledgers_for_long(document, seed):
    """The same for a thousand runs."""
    run = play(document, seed)

    assert (0, 0) == (run.ledger.reprocessed, run.ledger.lost)
    hold_laws(run)
