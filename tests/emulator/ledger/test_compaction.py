"""Compaction during a run: which records a group has missed, and which it has had in hand."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.events.offsets import Removed
from emulator.ledger.cluster import Topic
from emulator.ledger.coverage import Coverage

from .history import P0, P1, History
from .test_coverage import ATTRIBUTION, A, B, gaps


def compact(history: History, partition: TopicPartition, *ranges, fetched=()) -> None:
    history.say(
        ev.RecordsCompacted(partition=partition, topic_id="T1", ranges=ranges, fetched=fetched)
    )


def reading(end: int = 10) -> History:
    """Return a history of an owner of one partition that has processed up to *end*."""
    history = History()
    history.topic()
    history.start("a")
    history.open("a")
    history.work("a", 0, end)
    return history


def test_records_that_are_gone_before_they_are_read_are_neither_lost_nor_backlog():
    """Those that were processed before stay processed; other partitions keep theirs."""
    history = reading()
    history.open("a", P1)
    compact(history, P0, (5, 8), (20, 30))
    history.work("a", 10, 20)
    history.work("a", 30, 40)
    history.end([(P0, 45), (P1, 50)])
    ledger = history.ledger()

    assert (30, 30, 0) == (ledger.processed, ledger.distinct, ledger.lost)
    assert (10, 5 + 50) == (ledger.compacted, ledger.backlog)


def test_an_owner_processes_what_it_had_fetched_before():
    """The rest of the removed records is compacted."""
    history = reading()
    compact(history, P0, (20, 30), fetched=(("a", 10, 25),))
    history.work("a", 10, 25)
    history.work("a", 30, 40)
    history.end([(P0, 40)])
    ledger = history.ledger()

    assert (35, 0, 5) == (ledger.processed, ledger.lost, ledger.compacted)


def test_what_an_owner_had_fetched_and_not_processed_is_gone_with_it():
    """Its successor cannot read it."""
    history = reading()
    compact(history, P0, (20, 30), fetched=(("a", 10, 30),))
    history.work("a", 10, 22)
    history.commit("a", 22)
    history.close("a", 22, "revoked")
    history.end([(P0, 30)])
    ledger = history.ledger()

    assert (22, 8, 0) == (ledger.processed, ledger.compacted, ledger.backlog)


def test_an_owner_that_ends_on_another_topic_loses_nothing_by_compaction():
    """No record of its partition was removed."""
    history = reading()
    compact(history, P1, (0, 10))
    history.close("a", 10, "revoked")
    history.end([(P0, 30)])

    assert 20 == history.ledger().backlog


def test_several_passes_of_the_cleaner_add_up():
    """A later one does not bring records back."""
    topic = Topic()
    topic.compact(0, Removed.of([(1, 3)]))
    topic.compact(0, Removed.of([(2, 5), (7, 8)]))

    assert [(1, 5), (7, 8)] == list(topic.removed[0].ranges)


@pytest.mark.parametrize("partition", [P0, P1])
def test_a_partition_that_had_no_owner_is_compacted_too(partition):
    """Of a topic that the group reads; without compaction all of it is backlog."""
    history = History()
    history.topic(starts=(5, 5))
    history.start("a")
    other = P1 if partition == P0 else P0
    history.open("a", other, offset=5)
    history.work("a", 5, 10, other)
    compact(history, partition, (20, 30))
    history.end([(partition, 50), (other, 12)])
    ledger = history.ledger()

    assert (10, 35 + 2) == (ledger.compacted, ledger.backlog)


def test_a_partition_without_compaction_and_owner_is_backlog():
    """Offsets without a record, of transactions, are no compacted records."""
    history = History()
    history.topic()
    history.say(ev.OffsetGaps(topic="orders", topic_id="T1", cycle=10, records=9, until=100))
    history.start("a")
    history.open("a")
    history.end([(P0, 10), (P1, 20)])
    ledger = history.ledger()

    assert (0, 9 + 18) == (ledger.compacted, ledger.backlog)


def covered() -> Coverage:
    """Return ranges of every kind: 10 to 20 processed, to 30 skipped, to 40 left, to 50 processed."""
    coverage = Coverage(10)
    coverage.process(A, 10, 20)
    coverage.skip(20, 30, ATTRIBUTION)
    coverage.leave(40)
    coverage.process(A, 40, 50)
    return coverage


@pytest.mark.parametrize(
    ("ranges", "removed"),
    [
        ([(0, 60)], [(0, 10), (30, 40), (50, 60)]),
        ([(5, 8)], [(5, 8)]),
        ([(12, 28)], []),
        ([(32, 35), (38, 45)], [(32, 35), (38, 40)]),
        ([(45, 52), (55, 56)], [(50, 52), (55, 56)]),
        ([(29, 31)], [(30, 31)]),
        ([(39, 41)], [(39, 40)]),
    ],
)
def test_only_records_that_nobody_has_processed_or_skipped_are_removed(ranges, removed):
    """Below the base, in gaps that are left, and beyond the frontier."""
    coverage = covered()
    coverage.compact(ranges)

    assert removed == list(coverage.offset_gaps.ranges if coverage.offset_gaps else [])
    assert bool(removed) is coverage.is_compacted
    assert sum(end - max(10, first) for first, end in removed if end > 10) == (
        coverage.removed_up_to(100)
    )
    coverage.check()


def test_a_record_that_was_passed_over_and_is_processed_after_all_was_processed_once():
    """An owner had fetched it before it was removed; those around it stay removed."""
    coverage = Coverage(0)
    coverage.process(A, 0, 10)
    coverage.compact([(10, 20)])
    coverage.pass_over(B, 20)
    repeats = coverage.process(A, 12, 15)
    coverage.check()

    assert [] == repeats
    assert [(10, 12), (15, 20)] == list(coverage.offset_gaps.ranges)
    assert (13, 20) == (coverage.processed(), coverage.frontier)
    assert [] == gaps(coverage)


def test_passing_over_what_lies_behind_changes_nothing():
    """Another owner has gone on beyond it."""
    coverage = Coverage(0)
    coverage.process(A, 0, 10)
    coverage.pass_over(B, 5)

    assert 10 == coverage.frontier
